// A plugin execution provider as a vendor ships it, as small as it can be: it compiles a product of one input with a constant.
//
// What it compiles it writes beside the model, under the name of the node, and finds again by the name in `ep_cache_context`,
// which is then whatever somebody wrote into the model. All of that is left to the helper (ep_context_data.h), which keeps names
// in the directory of the model and asks the application's callbacks first; this file never opens anything itself.

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "ep_context_data.h"
#include "ep_context_node.h"
#include "onnxruntime_ep_c_api.h"
#include "onnxruntime_experimental_c_api.h"

namespace acme {
namespace {

using epctx_reference::EpContextData;
using epctx_reference::EpContextNode;

constexpr const char* kName = "AcmeExecutionProvider";
constexpr const char* kVersion = "2.4.0";
constexpr uint32_t kOldestApi = 28, kNewestApi = 31;

#define RETURN_IF_ERROR(expression)                      \
  do {                                                   \
    if (OrtStatus* status = (expression)) return status; \
  } while (0)

// --- kernels ---------------------------------------------------------------------------------------------------------------

// What is written of a compiled kernel: this, and the factors.
struct Header {
  char magic[8];
  uint64_t count;
};
constexpr char kMagic[8] = {'a', 'c', 'm', 'e', 'k', 'r', 'n', '1'};

struct Kernel : OrtNodeComputeInfo {
  const OrtApi* api = nullptr;
  std::vector<float> factors;

  std::string Serialised() const {
    Header header = {{}, factors.size()};
    std::memcpy(header.magic, kMagic, sizeof kMagic);
    std::string data(reinterpret_cast<const char*>(&header), sizeof header);
    return data.append(reinterpret_cast<const char*>(factors.data()), factors.size() * sizeof(float));
  }

  // Data from a file is as untrusted as its name.
  OrtStatus* Deserialise(const char* data, size_t size) {
    Header header;
    const bool complete = size >= sizeof header && (size - sizeof header) % sizeof(float) == 0;
    if (complete) std::memcpy(&header, data, sizeof header);
    if (!complete || std::memcmp(header.magic, kMagic, sizeof kMagic) != 0 ||
        header.count != (size - sizeof header) / sizeof(float)) {
      return api->CreateStatus(ORT_INVALID_ARGUMENT, "This is no kernel that the Acme EP compiled");
    }
    factors.resize(header.count);
    std::memcpy(factors.data(), data + sizeof header, size - sizeof header);
    return nullptr;
  }

  OrtStatus* Run(OrtKernelContext* context) const {
    const OrtValue* input = nullptr;
    RETURN_IF_ERROR(api->KernelContext_GetInput(context, 0, &input));
    OrtTensorTypeAndShapeInfo* info = nullptr;
    RETURN_IF_ERROR(api->GetTensorTypeAndShape(input, &info));
    size_t count = 0;
    OrtStatus* counted = api->GetTensorShapeElementCount(info, &count);
    api->ReleaseTensorTypeAndShapeInfo(info);
    RETURN_IF_ERROR(counted);
    if (count != factors.size()) return api->CreateStatus(ORT_INVALID_ARGUMENT, "The input has another size than the kernel");
    void *from = nullptr, *to = nullptr;  // the function gives memory that may be written; the input is only read
    RETURN_IF_ERROR(api->GetTensorMutableData(const_cast<OrtValue*>(input), &from));
    OrtValue* output = nullptr;
    const auto dimension = static_cast<int64_t>(count);
    RETURN_IF_ERROR(api->KernelContext_GetOutput(context, 0, &dimension, 1, &output));
    RETURN_IF_ERROR(api->GetTensorMutableData(output, &to));
    for (size_t i = 0; i < count; ++i) static_cast<float*>(to)[i] = static_cast<const float*>(from)[i] * factors[i];
    return nullptr;
  }
};

// --- the provider of one session -------------------------------------------------------------------------------------------

class Ep : public OrtEp {
 public:
  Ep(const OrtApi& api, uint32_t version) : OrtEp(), api_(api) {
    ort_version_supported = version;
    GetName = [](const OrtEp*) { return kName; };
    GetCapability = [](OrtEp* self, const OrtGraph* graph, OrtEpGraphSupportInfo* info) {
      return static_cast<Ep*>(self)->Claim(graph, info);
    };
    OrtEp::Compile = [](OrtEp* self, const OrtGraph** graphs, const OrtNode** fused, size_t count, OrtNodeComputeInfo** computed,
                        OrtNode** contexts) {
      return static_cast<Ep*>(self)->CompileAll(graphs, fused, count, computed, contexts);
    };
    ReleaseNodeComputeInfos = [](OrtEp*, OrtNodeComputeInfo** computed, size_t count) {
      for (size_t i = 0; i < count; ++i) delete static_cast<Kernel*>(computed[i]);
    };
    GetEpContextDataCallbackSupport = [](const OrtEp*, uint32_t* flags) -> OrtStatus* {
      *flags = OrtEpContextDataSupport_READ | OrtEpContextDataSupport_WRITE;
      return nullptr;
    };
  }
  ~Ep() {
    if (config_ != nullptr)
      Find(kOrtExperimental_OrtEpApi_ReleaseEpContextConfig_SinceV28_FnName, &OrtEpApi::ReleaseEpContextConfig)(config_);
  }
  Ep(const Ep&) = delete;
  Ep& operator=(const Ep&) = delete;

  // Takes what the session's options say: the callbacks of the application, and whether the compiled model is written.
  OrtStatus* Take(const OrtSessionOptions* options) {
    const auto take = Find(kOrtExperimental_OrtEpApi_SessionOptions_GetEpContextConfig_SinceV28_FnName,
                           &OrtEpApi::SessionOptionsGetEpContextConfig);
    RETURN_IF_ERROR(take(options, &config_));
    char value[2] = "";
    size_t size = sizeof value;
    OrtStatus* unset = api_.GetSessionConfigEntry(options, "ep.context_enable", value, &size);
    writes_ = unset == nullptr && value[0] == '1';
    if (unset != nullptr) api_.ReleaseStatus(unset);
    return nullptr;
  }

 private:
  // Functions of a config: by their experimental name (ONNX Runtime 1.28 to 1.30), else from the stable table (1.31).
  template <typename Function>
  Function Find(const char* name, Function OrtEpApi::* stable) const {
    const auto found = reinterpret_cast<Function>(api_.GetExperimentalFunction(name));
    return found != nullptr ? found : api_.GetEpApi()->*stable;
  }

  OrtStatus* Claim(const OrtGraph* graph, OrtEpGraphSupportInfo* info) {
    size_t count = 0;
    RETURN_IF_ERROR(api_.Graph_GetNumNodes(graph, &count));
    std::vector<const OrtNode*> nodes(count);
    RETURN_IF_ERROR(api_.Graph_GetNodes(graph, nodes.data(), count));
    const OrtNodeFusionOptions fusion{ort_version_supported, true};  // a kernel has the constant of its own
    for (const OrtNode* node : nodes) {
      const char* type = "";
      RETURN_IF_ERROR(api_.Node_GetOperatorType(node, &type));
      const OrtValueInfo* constant = nullptr;
      if (std::string_view(type) == "Mul") RETURN_IF_ERROR(Constant(node, constant));
      if (constant == nullptr && std::string_view(type) != "EPContext") continue;
      RETURN_IF_ERROR(api_.GetEpApi()->EpGraphSupportInfo_AddNodesToFuse(info, &node, 1, &fusion));
    }
    return nullptr;
  }

  OrtStatus* CompileAll(const OrtGraph** graphs, const OrtNode** fused, size_t count, OrtNodeComputeInfo** computed,
                        OrtNode** contexts) {
    std::vector<std::unique_ptr<Kernel>> kernels;  // all or nothing
    for (size_t i = 0; i < count; ++i) {
      kernels.push_back(std::make_unique<Kernel>());
      RETURN_IF_ERROR(CompileOne(graphs[i], fused[i], *kernels.back(), writes_ ? &contexts[i] : nullptr));
    }
    for (size_t i = 0; i < count; ++i) computed[i] = kernels[i].release();
    return nullptr;
  }

  OrtStatus* CompileOne(const OrtGraph* graph, const OrtNode* fused, Kernel& kernel, OrtNode** context) {
    kernel.api = &api_;
    kernel.ort_version_supported = ort_version_supported;
    kernel.CreateState = [](OrtNodeComputeInfo*, OrtNodeComputeContext*, void** state) -> OrtStatus* {
      *state = nullptr;
      return nullptr;
    };
    kernel.Compute = [](OrtNodeComputeInfo* self, void*, OrtKernelContext* run) { return static_cast<Kernel*>(self)->Run(run); };
    kernel.ReleaseState = [](OrtNodeComputeInfo*, void*) {};

    const OrtNode* node = nullptr;
    const char* type = "";
    RETURN_IF_ERROR(api_.Graph_GetNodes(graph, &node, 1));
    RETURN_IF_ERROR(api_.Node_GetOperatorType(node, &type));
    if (std::string_view(type) == "EPContext") return Load(graph, kernel);
    RETURN_IF_ERROR(Factors(node, kernel.factors));
    return context != nullptr ? Save(graph, fused, kernel, context) : nullptr;
  }

  // A kernel from what an EPContext node holds, or names.
  OrtStatus* Load(const OrtGraph* graph, Kernel& kernel) {
    std::vector<EpContextNode> nodes;
    RETURN_IF_ERROR(epctx_reference::GetEpContextNodes(api_, graph, nodes));
    if (nodes.size() != 1 || !nodes[0].main_context) {
      return api_.CreateStatus(ORT_INVALID_ARGUMENT, "The Acme EP has the data of each node in that node");
    }
    const std::string& cache = nodes[0].cache;
    if (nodes[0].embedded) return kernel.Deserialise(cache.data(), cache.size());
    EpContextData data;
    RETURN_IF_ERROR(epctx_reference::ReadEpContextData(api_, config_, cache.c_str(), graph, data));
    return kernel.Deserialise(data.data(), data.size());
  }

  // Writes a kernel beside the model that is compiled, and makes the node that names it.
  OrtStatus* Save(const OrtGraph* graph, const OrtNode* fused, const Kernel& kernel, OrtNode** context) {
    const char* node_name = "";
    RETURN_IF_ERROR(api_.Node_GetName(fused, &node_name));
    const std::string data = kernel.Serialised(), file = std::string(node_name) + ".acme";
    RETURN_IF_ERROR(
        epctx_reference::WriteEpContextDataWithFileFallback(api_, config_, file.c_str(), graph, data.data(), data.size()));
    std::vector<OrtOpAttr*> attributes;
    const auto add = [&](const char* name, const void* value, size_t size, OrtOpAttrType type) {
      attributes.push_back(nullptr);
      return api_.CreateOpAttr(name, value, static_cast<int>(size), type, &attributes.back());
    };
    const int64_t one = 1, zero = 0;
    RETURN_IF_ERROR(add("main_context", &one, 1, ORT_OP_ATTR_INT));
    RETURN_IF_ERROR(add("embed_mode", &zero, 1, ORT_OP_ATTR_INT));
    RETURN_IF_ERROR(add("ep_cache_context", file.data(), file.size(), ORT_OP_ATTR_STRING));
    RETURN_IF_ERROR(add("source", kName, std::strlen(kName), ORT_OP_ATTR_STRING));
    const OrtValueInfo *input = nullptr, *output = nullptr;
    const char *input_name = "", *output_name = "";
    RETURN_IF_ERROR(api_.Node_GetInputs(fused, &input, 1));
    RETURN_IF_ERROR(api_.Node_GetOutputs(fused, &output, 1));
    RETURN_IF_ERROR(api_.GetValueInfoName(input, &input_name));
    RETURN_IF_ERROR(api_.GetValueInfoName(output, &output_name));
    return api_.GetModelEditorApi()->CreateNode("EPContext", "com.microsoft", node_name, &input_name, 1, &output_name, 1,
                                                attributes.data(), attributes.size(), context);
  }

  // The constant among the two inputs of a node; NULL if there is none.
  OrtStatus* Constant(const OrtNode* node, const OrtValueInfo*& constant) const {
    const OrtValueInfo* inputs[2] = {};
    RETURN_IF_ERROR(api_.Node_GetInputs(node, inputs, 2));
    for (const OrtValueInfo* input : inputs) {
      bool is_constant = false;
      RETURN_IF_ERROR(api_.ValueInfo_IsConstantInitializer(input, &is_constant));
      if (is_constant) constant = input;
    }
    return nullptr;
  }

  OrtStatus* Factors(const OrtNode* node, std::vector<float>& factors) const {
    const OrtValueInfo* constant = nullptr;
    const OrtValue* value = nullptr;
    OrtTensorTypeAndShapeInfo* info = nullptr;
    RETURN_IF_ERROR(Constant(node, constant));
    RETURN_IF_ERROR(api_.ValueInfo_GetInitializerValue(constant, &value));
    RETURN_IF_ERROR(api_.GetTensorTypeAndShape(value, &info));
    size_t count = 0;
    ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
    OrtStatus* counted = api_.GetTensorShapeElementCount(info, &count);
    if (counted == nullptr) counted = api_.GetTensorElementType(info, &type);
    api_.ReleaseTensorTypeAndShapeInfo(info);
    RETURN_IF_ERROR(counted);
    if (type != ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT)
      return api_.CreateStatus(ORT_INVALID_ARGUMENT, "The Acme EP has floats only");
    void* data = nullptr;
    RETURN_IF_ERROR(api_.GetTensorMutableData(const_cast<OrtValue*>(value), &data));
    factors.assign(static_cast<const float*>(data), static_cast<const float*>(data) + count);
    return nullptr;
  }

  const OrtApi& api_;
  OrtEpContextConfig* config_ = nullptr;
  bool writes_ = false;
};

// --- the library -----------------------------------------------------------------------------------------------------------

class Factory : public OrtEpFactory {
 public:
  Factory(const OrtApi& api, uint32_t version) : OrtEpFactory(), api_(api) {
    ort_version_supported = version;
    GetName = [](const OrtEpFactory*) { return kName; };
    GetVendor = [](const OrtEpFactory*) { return "Acme"; };
    GetVendorId = [](const OrtEpFactory*) -> uint32_t { return 0; };
    GetVersion = [](const OrtEpFactory*) { return kVersion; };
    IsStreamAware = [](const OrtEpFactory*) { return false; };
    CreateDataTransfer = [](OrtEpFactory*, OrtDataTransferImpl** transfer) -> OrtStatus* {
      *transfer = nullptr;
      return nullptr;
    };
    GetSupportedDevices = [](OrtEpFactory* self, const OrtHardwareDevice* const* devices, size_t count, OrtEpDevice** made,
                             size_t room, size_t* taken) -> OrtStatus* {
      const OrtApi& runtime = static_cast<Factory*>(self)->api_;
      *taken = 0;
      for (size_t i = 0; i < count && *taken < room; ++i) {
        if (runtime.HardwareDevice_Type(devices[i]) != OrtHardwareDeviceType_CPU) continue;
        RETURN_IF_ERROR(runtime.GetEpApi()->CreateEpDevice(self, devices[i], nullptr, nullptr, &made[*taken]));
        ++*taken;
      }
      return nullptr;
    };
    CreateEp = [](OrtEpFactory* self, const OrtHardwareDevice* const*, const OrtKeyValuePairs* const*, size_t,
                  const OrtSessionOptions* options, const OrtLogger*, OrtEp** made) -> OrtStatus* {
      auto ep = std::make_unique<Ep>(static_cast<Factory*>(self)->api_, self->ort_version_supported);
      RETURN_IF_ERROR(ep->Take(options));
      *made = ep.release();
      return nullptr;
    };
    ReleaseEp = [](OrtEpFactory*, OrtEp* ep) { delete static_cast<Ep*>(ep); };
  }

 private:
  const OrtApi& api_;
};

}  // namespace
}  // namespace acme

extern "C" __attribute__((visibility("default"))) OrtStatus* CreateEpFactories(const char*, const OrtApiBase* base,
                                                                               const OrtLogger*, OrtEpFactory** factories,
                                                                               size_t room, size_t* count) {
  unsigned minor = 0;
  *count = 0;
  if (room == 0 || std::sscanf(base->GetVersionString(), "1.%u", &minor) != 1 || minor < acme::kOldestApi) {
    return base->GetApi(1)->CreateStatus(ORT_NOT_IMPLEMENTED, "The Acme EP needs ONNX Runtime 1.28 or later");
  }
  const uint32_t version = std::min<uint32_t>(minor, acme::kNewestApi);
  factories[(*count)++] = new acme::Factory(*base->GetApi(version), version);
  return nullptr;
}

extern "C" __attribute__((visibility("default"))) OrtStatus* ReleaseEpFactory(OrtEpFactory* factory) {
  delete static_cast<acme::Factory*>(factory);
  return nullptr;
}
