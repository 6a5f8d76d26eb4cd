// The reference helper of ONNX Runtime in its earlier states, S1 to S7, written anew from what is known of their behaviour: a
// helper over std::filesystem and streams that checks a path and then opens it. S7 is the state that the design document
// describes. And `none`: what a loader without any defence looks like.

#include <cstdio>
#include <iterator>

#include "weak/behaviour.h"

namespace epctx_weak {
namespace {

namespace fs = std::filesystem;

// What tells the states apart. The members name faults; the last state has none of them.
struct State {
  enum class Parents { kAllowed, kAnyRefused, kResolved };  // `..` in a name from a model
  enum class MemoryModel { kWorkingDirectory, kRefused };

  bool absolute_allowed = false;
  Parents parents = Parents::kResolved;
  MemoryModel memory_model = MemoryModel::kRefused;
  bool trusted_parents_refused = false;
  bool logical_name_checked = false;
  bool types_unchecked = false;
  bool stale_output = false;            // after any error
  bool stale_after_empty_name = false;  // after this one only
  bool accessor_missing_is_file = false;
  bool accessor_taken_for_granted = false;
  bool short_read_unnoticed = false;
  bool copies_callback = false;
  bool copies_file = false;
  bool default_allocator = false;
};

Error EnsureReadable(const fs::path& path) {
  std::error_code failed;
  const fs::file_status status = fs::status(path, failed);
  if (failed || !fs::exists(status)) return Failed("cannot be opened");
  return fs::is_regular_file(status) ? Error() : Refused("is not a regular file");
}

Error EnsureWritable(const fs::path& path) {
  std::error_code failed;
  if (fs::is_symlink(fs::symlink_status(path, failed))) return Refused("is a link");
  const fs::file_status status = fs::status(path, failed);
  if (failed || !fs::exists(status)) return {};  // any failure counts as "not there yet"
  return fs::is_regular_file(status) ? Error() : Refused("is not a regular file");
}

bool HasParent(const fs::path& path) { return std::find(path.begin(), path.end(), "..") != path.end(); }

// Where a name leads to. Names and the base are resolved as text where they do not exist.
Error Resolve(const State& state, const Call& call, const char* name, fs::path& path) {
  path = name;
  if (call.graph == nullptr) {
    return state.trusted_parents_refused && HasParent(path) ? Refused("goes to a parent") : Error();
  }
  if (path.is_absolute()) return state.absolute_allowed ? Error() : Refused("is absolute");
  if (state.parents == State::Parents::kAnyRefused && HasParent(path)) return Refused("goes to a parent");

  const ORTCHAR_T* model_path = nullptr;
  if (Error error = attributes::FromStatus(call.api, call.api.Graph_GetModelPath(call.graph, &model_path))) return error;
  const bool from_memory = model_path == nullptr || model_path[0] == '\0';
  if (from_memory) {
    return state.memory_model == State::MemoryModel::kRefused ? Refused("needs a model with a path") : Error();
  }
  const fs::path base = fs::path(model_path).parent_path();
  path = base / path;
  if (state.parents != State::Parents::kResolved) return {};

  std::error_code failed;
  const fs::path resolved_base = fs::weakly_canonical(base.empty() ? "." : base, failed);
  if (failed) return Refused("is beside a model that cannot be resolved");
  const fs::path resolved = fs::weakly_canonical(path, failed);
  if (failed) return Refused("cannot be resolved");
  const fs::path relative = resolved.lexically_relative(resolved_base);
  if (relative.empty() || *relative.begin() == "..") return Refused("leads out of the model directory");
  path = resolved;
  return {};
}

// Reads all of a stream with its iterators, into a vector that grows as it goes.
Error ReadToVector(const State& state, const fs::path& path, std::vector<char>& bytes) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Failed("cannot be opened");
  bytes.assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  return state.short_read_unnoticed || file ? Error() : Failed("cannot be read");
}

// Reads a stream into memory of the allocator, after asking for its size.
Error ReadToAllocated(const fs::path& path, const Memory& memory, EpContextData& out) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return Failed("cannot be opened");
  const std::streamoff size = file.tellg();
  if (size < 0) return Failed("has no size");
  if (size == 0) return {};
  void* buffer = nullptr;
  if (Error error = Allocate(memory, static_cast<size_t>(size), buffer)) return error;
  EpContextData data;
  data.Adopt(memory.api, memory.allocator, buffer, static_cast<size_t>(size));
  file.seekg(0);
  file.read(static_cast<char*>(buffer), size);
  if (file.gcount() != size) return Failed("cannot be read");
  out = std::move(data);
  return {};
}

Error ReadPath(const State& state, const Call& call, EpctxOutput& output) {
  fs::path path;
  if (Error error = Resolve(state, call, call.name, path)) return error;
  if (!state.types_unchecked) {
    if (Error error = EnsureReadable(path)) return error;
  }
  const Memory memory{call.api, call.allocator};
  if (!state.copies_file) return ReadToAllocated(path, memory, output.data);
  std::vector<char> bytes;
  if (Error error = ReadToVector(state, path, bytes)) return error;
  if (state.copies_callback) {  // the states before there was an owner of a buffer
    output.copy = std::move(bytes);
    return {};
  }
  if (bytes.empty()) return {};
  void* buffer = nullptr;
  if (Error error = Allocate(memory, bytes.size(), buffer)) return error;
  std::memcpy(buffer, bytes.data(), bytes.size());
  output.data.Adopt(call.api, call.allocator, buffer, bytes.size());
  return {};
}

OrtStatus* ReadBuffer(const State& state, const Call& call, OrtReadNamedBufferFunc callback, void* callback_state,
                      EpctxOutput& output) {
  void* buffer = nullptr;
  size_t size = 0;
  OrtStatus* status = callback(callback_state, call.name, call.allocator, &buffer, &size);
  EpContextData data;
  data.Adopt(call.api, call.allocator, buffer, size);
  if (status != nullptr) return status;
  if (buffer == nullptr && size != 0) return call.api.CreateStatus(ORT_FAIL, "the callback returned no buffer");
  if (state.copies_callback) {
    output.copy.assign(data.data(), data.data() + size);
  } else {
    output.data = std::move(data);
  }
  return nullptr;
}

OrtStatus* ToStatus(const OrtApi& api, const char* name, const Error& error) {
  return error ? api.CreateStatus(error.code, ("EPContext data file " + std::string(name) + ' ' + error.text).c_str()) : nullptr;
}

template <typename Callback, typename Getter>
OrtStatus* CallbackAs(const State& state, const Call& call, const char* name, Getter OrtEpApi::* stable, Callback& callback,
                      void*& callback_state) {
  if (state.accessor_taken_for_granted && call.config != nullptr) {
    const auto getter = reinterpret_cast<Getter>(call.api.GetExperimentalFunction(name));
    return getter(call.config, &callback, &callback_state);
  }
  return GetCallback(call.api, call.config, name, stable, callback, callback_state);
}

OrtStatus* ReadAs(const State& state, Call call, EpctxOutput& output) {
  const auto reset = [&] {
    output.data.Reset();
    output.copy.clear();
  };
  if (!state.stale_output && !state.stale_after_empty_name) reset();
  if (IsEmpty(call.name)) return EmptyName(call.api);
  if (!state.stale_output) reset();

  OrtReadNamedBufferFunc callback = nullptr;
  void* callback_state = nullptr;
  OrtStatus* status = CallbackAs(state, call, kOrtExperimental_OrtEpApi_EpContextConfig_GetEpContextDataReadFunc_SinceV28_FnName,
                                 &OrtEpApi::EpContextConfigGetEpContextDataReadFunc, callback, callback_state);
  if (status != nullptr && !state.accessor_missing_is_file) return status;
  if (status != nullptr) call.api.ReleaseStatus(status);
  if (call.allocator == nullptr || state.default_allocator) {
    if (OrtStatus* failed = call.api.GetAllocatorWithDefaultOptions(&call.allocator)) return failed;
  }
  EpctxOutput result;
  status = callback != nullptr ? ReadBuffer(state, call, callback, callback_state, result)
                               : ToStatus(call.api, call.name, ReadPath(state, call, result));
  if (status == nullptr) output = std::move(result);
  return status;
}

Error WritePath(const State& state, const Call& call) {
  fs::path path;
  if (state.logical_name_checked) {
    if (Error error = Resolve(state, call, call.name, path)) return error;
  }
  if (Error error = Resolve(state, call, call.fallback_name, path)) return error;
  if (!state.types_unchecked) {
    if (Error error = EnsureWritable(path)) return error;
  }
  std::ofstream file(path, std::ios::binary);
  if (!file) return Failed("cannot be opened for writing");
  file.write(static_cast<const char*>(call.buffer), static_cast<std::streamsize>(call.size));
  return file ? Error() : Failed("cannot be written");  // what the stream still holds is written by nobody's leave
}

OrtStatus* WriteAs(const State& state, const Call& call) {
  if (IsEmpty(call.name)) return EmptyName(call.api);
  if (call.buffer == nullptr && call.size != 0) return call.api.CreateStatus(ORT_INVALID_ARGUMENT, "the buffer is NULL");
  OrtWriteNamedBufferFunc callback = nullptr;
  void* callback_state = nullptr;
  OrtStatus* status = CallbackAs(state, call, kOrtExperimental_OrtEpApi_EpContextConfig_GetEpContextDataWriteFunc_SinceV28_FnName,
                                 &OrtEpApi::EpContextConfigGetEpContextDataWriteFunc, callback, callback_state);
  if (status != nullptr && !state.accessor_missing_is_file) return status;
  if (status != nullptr) call.api.ReleaseStatus(status);
  if (callback != nullptr) return callback(callback_state, call.name, call.buffer, call.size);
  if (IsEmpty(call.fallback_name)) return EmptyName(call.api);
  return ToStatus(call.api, call.fallback_name, WritePath(state, call));
}

constexpr State S7() { return {}; }

constexpr State S6() {
  State state = S7();
  state.logical_name_checked = true;
  state.types_unchecked = true;
  state.stale_after_empty_name = true;
  state.copies_file = true;
  state.default_allocator = true;
  return state;
}

constexpr State S5() {
  State state = S6();
  state.trusted_parents_refused = true;
  state.stale_output = true;
  state.copies_callback = true;
  return state;
}

constexpr State S4() {
  State state = S5();
  state.memory_model = State::MemoryModel::kWorkingDirectory;
  state.short_read_unnoticed = true;
  return state;
}

constexpr State S3() {
  State state = S4();
  state.parents = State::Parents::kAnyRefused;
  return state;
}

constexpr State S2() {
  State state = S3();
  state.absolute_allowed = true;
  state.parents = State::Parents::kAllowed;
  state.trusted_parents_refused = false;
  state.logical_name_checked = false;
  state.accessor_missing_is_file = true;
  return state;
}

constexpr State S1() {
  State state = S2();
  state.accessor_missing_is_file = false;
  state.accessor_taken_for_granted = true;
  return state;
}

template <State (*make)()>
void Become(Behaviour& behaviour) {
  behaviour.read = [](const Behaviour&, const Call& call, EpctxOutput& output) { return ReadAs(make(), call, output); };
  behaviour.write = [](const Behaviour&, const Call& call) { return WriteAs(make(), call); };
  behaviour.load = [](const Behaviour&, const Call& call, EpctxNameSink sink, void* sink_state) -> OrtStatus* {
    std::vector<EpContextNode> nodes;
    if (OrtStatus* status = GetEpContextNodes(call.api, call.graph, nodes)) return status;
    std::vector<std::string_view> done;  // the walk is the EP's, and right
    for (const EpContextNode& node : nodes) {
      if (node.embedded || !node.main_context) continue;
      if (std::find(done.begin(), done.end(), node.cache) != done.end()) continue;
      done.push_back(node.cache);
      sink(sink_state, node.cache.data(), node.cache.size());
      EpctxOutput output;
      Call read = call;
      read.name = node.cache.c_str();
      if (OrtStatus* status = ReadAs(make(), read, output)) return status;
    }
    return nullptr;
  };
}

// Joins the directory of the model and the name, and opens that.
std::string Join(const Call& call, const char* name) {
  const ORTCHAR_T* model_path = "";
  if (call.graph != nullptr && call.api.Graph_GetModelPath(call.graph, &model_path) != nullptr) model_path = "";
  const std::string_view model = model_path;
  const size_t slash = model.rfind('/');
  const bool alone = name[0] == '/' || slash == std::string_view::npos;
  return alone ? name : std::string(model.substr(0, slash + 1)) + name;
}

OrtStatus* NaiveRead(const Behaviour&, const Call& call, EpctxOutput& output) {
  if (call.config != nullptr) return Read({}, call, output);
  std::FILE* file = std::fopen(Join(call, call.name != nullptr ? call.name : "").c_str(), "rb");
  if (file == nullptr) return call.api.CreateStatus(ORT_FAIL, "the file cannot be opened");
  std::vector<char> bytes;
  char chunk[65536];
  while (const size_t count = std::fread(chunk, 1, sizeof chunk, file)) bytes.insert(bytes.end(), chunk, chunk + count);
  std::fclose(file);
  output.data.Reset();
  output.copy = std::move(bytes);
  return nullptr;
}

OrtStatus* NaiveWrite(const Behaviour&, const Call& call) {
  if (call.config != nullptr) return Write({}, call);
  std::ofstream file(Join(call, call.fallback_name != nullptr ? call.fallback_name : ""), std::ios::binary);
  if (!file) return call.api.CreateStatus(ORT_FAIL, "the file cannot be opened");
  file.write(static_cast<const char*>(call.buffer), static_cast<std::streamsize>(call.size));
  return nullptr;
}

OrtStatus* NaiveLoad(const Behaviour&, const Call& call, EpctxNameSink sink, void* sink_state) {
  size_t count = 0;
  std::vector<const OrtNode*> nodes;
  if (OrtStatus* status = call.api.Graph_GetNumNodes(call.graph, &count)) return status;
  nodes.resize(count);
  if (OrtStatus* status = call.api.Graph_GetNodes(call.graph, nodes.data(), count)) return status;
  for (const OrtNode* node : nodes) {  // the operator, embed_mode and types are nobody's concern
    const OrtOpAttr* attribute = nullptr;
    if (OrtStatus* status = call.api.Node_GetAttributeByName(node, "ep_cache_context", &attribute)) return status;
    std::string name;
    if (attribute != nullptr) {
      size_t size = 0;
      static_cast<void>(attributes::FromStatus(call.api, call.api.ReadOpAttr(attribute, ORT_OP_ATTR_STRING, nullptr, 0, &size)));
      name.resize(size);
      static_cast<void>(
          attributes::FromStatus(call.api, call.api.ReadOpAttr(attribute, ORT_OP_ATTR_STRING, name.data(), size, &size)));
    }
    sink(sink_state, name.data(), name.size());
    EpctxOutput output;
    Call read = call;
    read.name = name.c_str();
    if (OrtStatus* status = NaiveRead({}, read, output)) return status;
  }
  return nullptr;
}

}  // namespace

void AddHistory(Table& table) {
  table["S1"] = Become<S1>;
  table["S2"] = Become<S2>;
  table["S3"] = Become<S3>;
  table["S4"] = Become<S4>;
  table["S5"] = Become<S5>;
  table["S6"] = Become<S6>;
  table["S7"] = Become<S7>;
  table["none"] = [](Behaviour& behaviour) {
    behaviour.read = NaiveRead;
    behaviour.write = NaiveWrite;
    behaviour.load = NaiveLoad;
  };
}

}  // namespace epctx_weak
