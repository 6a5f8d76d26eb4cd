// Configs: how the application's callbacks get into one and how the target gets them out again, through the functions of the
// runtime, a real one's or those of a stand-in.
//
// What a target is given is a config of the runtime itself, taken from session options on which the read callback was set. A
// write callback is set on compile options, which are a copy of the session options, and so reaches a config within a
// compilation only: outside of one the driver's own accessor adds it.
#pragma once

#include <atomic>
#include <utility>

#include "onnxruntime_c_api.h"

namespace epctx {

// The functions that make, fill and read configs, and what they are taken from.
struct ConfigFunctions {
  decltype(OrtApi::CreateSessionOptions) create_options = nullptr;
  decltype(OrtApi::ReleaseSessionOptions) release_options = nullptr;
  decltype(OrtApi::SessionOptionsSetEpContextDataReadFunc) set_read = nullptr;
  decltype(OrtCompileApi::ModelCompilationOptions_SetEpContextDataWriteFunc) set_write = nullptr;
  decltype(OrtEpApi::SessionOptionsGetEpContextConfig) take = nullptr;
  decltype(OrtEpApi::ReleaseEpContextConfig) release = nullptr;
  decltype(OrtEpApi::EpContextConfigGetEpContextDataReadFunc) get_read = nullptr;
  decltype(OrtEpApi::EpContextConfigGetEpContextDataWriteFunc) get_write = nullptr;
};

// Where a runtime has them: by experimental names (1.28 to 1.30), in its tables (1.31 and later), or in both.
enum class Generation { kNames, kTables, kBoth };

// Puts the driver's forms of these functions into the tables that targets see. They call those of the runtime, `real` or else a
// stand-in, and turn its statuses into ours, which are counted. Once.
void StartConfigs(const OrtApi* real, Generation generation, OrtApi& api, OrtEpApi& ep_api);

Generation RuntimeGeneration() noexcept;

// Whether the runtime lends what it does not have itself: tables to a target that knows only those, or names.
void Lend(bool lent) noexcept;

// Where it is noted, as true, that a target looked for what the runtime does not have and does not lend.
void NoteMissed(std::atomic<bool>* missed) noexcept;

// From now on the runtime offers the functions that give the callbacks of a config, by name and in its table, or does not.
void OfferAccessors(bool offered) noexcept;

// What GetExperimentalFunction answers for the name of one of these functions; NULL for another name.
OrtExperimentalFnPtr ConfigFunctionByName(const char* name) noexcept;

// The functions with which the application works on `api`: the table that StartConfigs filled, or one made of it.
ConfigFunctions FunctionsOf(const OrtApi& api);

// The callbacks that are registered in a config, each with its state; NULL for none.
struct Registered {
  OrtReadNamedBufferFunc read = nullptr;
  void* read_state = nullptr;
  OrtWriteNamedBufferFunc write = nullptr;
  void* write_state = nullptr;
};

// A config with callbacks, for as long as it lives.
class Config {
 public:
  Config() = default;
  ~Config() { Release(); }
  Config(Config&& other) noexcept : release_(other.release_), config_(std::exchange(other.config_, nullptr)) {}
  Config(const Config&) = delete;
  Config& operator=(const Config&) = delete;

  // Takes it from session options of `api`, which are gone afterwards; with a write callback, which only the driver's own
  // accessor can add, from those of its own table. Returns the status of the function that failed.
  OrtStatus* Take(const OrtApi& api, const Registered& callbacks);
  void Release();
  const OrtEpContextConfig* get() const { return config_; }

 private:
  decltype(ConfigFunctions::release) release_ = nullptr;
  OrtEpContextConfig* config_ = nullptr;
};

}  // namespace epctx
