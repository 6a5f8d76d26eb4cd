#include "ep.h"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string_view>
#include <utility>

#include "epctx_target.h"
#include "onnxruntime_experimental_c_api.h"

namespace epctx_ep {
namespace {

using epctx_reference::Failed;
using epctx_reference::Refused;
using epctx_reference::attributes::FromStatus;

using Output = std::shared_ptr<EpctxOutput>;

OrtStatus* ToStatus(const OrtApi& api, const Error& error) {
  return error ? api.CreateStatus(error.code, error.text.c_str()) : nullptr;
}

// No exception crosses the border to ONNX Runtime.
template <typename Function>
OrtStatus* Guarded(const OrtApi& api, Function function) noexcept {
  try {
    return function();
  } catch (const std::exception& e) {
    return api.CreateStatus(ORT_EP_FAIL, e.what());
  } catch (...) {
    return api.CreateStatus(ORT_EP_FAIL, "something that is not a std::exception");
  }
}

// The one node of a graph that was made from what Claim gave.
Error OnlyNode(const OrtApi& api, const OrtGraph* graph, const OrtNode*& node) {
  size_t count = 0;
  if (Error error = FromStatus(api, api.Graph_GetNumNodes(graph, &count))) return error;
  if (count != 1) return Failed("A graph to be compiled has " + std::to_string(count) + " nodes instead of one");
  return FromStatus(api, api.Graph_GetNodes(graph, &node, 1));
}

using Count = decltype(OrtApi::Node_GetNumInputs);
using List = decltype(OrtApi::Node_GetInputs);

Error Values(const OrtApi& api, const OrtNode* node, Count OrtApi::* count, List OrtApi::* list,
             std::vector<const OrtValueInfo*>& values) {
  size_t size = 0;
  if (Error error = FromStatus(api, (api.*count)(node, &size))) return error;
  values.resize(size);
  return FromStatus(api, (api.*list)(node, values.data(), size));
}
Error Inputs(const OrtApi& api, const OrtNode* node, std::vector<const OrtValueInfo*>& values) {
  return Values(api, node, &OrtApi::Node_GetNumInputs, &OrtApi::Node_GetInputs, values);
}
Error Outputs(const OrtApi& api, const OrtNode* node, std::vector<const OrtValueInfo*>& values) {
  return Values(api, node, &OrtApi::Node_GetNumOutputs, &OrtApi::Node_GetOutputs, values);
}

// The names of values; one that is left out has an empty name.
Error Names(const OrtApi& api, const std::vector<const OrtValueInfo*>& values, std::vector<const char*>& names) {
  for (const OrtValueInfo* value : values) {
    const char* name = "";
    if (value != nullptr) {
      if (Error error = FromStatus(api, api.GetValueInfoName(value, &name))) return error;
    }
    names.push_back(name);
  }
  return {};
}

struct Tensor {
  ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;  // stays for what is no tensor
  size_t dimensions = 0;
};

Error TensorOf(const OrtApi& api, const OrtValueInfo* value, Tensor& tensor) {
  const OrtTypeInfo* type_info = nullptr;
  if (Error error = FromStatus(api, api.GetValueInfoTypeInfo(value, &type_info))) return error;
  const OrtTensorTypeAndShapeInfo* info = nullptr;
  if (Error error = FromStatus(api, api.CastTypeInfoToTensorInfo(type_info, &info))) return error;
  if (info == nullptr) return {};
  if (Error error = FromStatus(api, api.GetTensorElementType(info, &tensor.type))) return error;
  return FromStatus(api, api.GetDimensionsCount(info, &tensor.dimensions));
}

// The element type of a node's only output.
Error TypeOf(const OrtApi& api, const OrtNode* node, ONNXTensorElementDataType& type) {
  std::vector<const OrtValueInfo*> outputs;
  if (Error error = Outputs(api, node, outputs)) return error;
  if (outputs.size() != 1 || outputs[0] == nullptr) return Refused("A node for the bundled EP has one output");
  Tensor tensor;
  if (Error error = TensorOf(api, outputs[0], tensor)) return error;
  type = tensor.type;
  return {};
}

// The constant among the two inputs of a node; NULL if there is none, or two.
Error Constant(const OrtApi& api, const OrtNode* node, const OrtValueInfo*& constant) {
  std::vector<const OrtValueInfo*> inputs;
  if (Error error = Inputs(api, node, inputs)) return error;
  std::vector<const OrtValueInfo*> constants;
  for (const OrtValueInfo* input : inputs) {
    bool is_constant = false;
    if (input == nullptr) continue;
    if (Error error = FromStatus(api, api.ValueInfo_IsConstantInitializer(input, &is_constant))) return error;
    if (is_constant) constants.push_back(input);
  }
  constant = inputs.size() == 2 && constants.size() == 1 ? constants[0] : nullptr;
  return {};
}

// The data of a kernel for a product with a constant.
Error Compiled(const OrtApi& api, const OrtNode* node, ONNXTensorElementDataType type, Data& data) {
  const OrtValueInfo* constant = nullptr;
  if (Error error = Constant(api, node, constant)) return error;
  if (constant == nullptr) return Failed("A product has no constant any more");
  const OrtValue* value = nullptr;
  if (Error error = FromStatus(api, api.ValueInfo_GetInitializerValue(constant, &value))) return error;
  OrtTensorTypeAndShapeInfo* info = nullptr;
  if (Error error = FromStatus(api, api.GetTensorTypeAndShape(value, &info))) return error;
  size_t count = 0;
  Error error = FromStatus(api, api.GetTensorShapeElementCount(info, &count));
  api.ReleaseTensorTypeAndShapeInfo(info);
  if (error) return error;
  void* factors = nullptr;  // the function gives memory that may be written; this is only read
  error = FromStatus(api, api.GetTensorMutableData(const_cast<OrtValue*>(value), &factors));
  if (error) return error;
  data = Owned(Kernel::Serialised(type, factors, count * (type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT ? sizeof(float) : 1)));
  return {};
}

// A flaw: data whose last byte is another one.
Data Spoilt(const Data& data) {
  std::string bytes(data.bytes);
  if (!bytes.empty()) bytes.back() = static_cast<char>(bytes.back() + 1);
  return Owned(std::move(bytes));
}

// Attributes that are being made. CreateNode takes them over.
class Attributes {
 public:
  explicit Attributes(const OrtApi& api) : api_(api) {}
  ~Attributes() {
    for (OrtOpAttr* attribute : made_) api_.ReleaseOpAttr(attribute);
  }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;

  Error Add(const char* name, int64_t number) { return Add(name, &number, sizeof number, ORT_OP_ATTR_INT); }
  Error Add(const char* name, std::string_view text) { return Add(name, text.data(), text.size(), ORT_OP_ATTR_STRING); }

  std::vector<OrtOpAttr*>& made() { return made_; }

 private:
  Error Add(const char* name, const void* value, size_t size, OrtOpAttrType type) {
    if (size > std::numeric_limits<int>::max()) return Refused(std::string("The attribute ") + name + " is too large");
    OrtOpAttr* attribute = nullptr;
    const int length = type == ORT_OP_ATTR_INT ? 1 : static_cast<int>(size);
    if (Error error = FromStatus(api_, api_.CreateOpAttr(name, value, length, type, &attribute))) return error;
    made_.push_back(attribute);
    return {};
  }

  const OrtApi& api_;
  std::vector<OrtOpAttr*> made_;
};

}  // namespace

// --- one session -----------------------------------------------------------------------------------------------------------

OrtStatus* Ep::Make(const OrtApi& api, uint32_t api_version, const OrtSessionOptions* options, std::unique_ptr<Ep>& ep) {
  return Guarded(api, [&]() -> OrtStatus* {
    Settings settings;
    if (Error error = ReadSettings(api, options, settings)) return ToStatus(api, error);
    if (settings.flaw == Flaw::kDemandsSupport && settings.support != Support::kBoth) {
      return api.CreateStatus(ORT_EP_FAIL, "This EP makes no session that it could not use every callback in");
    }
    std::unique_ptr<Ep> made(new Ep(api, api_version, std::move(settings)));
    if (OrtStatus* status = made->TakeConfig(options)) return status;
    ep = std::move(made);
    return nullptr;
  });
}

Ep::Ep(const OrtApi& api, uint32_t api_version, Settings settings) : OrtEp(), api_(api), settings_(std::move(settings)) {
  constexpr uint32_t kLastOld = 30;
  const bool old = settings_.support == Support::kOld && settings_.flaw != Flaw::kAdvertisesBoth;
  ort_version_supported = old ? std::min(api_version, kLastOld) : api_version;
  GetName = [](const OrtEp*) { return kName; };
  GetCapability = [](OrtEp* self, const OrtGraph* graph, OrtEpGraphSupportInfo* support_info) {
    auto* ep = static_cast<Ep*>(self);
    return Guarded(ep->api_, [&] { return ep->Claim(graph, support_info); });
  };
  OrtEp::Compile = [](OrtEp* self, const OrtGraph** graphs, const OrtNode** fused_nodes, size_t count,
                      OrtNodeComputeInfo** computations, OrtNode** ep_context_nodes) {
    auto* ep = static_cast<Ep*>(self);
    return Guarded(ep->api_, [&] { return ep->CompileAll(graphs, fused_nodes, count, computations, ep_context_nodes); });
  };
  ReleaseNodeComputeInfos = [](OrtEp*, OrtNodeComputeInfo** computations, size_t count) {
    for (size_t i = 0; i < count; ++i) delete static_cast<Computation*>(computations[i]);
  };
  GetEpContextDataCallbackSupport = [](const OrtEp* self, uint32_t* flags) {
    const auto* ep = static_cast<const Ep*>(self);
    return Guarded(ep->api_, [&] { return ep->Supported(*flags); });
  };
}

Ep::~Ep() { ReleaseConfig(); }

// Functions of a config: by their experimental name (ONNX Runtime 1.28 to 1.30), else from the stable table, which has them from
// 1.31 on.
template <typename Function>
Function Ep::Find(const char* experimental_name, Function OrtEpApi::* stable) const {
  const auto found = reinterpret_cast<Function>(api_.GetExperimentalFunction(experimental_name));
  return found != nullptr ? found : api_.GetEpApi()->*stable;
}

void Ep::ReleaseConfig() {
  if (config_ == nullptr) return;
  Find(kOrtExperimental_OrtEpApi_ReleaseEpContextConfig_SinceV28_FnName, &OrtEpApi::ReleaseEpContextConfig)(config_);
  config_ = nullptr;
}

OrtStatus* Ep::TakeConfig(const OrtSessionOptions* options) {
  const auto get = Find(kOrtExperimental_OrtEpApi_SessionOptions_GetEpContextConfig_SinceV28_FnName,
                        &OrtEpApi::SessionOptionsGetEpContextConfig);
  if (OrtStatus* status = get(options, &config_)) return status;
  if (!settings_.other_helper) return nullptr;
  // Weak helpers take any config for one with a callback, so they get one only where it has.
  OrtReadNamedBufferFunc read = nullptr;
  OrtWriteNamedBufferFunc write = nullptr;
  void* state = nullptr;
  const auto get_read = Find(kOrtExperimental_OrtEpApi_EpContextConfig_GetEpContextDataReadFunc_SinceV28_FnName,
                             &OrtEpApi::EpContextConfigGetEpContextDataReadFunc);
  const auto get_write = Find(kOrtExperimental_OrtEpApi_EpContextConfig_GetEpContextDataWriteFunc_SinceV28_FnName,
                              &OrtEpApi::EpContextConfigGetEpContextDataWriteFunc);
  if (OrtStatus* status = get_read(config_, &read, &state)) return status;
  if (OrtStatus* status = get_write(config_, &write, &state)) return status;
  if (read == nullptr && write == nullptr) ReleaseConfig();
  return nullptr;
}

bool Ep::Advertises(OrtEpContextDataSupport direction) const {
  switch (settings_.support) {
    case Support::kNone:
    case Support::kOld: return false;
    case Support::kRead: return direction == OrtEpContextDataSupport_READ;
    case Support::kWrite: return direction == OrtEpContextDataSupport_WRITE;
    case Support::kBoth:
    case Support::kUnknown:
    case Support::kError: break;
  }
  return true;
}

const OrtEpContextConfig* Ep::ConfigFor(OrtEpContextDataSupport direction) const {
  return Advertises(direction) && settings_.flaw != Flaw::kIgnoresCallbacks ? config_ : nullptr;
}

OrtStatus* Ep::Supported(uint32_t& flags) const {
  constexpr uint32_t kNoSuchFlag = 8;
  if (settings_.flaw == Flaw::kReadsWhenAsked) std::ifstream(seen_).get();
  if (settings_.support == Support::kError && settings_.flaw != Flaw::kHidesQueryError) {
    return api_.CreateStatus(ORT_NOT_IMPLEMENTED, "The bundled EP cannot say what it supports");
  }
  flags = 0;
  if (Advertises(OrtEpContextDataSupport_READ)) flags |= OrtEpContextDataSupport_READ;
  if (Advertises(OrtEpContextDataSupport_WRITE)) flags |= OrtEpContextDataSupport_WRITE;
  if (settings_.support == Support::kUnknown && settings_.flaw != Flaw::kHidesUnknownFlags) flags |= kNoSuchFlag;
  if (settings_.flaw == Flaw::kAdvertisesBoth) flags = OrtEpContextDataSupport_READ | OrtEpContextDataSupport_WRITE;
  return nullptr;
}

// A flaw: looks at the data of a node before it is known whether that may be done.
void Ep::LookAhead(const OrtGraph* graph, const OrtNode* node) {
  EpContextNode context;
  if (epctx_reference::attributes::ReadNode(api_, node, context) || !context.main_context || context.embedded) return;
  if (settings_.flaw == Flaw::kReadsInCapability) {
    Output output(::epctx_output_new(), ::epctx_output_delete);
    static_cast<void>(
        static_cast<bool>(FromStatus(api_, ::epctx_read(&api_, nullptr, context.cache.c_str(), graph, output.get(), nullptr))));
  }
  const ORTCHAR_T* model = nullptr;
  if (FromStatus(api_, api_.Graph_GetModelPath(graph, &model))) return;
  seen_ = (std::filesystem::path(model).parent_path() / context.cache).string();
}

// --- which nodes -----------------------------------------------------------------------------------------------------------

Error Ep::Takes(const OrtNode* node, bool& takes) const {
  takes = false;
  const char *op_type = "", *domain = "";
  if (Error error = FromStatus(api_, api_.Node_GetOperatorType(node, &op_type))) return error;
  if (Error error = FromStatus(api_, api_.Node_GetDomain(node, &domain))) return error;
  if (std::string_view(op_type) == "EPContext" && std::string_view(domain) == "com.microsoft") {
    // A malformed node is taken, too, so that it is an error of this EP and not left to be nobody's.
    EpContextNode read;
    takes = static_cast<bool>(epctx_reference::attributes::ReadNode(api_, node, read)) || read.source.empty() ||
            read.source == kSource;
    return {};
  }
  if (std::string_view(op_type) != "Mul" || *domain != '\0') return {};
  const OrtValueInfo* constant = nullptr;
  if (Error error = Constant(api_, node, constant)) return error;
  std::vector<const OrtValueInfo*> outputs;
  if (Error error = Outputs(api_, node, outputs)) return error;
  if (constant == nullptr || outputs.size() != 1) return {};
  Tensor factors, product;
  if (Error error = TensorOf(api_, constant, factors)) return error;
  if (Error error = TensorOf(api_, outputs[0], product)) return error;
  takes = factors.dimensions <= 1 && product.dimensions == 1 &&
          (product.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT || product.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8);
  return {};
}

OrtStatus* Ep::Claim(const OrtGraph* graph, OrtEpGraphSupportInfo* support_info) {
  size_t count = 0;
  if (OrtStatus* status = api_.Graph_GetNumNodes(graph, &count)) return status;
  std::vector<const OrtNode*> nodes(count);
  if (OrtStatus* status = api_.Graph_GetNodes(graph, nodes.data(), count)) return status;
  const OrtNodeFusionOptions options{ort_version_supported, true};  // a kernel has the constants of its own
  for (const OrtNode* node : nodes) {
    bool takes = false;
    if (Error error = Takes(node, takes)) return ToStatus(api_, error);
    if (!takes) continue;
    if (settings_.flaw == Flaw::kReadsInCapability || settings_.flaw == Flaw::kReadsWhenAsked) LookAhead(graph, node);
    if (OrtStatus* status = api_.GetEpApi()->EpGraphSupportInfo_AddNodesToFuse(support_info, &node, 1, &options)) return status;
  }
  return nullptr;
}

// --- compiling -------------------------------------------------------------------------------------------------------------

OrtStatus* Ep::CompileAll(const OrtGraph** graphs, const OrtNode** fused_nodes, size_t count, OrtNodeComputeInfo** computations,
                          OrtNode** ep_context_nodes) {
  // All or nothing: on an error ONNX Runtime asks for no release.
  std::vector<std::unique_ptr<Computation>> made(count);
  std::vector<size_t> order;
  if (Error error = MainFirst(graphs, count, order)) return ToStatus(api_, error);
  for (const size_t i : order) {
    made[i] = std::make_unique<Computation>();
    auto& computation = *made[i];
    computation.api = &api_;
    computation.ort_version_supported = ort_version_supported;
    computation.CreateState = [](OrtNodeComputeInfo* self, OrtNodeComputeContext*, void** state) -> OrtStatus* {
      *state = self;
      return nullptr;
    };
    computation.Compute = [](OrtNodeComputeInfo* self, void*, OrtKernelContext* context) {
      const auto* computed = static_cast<const Computation*>(self);
      return computed->kernel.Compute(*computed->api, context);
    };
    computation.ReleaseState = [](OrtNodeComputeInfo*, void*) {};
    if (Error error =
            Compile(graphs[i], fused_nodes[i], computation.kernel, settings_.compiles ? &ep_context_nodes[i] : nullptr)) {
      return ToStatus(api_, error);
    }
  }
  for (size_t i = 0; i < count; ++i) computations[i] = made[i].release();
  return nullptr;
}

Error Ep::MainFirst(const OrtGraph** graphs, size_t count, std::vector<size_t>& order) const {
  std::vector<size_t> secondary;
  for (size_t i = 0; i < count; ++i) {
    const OrtNode* node = nullptr;
    EpContextNode context;
    if (Error error = OnlyNode(api_, graphs[i], node)) return error;
    // What is malformed is told when it is compiled; a node of another operator is a main one.
    static_cast<void>(static_cast<bool>(epctx_reference::attributes::ReadNode(api_, node, context)));
    (context.main_context ? order : secondary).push_back(i);
  }
  order.insert(order.end(), secondary.begin(), secondary.end());
  return {};
}

Error Ep::Compile(const OrtGraph* graph, const OrtNode* fused, Kernel& kernel, OrtNode** ep_context_node) {
  const OrtNode* node = nullptr;
  if (Error error = OnlyNode(api_, graph, node)) return error;
  ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  if (Error error = TypeOf(api_, node, type)) return error;
  const char* op_type = "";
  if (Error error = FromStatus(api_, api_.Node_GetOperatorType(node, &op_type))) return error;
  Data data;
  if (std::string_view(op_type) == "EPContext") {
    if (ep_context_node != nullptr) return Refused("The model is compiled already");
    if (Error error = Load(graph, node, data)) return error;
  } else {
    if (Error error = Compiled(api_, node, type, data)) return error;
    if (ep_context_node != nullptr) {
      if (Error error =
              Save(graph, node, fused, settings_.flaw == Flaw::kSavesOtherData ? Spoilt(data) : data, ep_context_node)) {
        return error;
      }
    }
  }
  return Kernel::Make(type, std::move(data), kernel);
}

Error Ep::Load(const OrtGraph* graph, const OrtNode* node, Data& data) {
  EpContextNode context;
  if (Error error = epctx_reference::attributes::ReadNode(api_, node, context)) return error;
  if (!context.main_context) {
    if (!has_main_) return Refused("An EPContext node is malformed: its data is that of another node, and there is none");
    data = main_;
    return {};
  }
  if (context.embedded) {
    data = Owned(std::move(context.cache));
  } else if (Error error = Read(graph, context.cache, data)) {
    return error;
  }
  if (!has_main_) main_ = data;
  has_main_ = true;
  return {};
}

Error Ep::Read(const OrtGraph* graph, const std::string& name, Data& data) {
  if (const auto found = read_.find(name); found != read_.end() && settings_.flaw != Flaw::kReadsForEachNode) {
    data = found->second;
    return {};
  }
  const Output output(::epctx_output_new(), ::epctx_output_delete);
  const OrtEpContextConfig* config = ConfigFor(OrtEpContextDataSupport_READ);
  if (Error error = FromStatus(api_, ::epctx_read(&api_, config, name.c_str(), graph, output.get(), nullptr))) return error;
  const auto* bytes = static_cast<const char*>(::epctx_output_data(output.get()));
  data = {output, {bytes, bytes != nullptr ? ::epctx_output_size(output.get()) : 0}};
  read_.emplace(name, data);
  return {};
}

Error Ep::Save(const OrtGraph* graph, const OrtNode* node, const OrtNode* fused, const Data& data, OrtNode** ep_context_node) {
  const char *source_name = "", *node_name = "";
  if (Error error = FromStatus(api_, api_.Node_GetName(node, &source_name))) return error;
  if (Error error = FromStatus(api_, api_.Node_GetName(fused, &node_name))) return error;
  const std::string name = settings_.named_by_node ? source_name : std::string(node_name) + ".bin";
  if (!settings_.embeds || settings_.flaw == Flaw::kWritesEmbedded) {
    const size_t size = data.bytes.size();
    const OrtEpContextConfig* config = ConfigFor(OrtEpContextDataSupport_WRITE);
    OrtStatus* status =
        settings_.separate_fallback
            ? ::epctx_write_fallback(&api_, config, name.c_str(), settings_.fallback.c_str(), graph, data.bytes.data(), size)
            : ::epctx_write(&api_, config, name.c_str(), graph, data.bytes.data(), size);
    if (Error error = FromStatus(api_, status)) return error;
  }
  Attributes attributes(api_);
  if (Error error = attributes.Add("main_context", 1)) return error;
  if (Error error = attributes.Add("embed_mode", settings_.embeds ? 1 : 0)) return error;
  if (Error error = attributes.Add("ep_cache_context", settings_.embeds ? data.bytes : name)) return error;
  if (Error error = attributes.Add("source", kSource)) return error;
  if (Error error = attributes.Add("partition_name", node_name)) return error;
  if (Error error = attributes.Add("ep_sdk_version", kVersion)) return error;
  std::vector<const OrtValueInfo*> inputs, outputs;
  std::vector<const char*> input_names, output_names;
  if (Error error = Inputs(api_, fused, inputs)) return error;
  if (Error error = Outputs(api_, fused, outputs)) return error;
  if (Error error = Names(api_, inputs, input_names)) return error;
  if (Error error = Names(api_, outputs, output_names)) return error;
  std::vector<OrtOpAttr*> given = std::exchange(attributes.made(), {});
  return FromStatus(api_, api_.GetModelEditorApi()->CreateNode("EPContext", "com.microsoft", node_name, input_names.data(),
                                                               input_names.size(), output_names.data(), output_names.size(),
                                                               given.data(), given.size(), ep_context_node));
}

}  // namespace epctx_ep
