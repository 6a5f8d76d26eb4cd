#include "session.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "callbacks.h"
#include "onnxruntime_experimental_c_api.h"
#include "surroundings.h"
#include "threads.h"

namespace epctx {
namespace {

using Clock = std::chrono::steady_clock;

// --- objects of ONNX Runtime -----------------------------------------------------------------------------------------------

void Release(OrtSession* object) { Api().ReleaseSession(object); }
void Release(OrtSessionOptions* object) { Api().ReleaseSessionOptions(object); }
void Release(OrtModelCompilationOptions* object) { Api().GetCompileApi()->ReleaseModelCompilationOptions(object); }
void Release(OrtMemoryInfo* object) { Api().ReleaseMemoryInfo(object); }
void Release(OrtValue* object) { Api().ReleaseValue(object); }
void Release(OrtTypeInfo* object) { Api().ReleaseTypeInfo(object); }
void Release(OrtTensorTypeAndShapeInfo* object) { Api().ReleaseTensorTypeAndShapeInfo(object); }

struct Releaser {
  template <typename T>
  void operator()(T* object) const {
    Release(object);
  }
};
template <typename T>
using Owned = std::unique_ptr<T, Releaser>;

OrtAllocator* Allocator() {
  OrtAllocator* allocator = nullptr;
  static_cast<void>(Api().GetAllocatorWithDefaultOptions(&allocator));  // cannot fail: it gives the address of a global
  return allocator;
}

struct AllocatorFree {
  void operator()(void* memory) const { static_cast<void>(Api().AllocatorFree(Allocator(), memory)); }
};
using OwnedText = std::unique_ptr<char, AllocatorFree>;

// An error of ONNX Runtime, or of the provider through it: how the call ended.
struct Refusal {
  OrtErrorCode code;
  std::string text;
};

void Need(OrtStatus* status) {
  if (status == nullptr) return;
  Refusal refusal{Api().GetErrorCode(status), Api().GetErrorMessage(status)};
  Api().ReleaseStatus(status);
  throw refusal;
}

// Calls a function that gives an object through its last argument.
template <typename T, typename Function, typename... Arguments>
Owned<T> Make(Function function, Arguments... arguments) {
  T* made = nullptr;
  Need(function(arguments..., &made));
  return Owned<T>(made);
}

template <typename Function>
Function Experimental(const char* name) {
  return reinterpret_cast<Function>(Api().GetExperimentalFunction(name));
}

size_t SizeOf(ONNXTensorElementDataType type) {
  switch (type) {
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT: return sizeof(float);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8: return 1;
    default: throw Refusal{ORT_INVALID_ARGUMENT, "the driver knows tensors of float and uint8 only"};
  }
}

// The bytes of a tensor, for as long as it lives.
std::string_view BytesOfTensor(OrtValue* value) {
  const auto info = Make<OrtTensorTypeAndShapeInfo>(Api().GetTensorTypeAndShape, value);
  ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  size_t count = 0;
  void* data = nullptr;
  Need(Api().GetTensorElementType(info.get(), &type));
  Need(Api().GetTensorShapeElementCount(info.get(), &count));
  Need(Api().GetTensorMutableData(value, &data));
  return {static_cast<const char*>(data), count * SizeOf(type)};
}

// A file that is gone when this is, if it was ever made.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string path) : path_(std::move(path)) {}
  ~TemporaryFile() { ::unlink(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

// A model that ONNX Runtime made in memory.
struct Compiled {
  std::unique_ptr<void, AllocatorFree> data;
  size_t size;

  std::string_view bytes() const { return {static_cast<const char*>(data.get()), size}; }
};

// What a compiled model and its source are run with.
constexpr uint8_t kInput = 3;

constexpr char kWithoutProvider[] = "the session was made without the execution provider";

// --- the request -----------------------------------------------------------------------------------------------------------

// A request, taken apart.
struct Ask {
  Request head = {};
  std::string model_path, cwd;
  std::vector<std::string_view> models;  // where there is no path: one, or one for each share of the threads
  std::shared_ptr<Threads> threads;
  bool reads_by_callback = false, writes_by_callback = false;
  std::vector<std::string> keys, values;  // options of the provider
};

void TakeOption(std::string_view text, std::vector<std::string>& keys, std::vector<std::string>& values) {
  const size_t end = text.find('=');
  keys.emplace_back(text.substr(0, end));
  values.emplace_back(end == std::string_view::npos ? std::string_view() : text.substr(end + 1));
}

Ask TakeApart(std::string_view request, Registration& registration) {
  Ask ask;
  ask.head = Take<Request>(request);
  for (Fields fields(request); fields.Next();) {
    switch (fields.tag) {
      case Tag::kModelPath: ask.model_path = fields.content; break;
      case Tag::kSessionModel: ask.models.push_back(fields.content); break;
      case Tag::kThreads: ask.threads = Threads::New(fields.content); break;
      case Tag::kSessionOption: TakeOption(fields.content, ask.keys, ask.values); break;
      case Tag::kCwd: ask.cwd = fields.content; break;
      case Tag::kReadCallback:
        TakeCallback(fields.content, registration.read);
        ask.reads_by_callback = true;
        break;
      case Tag::kWriteCallback:
        TakeCallback(fields.content, registration.write);
        ask.writes_by_callback = true;
        break;
      default: throw BadMessage{"a field has a tag that no request for a session has"};
    }
  }
  if (ask.models.size() < (ask.threads ? ask.threads->shares().size() : ask.model_path.empty())) {
    throw BadMessage{"a session has no model"};
  }
  return ask;
}

std::vector<const char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<const char*> pointers;
  for (const std::string& text : texts) pointers.push_back(text.c_str());
  return pointers;
}

}  // namespace

// One request in work. Everything that it makes in ONNX Runtime is gone when it ends.
class SessionWork {
 public:
  SessionWork(const Sessions& sessions, std::string_view request, Message& message)
      : sessions_(sessions), message_(message), application_(Application::New()), registration_(application_->Register()) {
    ask_ = TakeApart(request, registration_);
    ReserveBulk(0);
    application_->allocator = Allocator();
  }

  void Do() {
    message_.Start(2, sizeof(Reply));
    if (!ask_.cwd.empty()) EnterDirectory(ask_.cwd);
    const auto start = Clock::now();
    try {
      const FileSizeLimit limit(ask_.head.file_size_limit);
      const Application::InCall in_call(*application_);
      if (ask_.threads) {
        Callee callee(*this);
        ask_.threads->Run(callee);
        ask_.threads->Report(reply_, message_);
      } else if (ask_.head.op == static_cast<uint32_t>(Op::kWrite)) {
        Compile();
      } else {
        LoadAndRun();
      }
    } catch (const Refusal& refusal) {
      reply_.code = refusal.code;
      message_.Add(Tag::kMessage, refusal.text);
      reply_.flags |= kOutputNull;
    }
    reply_.nanoseconds = static_cast<uint64_t>((Clock::now() - start) / std::chrono::nanoseconds(1));
    if ((ask_.head.flags & kLingers) != 0) application_->Linger(Clock::now());
    application_->Report(message_);
    message_.SetFixed(reply_);
  }

 private:
  // The callbacks of the request.
  Registered Callbacks() const {
    return {ask_.reads_by_callback ? ReadCallback : nullptr, StateOf(registration_.read),
            ask_.writes_by_callback ? WriteCallback : nullptr, StateOf(registration_.write)};
  }

  // Sessions that several threads make at once, each of the model of its share.
  class Callee : public epctx::Callee {
   public:
    explicit Callee(const SessionWork& work) : work_(work) {}

    void AddConfig(const Registered& callbacks) override { configs_.push_back(callbacks); }

    Outcome Call(size_t index, const Share& share, size_t own, const std::function<void(std::string_view)>& take) override {
      const Registered callbacks = configs_.empty() ? Registered() : configs_[own];
      const std::string_view model = work_.ask_.models[index];
      try {
        const auto options = work_.Options(callbacks);
        if (share.write) {
          const auto compiling = work_.CompileOptions(options.get(), callbacks);
          static_cast<void>(work_.CompileInMemory(compiling.get(), model));
        } else {
          const auto session = work_.SessionOf(model, options.get());
          if (!work_.Took(session.get())) return {ORT_FAIL, kWithoutProvider};
          take(BytesOfTensor(Run(session.get(), 1).get()));
        }
      } catch (const Refusal& refusal) {
        return {refusal.code, refusal.text};
      }
      return {};
    }

   private:
    const SessionWork& work_;
    std::vector<Registered> configs_;
  };

  // Options of a session with the provider and the read callback, and with nothing of ONNX Runtime's that would take part in what
  // is observed: no threads, no change of the graph, nothing printed.
  Owned<OrtSessionOptions> Options(const Registered& callbacks) const {
    auto options = Make<OrtSessionOptions>(Api().CreateSessionOptions);
    constexpr int kFatal = 4;
    Need(Api().SetSessionLogSeverityLevel(options.get(), kFatal));
    Need(Api().SetSessionGraphOptimizationLevel(options.get(), ORT_DISABLE_ALL));
    Need(Api().SetIntraOpNumThreads(options.get(), 1));
    Need(Api().SetInterOpNumThreads(options.get(), 1));
    Need(Api().AddSessionConfigEntry(options.get(), "session.record_ep_graph_assignment_info", "1"));
    std::vector<const char*> keys = Pointers(sessions_.keys_), values = Pointers(sessions_.values_);
    for (const char* key : Pointers(ask_.keys)) keys.push_back(key);
    for (const char* value : Pointers(ask_.values)) values.push_back(value);
    Need(Api().SessionOptionsAppendExecutionProvider_V2(options.get(), sessions_.env_, sessions_.devices_.data(),
                                                        sessions_.devices_.size(), keys.data(), values.data(), keys.size()));
    if (callbacks.read != nullptr) {
      using Set = OrtExperimental_OrtApi_SessionOptions_SetEpContextDataReadFunc_SinceV28_Fn;
      const Set set = Stable()
                          ? Api().SessionOptionsSetEpContextDataReadFunc
                          : Experimental<Set>(kOrtExperimental_OrtApi_SessionOptions_SetEpContextDataReadFunc_SinceV28_FnName);
      Need(set(options.get(), callbacks.read, callbacks.read_state));
    }
    return options;
  }

  bool Stable() const { return sessions_.runtime_.minor >= 31; }

  void LoadAndRun() {
    const auto options = Options(Callbacks());
    const auto session = SessionOfModel(options.get());
    const Owned<OrtValue> output = Run(session.get(), 1);
    AddOutput(output ? BytesOfTensor(output.get()) : std::string_view());
  }

  Owned<OrtSession> SessionOf(std::string_view model, const OrtSessionOptions* options) const {
    return Make<OrtSession>(Api().CreateSessionFromArray, sessions_.env_, model.data(), model.size(), options);
  }
  Owned<OrtSession> SessionAt(const std::string& path, const OrtSessionOptions* options) const {
    return Make<OrtSession>(Api().CreateSession, sessions_.env_, path.c_str(), options);
  }

  // A session of the request's model.
  Owned<OrtSession> SessionOfModel(const OrtSessionOptions* options) {
    return Checked(ask_.model_path.empty() ? SessionOf(ask_.models[0], options) : SessionAt(ask_.model_path, options));
  }
  // That the provider has no part in a session is told apart.
  Owned<OrtSession> Checked(Owned<OrtSession> session) {
    if (!Took(session.get())) message_.Add(Tag::kSessionFault, kWithoutProvider);
    return session;
  }

  // Whether the provider has a part of the session.
  bool Took(const OrtSession* session) const {
    const OrtEpAssignedSubgraph* const* subgraphs = nullptr;
    size_t count = 0;
    Need(Api().Session_GetEpGraphAssignmentInfo(session, &subgraphs, &count));
    return std::any_of(subgraphs, subgraphs + count, [&](const OrtEpAssignedSubgraph* subgraph) {
      const char* name = "";
      Need(Api().EpAssignedSubgraph_GetEpName(subgraph, &name));
      return sessions_.provider_ == name;
    });
  }

  // Runs a session with a number for all of its inputs, and gives its first output, if it has one.
  static Owned<OrtValue> Run(OrtSession* session, uint8_t number) {
    static constexpr int64_t kOne[] = {1};
    float as_float = number;
    const auto memory = Make<OrtMemoryInfo>(Api().CreateCpuMemoryInfo, OrtDeviceAllocator, OrtMemTypeDefault);
    std::vector<OwnedText> names;
    std::vector<const char*> inputs, outputs;
    std::vector<Owned<OrtValue>> values;
    std::vector<const OrtValue*> given;
    size_t count = 0;
    Need(Api().SessionGetInputCount(session, &count));
    for (size_t i = 0; i < count; ++i) {
      inputs.push_back(Name(Api().SessionGetInputName, session, i, names));
      const bool bytes = InputType(session, i) == ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8;
      void* data = bytes ? static_cast<void*>(&number) : &as_float;
      values.push_back(Make<OrtValue>(Api().CreateTensorWithDataAsOrtValue, memory.get(), data, bytes ? 1 : sizeof as_float, kOne,
                                      size_t{1},
                                      bytes ? ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8 : ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT));
      given.push_back(values.back().get());
    }
    Need(Api().SessionGetOutputCount(session, &count));
    for (size_t i = 0; i < count; ++i) outputs.push_back(Name(Api().SessionGetOutputName, session, i, names));
    std::vector<OrtValue*> made(count);
    Need(Api().Run(session, nullptr, inputs.data(), given.data(), given.size(), outputs.data(), count, made.data()));
    for (OrtValue* value : made) values.emplace_back(value);
    return count > 0 ? std::move(values[values.size() - count]) : nullptr;
  }

  template <typename Function>
  static const char* Name(Function function, const OrtSession* session, size_t index, std::vector<OwnedText>& names) {
    char* name = nullptr;
    Need(function(session, index, Allocator(), &name));
    return names.emplace_back(name).get();
  }

  static ONNXTensorElementDataType InputType(const OrtSession* session, size_t index) {
    const auto info = Make<OrtTypeInfo>(Api().SessionGetInputTypeInfo, session, index);
    const OrtTensorTypeAndShapeInfo* tensor = nullptr;
    ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
    Need(Api().CastTypeInfoToTensorInfo(info.get(), &tensor));
    if (tensor != nullptr) Need(Api().GetTensorElementType(tensor, &type));
    return type;
  }

  void AddOutput(std::string_view bytes) {
    reply_.output_size = bytes.size();
    if (bytes.empty()) reply_.flags |= kOutputNull;
    if (bytes.size() > kInlineLimit) {
      PutBulk(bytes);
      reply_.flags |= kOutputInBulk;
      message_.Add(Tag::kOutput, BytesOf(uint64_t{bytes.size()}));
    } else {
      message_.Add(Tag::kOutput, bytes);
    }
  }

  bool Has(RequestFlag flag) const { return (ask_.head.flags & flag) != 0; }

  Owned<OrtModelCompilationOptions> CompileOptions(const OrtSessionOptions* session_options, const Registered& callbacks) const {
    const OrtCompileApi& api = *Api().GetCompileApi();
    auto options =
        Make<OrtModelCompilationOptions>(api.CreateModelCompilationOptionsFromSessionOptions, sessions_.env_, session_options);
    constexpr uint32_t kErrorIfNothingIsCompiled = 1;
    Need(api.ModelCompilationOptions_SetEpContextEmbedMode(options.get(), Has(kEmbeds)));
    Need(api.ModelCompilationOptions_SetFlags(options.get(), kErrorIfNothingIsCompiled));
    if (callbacks.write != nullptr) {
      using Set = OrtExperimental_OrtCompileApi_ModelCompilationOptions_SetEpContextDataWriteFunc_SinceV28_Fn;
      const Set set = Stable()
                          ? api.ModelCompilationOptions_SetEpContextDataWriteFunc
                          : Experimental<Set>(
                                kOrtExperimental_OrtCompileApi_ModelCompilationOptions_SetEpContextDataWriteFunc_SinceV28_FnName);
      Need(set(options.get(), callbacks.write, callbacks.write_state));
    }
    return options;
  }

  // Compiles a model in memory (empty: the input that was set already) to one in memory.
  Compiled CompileInMemory(OrtModelCompilationOptions* options, std::string_view model) const {
    const OrtCompileApi& api = *Api().GetCompileApi();
    if (!model.empty()) Need(api.ModelCompilationOptions_SetInputModelFromBuffer(options, model.data(), model.size()));
    void* compiled = nullptr;
    size_t size = 0;
    Need(api.ModelCompilationOptions_SetOutputModelBuffer(options, Allocator(), &compiled, &size));
    Need(api.CompileModel(sessions_.env_, options));
    return {std::unique_ptr<void, AllocatorFree>(compiled), size};
  }

  void Compile() {
    const OrtCompileApi& api = *Api().GetCompileApi();
    const auto session_options = Options(Callbacks());
    const auto options = CompileOptions(session_options.get(), Callbacks());
    const bool has_path = !ask_.model_path.empty();
    if (has_path) Need(api.ModelCompilationOptions_SetInputModelPath(options.get(), ask_.model_path.c_str()));
    // In memory, so that nothing is written but the data; beside its source, where it has to find a file again.
    if (Has(kRuns) && !Has(kEmbeds) && !ask_.writes_by_callback && has_path) {
      const TemporaryFile file(std::filesystem::path(ask_.model_path).parent_path() / "compiled-by-epctx.onnx");
      Need(api.ModelCompilationOptions_SetOutputModelPath(options.get(), file.path().c_str()));
      Need(api.CompileModel(sessions_.env_, options.get()));
      return Compare(Checked(SessionAt(file.path(), session_options.get())), session_options.get());
    }
    const Compiled made = CompileInMemory(options.get(), has_path ? std::string_view() : ask_.models[0]);
    if (Has(kRuns)) Compare(Checked(SessionOf(made.bytes(), session_options.get())), session_options.get());
  }

  // Runs a compiled model and its source.
  void Compare(const Owned<OrtSession>& compiled, const OrtSessionOptions* options) {
    const auto source = SessionOfModel(options);
    const auto output = Run(compiled.get(), kInput), wanted = Run(source.get(), kInput);
    if (BytesOfTensor(output.get()) != BytesOfTensor(wanted.get())) {
      throw Refusal{ORT_FAIL, "the compiled model does not give what its source gives"};
    }
  }

  const Sessions& sessions_;
  Message& message_;
  const std::shared_ptr<Application> application_;
  Registration& registration_;
  Ask ask_;
  Reply reply_ = {};
};

std::string Sessions::Start(const char* ort, const char* library, const char* options) {
  if (ort == nullptr) return "an execution provider needs an ONNX Runtime to be registered in";
  if (std::string wrong = StartRealRuntime(ort, runtime_); !wrong.empty()) return wrong;
  for (std::string_view rest = options; !rest.empty();) {
    const std::string_view option = rest.substr(0, rest.find(';'));
    rest.remove_prefix(std::min(rest.size(), option.size() + 1));
    TakeOption(option, keys_, values_);
  }
  try {
    const OrtEpDevice* const* devices = nullptr;
    size_t count = 0;
    Need(Api().CreateEnv(ORT_LOGGING_LEVEL_FATAL, "epctx", &env_));
    Need(Api().GetEpDevices(env_, &devices, &count));
    std::vector<const OrtEpDevice*> before(devices, devices + count);
    Need(Api().RegisterExecutionProviderLibrary(env_, "epctx", library));
    Need(Api().GetEpDevices(env_, &devices, &count));
    for (const OrtEpDevice* device : std::vector<const OrtEpDevice*>(devices, devices + count)) {
      if (std::find(before.begin(), before.end(), device) != before.end()) continue;
      if (provider_.empty()) provider_ = Api().EpDevice_EpName(device);
      if (provider_ == Api().EpDevice_EpName(device)) devices_.push_back(device);
    }
  } catch (const Refusal& refusal) {
    return refusal.text;
  }
  return devices_.empty() ? "the execution provider has no device on this machine" : "";
}

void Sessions::Perform(std::string_view request, Message& reply) const { SessionWork(*this, request, reply).Do(); }

std::vector<std::string> AbilitiesOfSessions() { return {"read", "write", "fallback", "load", "sessions"}; }

}  // namespace epctx
