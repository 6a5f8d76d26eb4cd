#include "config.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>

#include "ledger.h"
#include "onnxruntime_experimental_c_api.h"

// --- the stand-in's objects ------------------------------------------------------------------------------------------------

struct OrtSessionOptions {
  OrtReadNamedBufferFunc function = nullptr;
  void* state = nullptr;
};

struct OrtEpContextConfig {
  OrtSessionOptions options;  // as they were
};

namespace epctx {
namespace {

// --- the stand-in's functions ----------------------------------------------------------------------------------------------

namespace stand_in {

OrtStatus* Invalid(const char* text) { return ledger().NewStatus(ORT_INVALID_ARGUMENT, text); }

OrtStatus* CreateOptions(OrtSessionOptions** options) noexcept {
  *options = new OrtSessionOptions;
  return nullptr;
}
void ReleaseOptions(OrtSessionOptions* options) noexcept { delete options; }

OrtStatus* SetRead(OrtSessionOptions* options, OrtReadNamedBufferFunc function, void* state) noexcept {
  if (options == nullptr) return Invalid("'options' parameter must not be NULL");
  *options = {function, function != nullptr ? state : nullptr};
  return nullptr;
}

// There are no compile options here to set anything on.
OrtStatus* SetWrite(OrtModelCompilationOptions*, OrtWriteNamedBufferFunc, void*) noexcept {
  return Invalid("OrtModelCompilationOptions is NULL");
}

OrtStatus* Take(const OrtSessionOptions* options, OrtEpContextConfig** config) noexcept {
  if (options == nullptr) return Invalid("OrtSessionOptions is NULL");
  if (config == nullptr) return Invalid("Output OrtEpContextConfig is NULL");
  *config = new OrtEpContextConfig{*options};
  return nullptr;
}
void Release(OrtEpContextConfig* config) noexcept { delete config; }

OrtStatus* GetRead(const OrtEpContextConfig* config, OrtReadNamedBufferFunc* function, void** state) noexcept {
  if (config == nullptr) return Invalid("OrtEpContextConfig is NULL");
  if (function == nullptr) return Invalid("Output read_func is NULL");
  if (state == nullptr) return Invalid("Output state is NULL");
  *function = config->options.function;
  *state = config->options.state;
  return nullptr;
}
OrtStatus* GetWrite(const OrtEpContextConfig* config, OrtWriteNamedBufferFunc* function, void** state) noexcept {
  if (config == nullptr) return Invalid("OrtEpContextConfig is NULL");
  if (function == nullptr) return Invalid("Output write_func is NULL");
  if (state == nullptr) return Invalid("Output state is NULL");
  *function = nullptr;
  *state = nullptr;
  return nullptr;
}

constexpr ConfigFunctions kFunctions = {CreateOptions, ReleaseOptions, SetRead, SetWrite, Take, Release, GetRead, GetWrite};

}  // namespace stand_in

// --- the runtime's functions -----------------------------------------------------------------------------------------------

const OrtApi* g_real = nullptr;
ConfigFunctions g_runtime;
Generation g_generation = Generation::kBoth;

template <typename Function>
void LookUp(const OrtApi& api, const char* name, Function& function) {
  function = reinterpret_cast<Function>(api.GetExperimentalFunction(name));
}

ConfigFunctions NamedFunctionsOf(const OrtApi& api) {
  ConfigFunctions found;
  found.create_options = api.CreateSessionOptions;
  found.release_options = api.ReleaseSessionOptions;
  LookUp(api, kOrtExperimental_OrtApi_SessionOptions_SetEpContextDataReadFunc_SinceV28_FnName, found.set_read);
  LookUp(api, kOrtExperimental_OrtCompileApi_ModelCompilationOptions_SetEpContextDataWriteFunc_SinceV28_FnName, found.set_write);
  LookUp(api, kOrtExperimental_OrtEpApi_SessionOptions_GetEpContextConfig_SinceV28_FnName, found.take);
  LookUp(api, kOrtExperimental_OrtEpApi_ReleaseEpContextConfig_SinceV28_FnName, found.release);
  LookUp(api, kOrtExperimental_OrtEpApi_EpContextConfig_GetEpContextDataReadFunc_SinceV28_FnName, found.get_read);
  LookUp(api, kOrtExperimental_OrtEpApi_EpContextConfig_GetEpContextDataWriteFunc_SinceV28_FnName, found.get_write);
  return found;
}

ConfigFunctions TabledFunctionsOf(const OrtApi& api) {
  const OrtEpApi& ep = *api.GetEpApi();
  return {api.CreateSessionOptions,
          api.ReleaseSessionOptions,
          api.SessionOptionsSetEpContextDataReadFunc,
          api.GetCompileApi()->ModelCompilationOptions_SetEpContextDataWriteFunc,
          ep.SessionOptionsGetEpContextConfig,
          ep.ReleaseEpContextConfig,
          ep.EpContextConfigGetEpContextDataReadFunc,
          ep.EpContextConfigGetEpContextDataWriteFunc};
}

// --- the driver's forms of them --------------------------------------------------------------------------------------------

OrtStatus* Ours(OrtStatus* status) {
  if (status == nullptr || g_real == nullptr) return status;
  OrtStatus* ours = ledger().NewStatus(g_real->GetErrorCode(status), g_real->GetErrorMessage(status));
  g_real->ReleaseStatus(status);
  return ours;
}

// The configs that have a write callback by our doing. A target may ask from several threads.
std::mutex g_mutex;
std::map<const OrtEpContextConfig*, Registered> g_writers;

OrtStatus* CreateOptions(OrtSessionOptions** options) noexcept { return Ours(g_runtime.create_options(options)); }
OrtStatus* SetRead(OrtSessionOptions* options, OrtReadNamedBufferFunc function, void* state) noexcept {
  return Ours(g_runtime.set_read(options, function, state));
}
OrtStatus* SetWrite(OrtModelCompilationOptions* options, OrtWriteNamedBufferFunc function, void* state) noexcept {
  return Ours(g_runtime.set_write(options, function, state));
}
OrtStatus* TakeConfig(const OrtSessionOptions* options, OrtEpContextConfig** config) noexcept {
  return Ours(g_runtime.take(options, config));
}
void ReleaseConfig(OrtEpContextConfig* config) noexcept { g_runtime.release(config); }
OrtStatus* GetRead(const OrtEpContextConfig* config, OrtReadNamedBufferFunc* function, void** state) noexcept {
  return Ours(g_runtime.get_read(config, function, state));
}
OrtStatus* GetWrite(const OrtEpContextConfig* config, OrtWriteNamedBufferFunc* function, void** state) noexcept {
  if (OrtStatus* status = g_runtime.get_write(config, function, state)) return Ours(status);
  const std::lock_guard<std::mutex> lock(g_mutex);
  if (const auto found = g_writers.find(config); found != g_writers.end()) {
    *function = found->second.write;
    *state = found->second.write_state;
  }
  return nullptr;
}

// --- what is offered -------------------------------------------------------------------------------------------------------

union CompileTable {
  std::array<void*, 64> slots;
  OrtCompileApi api;
};

OrtApi* g_api = nullptr;
OrtEpApi* g_ep_api = nullptr;
CompileTable g_compile;
bool g_accessors = true, g_lent = false;
std::atomic<bool> g_nowhere = false;  // several threads may note it
std::atomic<bool>* g_missed = &g_nowhere;

const OrtCompileApi* GetCompileApi() noexcept { return &g_compile.api; }

[[noreturn]] void Absent() {
  g_missed->store(true, std::memory_order_relaxed);
  std::fputs("epctx: the target called a function that this ONNX Runtime does not have\n", stderr);
  std::abort();
}

template <typename Function>
void Put(Function& slot, bool there, Function function) {
  slot = there ? function : reinterpret_cast<Function>(&Absent);
}

void FillTables() {
  const bool there = g_generation != Generation::kNames || g_lent;
  Put(g_api->SessionOptionsSetEpContextDataReadFunc, there, SetRead);
  Put(g_compile.api.ModelCompilationOptions_SetEpContextDataWriteFunc, there, SetWrite);
  Put(g_ep_api->SessionOptionsGetEpContextConfig, there, TakeConfig);
  Put(g_ep_api->ReleaseEpContextConfig, there, ReleaseConfig);
  Put(g_ep_api->EpContextConfigGetEpContextDataReadFunc, there, GetRead);
  Put(g_ep_api->EpContextConfigGetEpContextDataWriteFunc, there, GetWrite);
  if (g_accessors) return;
  g_ep_api->EpContextConfigGetEpContextDataReadFunc = nullptr;
  g_ep_api->EpContextConfigGetEpContextDataWriteFunc = nullptr;
}

template <typename Function>
OrtExperimentalFnPtr AsExperimental(Function* function) {
  return reinterpret_cast<OrtExperimentalFnPtr>(function);
}

}  // namespace

void StartConfigs(const OrtApi* real, Generation generation, OrtApi& api, OrtEpApi& ep_api) {
  g_real = real;
  g_generation = generation;
  g_api = &api;
  g_ep_api = &ep_api;
  if (real == nullptr) {
    g_runtime = stand_in::kFunctions;
  } else {
    g_runtime = generation == Generation::kNames ? NamedFunctionsOf(*real) : TabledFunctionsOf(*real);
  }
  api.CreateSessionOptions = CreateOptions;
  api.ReleaseSessionOptions = g_runtime.release_options;
  api.GetCompileApi = GetCompileApi;
  g_compile.slots.fill(reinterpret_cast<void*>(&Absent));
  FillTables();
}

Generation RuntimeGeneration() noexcept { return g_generation; }

void Lend(bool lent) noexcept {
  if (lent == g_lent) return;
  g_lent = lent;
  FillTables();
}

void NoteMissed(std::atomic<bool>* missed) noexcept { g_missed = missed; }

void OfferAccessors(bool offered) noexcept {
  if (offered == g_accessors) return;
  g_accessors = offered;
  FillTables();
}

OrtExperimentalFnPtr ConfigFunctionByName(const char* name) noexcept {
  static const std::map<std::string_view, OrtExperimentalFnPtr> known = {
      {kOrtExperimental_OrtApi_SessionOptions_SetEpContextDataReadFunc_SinceV28_FnName, AsExperimental(&SetRead)},
      {kOrtExperimental_OrtCompileApi_ModelCompilationOptions_SetEpContextDataWriteFunc_SinceV28_FnName,
       AsExperimental(&SetWrite)},
      {kOrtExperimental_OrtEpApi_SessionOptions_GetEpContextConfig_SinceV28_FnName, AsExperimental(&TakeConfig)},
      {kOrtExperimental_OrtEpApi_ReleaseEpContextConfig_SinceV28_FnName, AsExperimental(&ReleaseConfig)},
      {kOrtExperimental_OrtEpApi_EpContextConfig_GetEpContextDataReadFunc_SinceV28_FnName, AsExperimental(&GetRead)},
      {kOrtExperimental_OrtEpApi_EpContextConfig_GetEpContextDataWriteFunc_SinceV28_FnName, AsExperimental(&GetWrite)},
  };
  const auto found = known.find(name);
  if (found == known.end()) return nullptr;
  if (g_generation == Generation::kTables && !g_lent) {
    g_missed->store(true, std::memory_order_relaxed);
    return nullptr;
  }
  const bool accessor = found->second == AsExperimental(&GetRead) || found->second == AsExperimental(&GetWrite);
  return accessor && !g_accessors ? nullptr : found->second;
}

ConfigFunctions FunctionsOf(const OrtApi& api) {
  return g_generation == Generation::kNames ? NamedFunctionsOf(api) : TabledFunctionsOf(api);
}

// --- a config --------------------------------------------------------------------------------------------------------------

OrtStatus* Config::Take(const OrtApi& api, const Registered& callbacks) {
  const ConfigFunctions functions = FunctionsOf(callbacks.write != nullptr ? *g_api : api);
  OrtSessionOptions* options = nullptr;
  if (OrtStatus* status = functions.create_options(&options)) return status;
  OrtStatus* status = callbacks.read != nullptr ? functions.set_read(options, callbacks.read, callbacks.read_state) : nullptr;
  if (status == nullptr) status = functions.take(options, &config_);
  functions.release_options(options);
  if (status != nullptr) return status;
  release_ = functions.release;
  if (callbacks.write != nullptr) {
    const std::lock_guard<std::mutex> lock(g_mutex);
    g_writers[config_] = callbacks;
  }
  return nullptr;
}

void Config::Release() {
  if (config_ == nullptr) return;
  {
    const std::lock_guard<std::mutex> lock(g_mutex);
    g_writers.erase(config_);
  }
  release_(std::exchange(config_, nullptr));
}

}  // namespace epctx
