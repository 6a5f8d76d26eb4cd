// Weaknesses around configs: runtimes that do wrong what a config is made of, and helpers that do not ask the config of the call.
//
// A wrong runtime is a table between the target and the one that it was given. It keeps what is registered by itself; configs
// that it did not make are left to the other.

#include <cstdlib>
#include <map>
#include <set>

#include "onnxruntime_experimental_c_api.h"
#include "weak/behaviour.h"

namespace epctx_weak {
namespace {

// --- a table in between ----------------------------------------------------------------------------------------------------

// Functions that are there in place of the others; NULL for none. `set_write` is for compile options, which are never made.
struct Replaced {
  decltype(OrtApi::SessionOptionsSetEpContextDataReadFunc) set_read = nullptr;
  decltype(OrtCompileApi::ModelCompilationOptions_SetEpContextDataWriteFunc) set_write = nullptr;
  decltype(OrtApi::ReleaseSessionOptions) release_options = nullptr;
  decltype(OrtEpApi::SessionOptionsGetEpContextConfig) take = nullptr;
  decltype(OrtEpApi::ReleaseEpContextConfig) release = nullptr;
  decltype(OrtEpApi::EpContextConfigGetEpContextDataReadFunc) get_read = nullptr;
  decltype(OrtEpApi::EpContextConfigGetEpContextDataWriteFunc) get_write = nullptr;
};

const OrtApi* g_below = nullptr;
Replaced g_replaced;

template <typename Function>
void Put(Function& slot, Function function) {
  if (slot != nullptr && function != nullptr) slot = function;
}

// The table is made anew for each that asks: what is below may offer the accessors now, and not later.
const OrtEpApi* GetEpApi() noexcept {
  static OrtEpApi api;
  api = *g_below->GetEpApi();
  Put(api.SessionOptionsGetEpContextConfig, g_replaced.take);
  Put(api.ReleaseEpContextConfig, g_replaced.release);
  Put(api.EpContextConfigGetEpContextDataReadFunc, g_replaced.get_read);
  Put(api.EpContextConfigGetEpContextDataWriteFunc, g_replaced.get_write);
  return &api;
}

const OrtCompileApi* GetCompileApi() noexcept {
  static OrtCompileApi api;
  api = *g_below->GetCompileApi();
  Put(api.ModelCompilationOptions_SetEpContextDataWriteFunc, g_replaced.set_write);
  return &api;
}

template <typename Function>
OrtExperimentalFnPtr Or(Function* function, OrtExperimentalFnPtr below) {
  return below != nullptr && function != nullptr ? reinterpret_cast<OrtExperimentalFnPtr>(function) : below;
}

OrtExperimentalFnPtr GetExperimentalFunction(const char* name) noexcept {
  const OrtExperimentalFnPtr below = g_below->GetExperimentalFunction(name);
  const std::string_view wanted = name != nullptr ? name : "";
  if (wanted == kOrtExperimental_OrtApi_SessionOptions_SetEpContextDataReadFunc_SinceV28_FnName) {
    return Or(g_replaced.set_read, below);
  }
  if (wanted == kOrtExperimental_OrtCompileApi_ModelCompilationOptions_SetEpContextDataWriteFunc_SinceV28_FnName) {
    return Or(g_replaced.set_write, below);
  }
  if (wanted == kOrtExperimental_OrtEpApi_SessionOptions_GetEpContextConfig_SinceV28_FnName) return Or(g_replaced.take, below);
  if (wanted == kOrtExperimental_OrtEpApi_ReleaseEpContextConfig_SinceV28_FnName) return Or(g_replaced.release, below);
  if (wanted == kOrtExperimental_OrtEpApi_EpContextConfig_GetEpContextDataReadFunc_SinceV28_FnName) {
    return Or(g_replaced.get_read, below);
  }
  if (wanted == kOrtExperimental_OrtEpApi_EpContextConfig_GetEpContextDataWriteFunc_SinceV28_FnName) {
    return Or(g_replaced.get_write, below);
  }
  return below;
}

// The table between a target and `below`.
const OrtApi* Between(const OrtApi* below, const Replaced& replaced) {
  static OrtApi api;
  g_below = below;
  g_replaced = replaced;
  api = *below;
  api.GetEpApi = GetEpApi;
  api.GetCompileApi = GetCompileApi;
  api.GetExperimentalFunction = GetExperimentalFunction;
  Put(api.SessionOptionsSetEpContextDataReadFunc, replaced.set_read);
  Put(api.ReleaseSessionOptions, replaced.release_options);
  return &api;
}

// A function of the runtime below: by its name, or else in its table.
template <typename Function>
Function Below(const char* name, Function OrtEpApi::* slot) {
  const auto named = reinterpret_cast<Function>(g_below->GetExperimentalFunction(name));
  return named != nullptr ? named : g_below->GetEpApi()->*slot;
}
auto ReadBelow() {
  return Below(kOrtExperimental_OrtEpApi_EpContextConfig_GetEpContextDataReadFunc_SinceV28_FnName,
               &OrtEpApi::EpContextConfigGetEpContextDataReadFunc);
}
auto WriteBelow() {
  return Below(kOrtExperimental_OrtEpApi_EpContextConfig_GetEpContextDataWriteFunc_SinceV28_FnName,
               &OrtEpApi::EpContextConfigGetEpContextDataWriteFunc);
}

// --- wrong runtimes --------------------------------------------------------------------------------------------------------

struct Faults {
  bool accepts_null = false, overwrites_config = false;
  bool leaves_unset_state = false, clear_keeps_state = false, keeps_first = false, follows_options = false, shares = false;
  bool releases_twice = false, leaks = false, crashes_on_null = false, writes_state = false;
};
Faults g_faults;

struct Registered {
  OrtReadNamedBufferFunc function;
  void* state;
};

struct WrongConfig {
  Registered taken;
  const OrtSessionOptions* options;
};

std::map<const OrtSessionOptions*, Registered> g_registered;
std::set<const OrtEpContextConfig*> g_configs;

OrtStatus* Invalid(const char* text) { return g_below->CreateStatus(ORT_INVALID_ARGUMENT, text); }
OrtStatus* NullArgument(const char* text) { return g_faults.accepts_null ? nullptr : Invalid(text); }

// Options are the same for a runtime that shares what is registered in them.
const OrtSessionOptions* KeyOf(const OrtSessionOptions* options) { return g_faults.shares ? nullptr : options; }

// Only where an application sees it, and nobody else needs it: the byte is 0 in what the driver keeps at a state.
void Spoil(void* state) {
  if (g_faults.writes_state && state != nullptr) static_cast<char*>(state)[7] = 0;
}

OrtStatus* SetRead(OrtSessionOptions* options, OrtReadNamedBufferFunc function, void* state) noexcept {
  if (options == nullptr) return NullArgument("'options' parameter must not be NULL");
  Registered& registered = g_registered[KeyOf(options)];
  if (g_faults.keeps_first && registered.function != nullptr) return nullptr;
  Spoil(state);
  registered = {function, function != nullptr || g_faults.clear_keeps_state ? state : nullptr};
  return nullptr;
}

OrtStatus* SetWrite(OrtModelCompilationOptions*, OrtWriteNamedBufferFunc, void*) noexcept {
  return NullArgument("OrtModelCompilationOptions is NULL");
}

void ReleaseOptions(OrtSessionOptions* options) noexcept {
  const Registered last = g_registered[KeyOf(options)];
  for (const OrtEpContextConfig* config : g_configs) {
    auto* wrong = reinterpret_cast<WrongConfig*>(const_cast<OrtEpContextConfig*>(config));
    if (wrong->options != options) continue;
    if (g_faults.follows_options) wrong->taken = last;
    wrong->options = nullptr;
  }
  g_registered.erase(options);
  g_below->ReleaseSessionOptions(options);
}

// Memory for a config. What is freed twice is from the allocator below, which counts that and lives on.
OrtStatus* Allocate(void** memory) {
  *memory = g_faults.releases_twice ? nullptr : std::malloc(sizeof(WrongConfig));
  OrtAllocator* allocator = nullptr;
  if (*memory != nullptr) return nullptr;
  if (OrtStatus* status = g_below->GetAllocatorWithDefaultOptions(&allocator)) return status;
  return g_below->AllocatorAlloc(allocator, sizeof(WrongConfig), memory);
}
void Free(void* memory) {
  OrtAllocator* allocator = nullptr;
  if (!g_faults.releases_twice) return std::free(memory);
  if (g_below->GetAllocatorWithDefaultOptions(&allocator) != nullptr) return;
  for (int times = 0; times < 2; ++times) g_below->AllocatorFree(allocator, memory);
}

OrtStatus* Take(const OrtSessionOptions* options, OrtEpContextConfig** config) noexcept {
  if (config != nullptr && g_faults.overwrites_config) *config = nullptr;
  if (options == nullptr) return NullArgument("OrtSessionOptions is NULL");
  if (config == nullptr) return NullArgument("Output OrtEpContextConfig is NULL");
  void* memory = nullptr;
  if (OrtStatus* status = Allocate(&memory)) return status;
  *config = reinterpret_cast<OrtEpContextConfig*>(new (memory) WrongConfig{g_registered[KeyOf(options)], options});
  g_configs.insert(*config);
  return nullptr;
}

void Release(OrtEpContextConfig* config) noexcept {
  if (config == nullptr && g_faults.crashes_on_null) std::abort();
  if (g_configs.erase(config) == 0) {
    Below(kOrtExperimental_OrtEpApi_ReleaseEpContextConfig_SinceV28_FnName, &OrtEpApi::ReleaseEpContextConfig)(config);
    return;
  }
  if (!g_faults.leaks) Free(config);
}

OrtStatus* GetRead(const OrtEpContextConfig* config, OrtReadNamedBufferFunc* function, void** state) noexcept {
  if (config == nullptr || function == nullptr || state == nullptr) return NullArgument("an argument is NULL");
  if (g_configs.count(config) == 0) return ReadBelow()(config, function, state);
  const auto* wrong = reinterpret_cast<const WrongConfig*>(config);
  const bool follows = g_faults.follows_options && wrong->options != nullptr;
  const Registered found = follows ? g_registered[KeyOf(wrong->options)] : wrong->taken;
  *function = found.function;
  if (found.state != nullptr || !g_faults.leaves_unset_state) *state = found.state;
  return nullptr;
}

OrtStatus* GetWrite(const OrtEpContextConfig* config, OrtWriteNamedBufferFunc* function, void** state) noexcept {
  if (config == nullptr || function == nullptr || state == nullptr) return NullArgument("an argument is NULL");
  if (g_configs.count(config) == 0) return WriteBelow()(config, function, state);
  *function = nullptr;
  if (!g_faults.leaves_unset_state) *state = nullptr;
  return nullptr;
}

const OrtApi* WrongRuntime(const OrtApi* below) {
  return Between(below, {SetRead, SetWrite, ReleaseOptions, Take, Release, GetRead, GetWrite});
}

// --- helpers that ask once, or half ----------------------------------------------------------------------------------------

// Calls the right form on a table with getters of its own.
template <decltype(OrtEpApi::EpContextConfigGetEpContextDataReadFunc) get_read,
          decltype(OrtEpApi::EpContextConfigGetEpContextDataWriteFunc) get_write>
void AskThrough(Behaviour& behaviour) {
  static const auto through = [](const Call& call) -> Call {
    Replaced replaced;
    replaced.get_read = get_read;
    replaced.get_write = get_write;
    return {*Between(&call.api, replaced), call.config,        call.name,   call.graph, call.allocator,
            call.separate_fallback,        call.fallback_name, call.buffer, call.size};
  };
  behaviour.read = [](const Behaviour& self, const Call& call, EpctxOutput& output) { return Read(self, through(call), output); };
  behaviour.write = [](const Behaviour& self, const Call& call) { return Write(self, through(call)); };
  behaviour.load = [](const Behaviour& self, const Call& call, EpctxNameSink sink, void* sink_state) {
    return Load(self, through(call), sink, sink_state);
  };
}

// What the first config with a callback gave, for every later one that has a callback.
template <typename Function, typename Getter>
OrtStatus* GetFirst(Getter below, const OrtEpContextConfig* config, Function* function, void** state) {
  static Function first = nullptr;
  static void* first_state = nullptr;
  if (OrtStatus* status = below(config, function, state)) return status;
  if (*function == nullptr) return nullptr;
  if (first == nullptr) {
    first = *function;
    first_state = *state;
  }
  *function = first;
  *state = first_state;
  return nullptr;
}

// What the last config with a callback gave, where this one has none.
template <typename Function, typename Getter>
OrtStatus* GetLast(Getter below, const OrtEpContextConfig* config, Function* function, void** state) {
  static Function last = nullptr;
  static void* last_state = nullptr;
  if (OrtStatus* status = below(config, function, state)) return status;
  if (*function == nullptr) {
    *function = last;
    *state = last_state;
  }
  last = *function;
  last_state = *state;
  return nullptr;
}

OrtStatus* FirstRead(const OrtEpContextConfig* config, OrtReadNamedBufferFunc* function, void** state) noexcept {
  return GetFirst(ReadBelow(), config, function, state);
}
OrtStatus* FirstWrite(const OrtEpContextConfig* config, OrtWriteNamedBufferFunc* function, void** state) noexcept {
  return GetFirst(WriteBelow(), config, function, state);
}
OrtStatus* LastRead(const OrtEpContextConfig* config, OrtReadNamedBufferFunc* function, void** state) noexcept {
  return GetLast(ReadBelow(), config, function, state);
}
OrtStatus* LastWrite(const OrtEpContextConfig* config, OrtWriteNamedBufferFunc* function, void** state) noexcept {
  return GetLast(WriteBelow(), config, function, state);
}

// Knows the experimental names only; a config whose callbacks have none might as well not be there.
Call WithKnownConfig(const Call& call) {
  Call changed = call;
  const char* name = kOrtExperimental_OrtEpApi_EpContextConfig_GetEpContextDataReadFunc_SinceV28_FnName;
  if (call.api.GetExperimentalFunction(name) == nullptr) changed.config = nullptr;
  return changed;
}

template <bool Faults::* fault>
void WithFault(Behaviour& behaviour) {
  behaviour.runtime = WrongRuntime;
  g_faults.*fault = true;
}

}  // namespace

void AddConfig(Table& table) {
  table["runtime-accepts-null"] = WithFault<&Faults::accepts_null>;
  table["runtime-overwrites-config-on-error"] = WithFault<&Faults::overwrites_config>;
  table["runtime-leaves-unset-state"] = WithFault<&Faults::leaves_unset_state>;
  table["runtime-clear-keeps-state"] = WithFault<&Faults::clear_keeps_state>;
  table["runtime-keeps-first-registration"] = WithFault<&Faults::keeps_first>;
  table["runtime-config-follows-options"] = WithFault<&Faults::follows_options>;
  table["runtime-shares-registrations"] = WithFault<&Faults::shares>;
  table["runtime-releases-twice"] = WithFault<&Faults::releases_twice>;
  table["runtime-leaks-configs"] = WithFault<&Faults::leaks>;
  table["runtime-crashes-on-null-release"] = WithFault<&Faults::crashes_on_null>;
  table["runtime-writes-state"] = WithFault<&Faults::writes_state>;
  table["keeps-first-config"] = AskThrough<FirstRead, FirstWrite>;
  table["ignores-clear"] = AskThrough<LastRead, LastWrite>;
  table["experimental-names-only"] = [](Behaviour& b) {
    b.read = [](const Behaviour& self, const Call& call, EpctxOutput& output) {
      return Read(self, WithKnownConfig(call), output);
    };
    b.write = [](const Behaviour& self, const Call& call) { return Write(self, WithKnownConfig(call)); };
    b.load = [](const Behaviour& self, const Call& call, EpctxNameSink sink, void* sink_state) {
      return Load(self, WithKnownConfig(call), sink, sink_state);
    };
  };
}

}  // namespace epctx_weak
