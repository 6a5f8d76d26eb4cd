// C++ look-up of the experimental EPContext functions, and the owner of an OrtEpContextConfig.
#pragma once

#include <cstddef>
#include <utility>

#include <onnxruntime_cxx_api.h>
#include <onnxruntime_experimental_c_api.h>

namespace Ort::Experimental {

// Declares Get_<name>_SinceV28_Fn, which gives NULL where the function does not exist, and ..._FnOrThrow.
#define EPCTX_LOOK_UP(name)                                                                                              \
  inline OrtExperimental_##name##_SinceV28_Fn Get_##name##_SinceV28_Fn(const OrtApi* api) {                              \
    return reinterpret_cast<OrtExperimental_##name##_SinceV28_Fn>(                                                       \
        api->GetExperimentalFunction(kOrtExperimental_##name##_SinceV28_FnName));                                        \
  }                                                                                                                      \
  inline OrtExperimental_##name##_SinceV28_Fn Get_##name##_SinceV28_FnOrThrow(const OrtApi* api) {                       \
    auto* function = Get_##name##_SinceV28_Fn(api);                                                                      \
    if (function == nullptr) ORT_CXX_API_THROW("Experimental function " #name " is not available", ORT_NOT_IMPLEMENTED); \
    return function;                                                                                                     \
  }

EPCTX_LOOK_UP(OrtApi_ExperimentalApiTest)
EPCTX_LOOK_UP(OrtApi_SessionOptions_SetEpContextDataReadFunc)
EPCTX_LOOK_UP(OrtCompileApi_ModelCompilationOptions_SetEpContextDataWriteFunc)
EPCTX_LOOK_UP(OrtEpApi_SessionOptions_GetEpContextConfig)
EPCTX_LOOK_UP(OrtEpApi_ReleaseEpContextConfig)
EPCTX_LOOK_UP(OrtEpApi_EpContextConfig_GetEpContextDataReadFunc)
EPCTX_LOOK_UP(OrtEpApi_EpContextConfig_GetEpContextDataWriteFunc)

#undef EPCTX_LOOK_UP

// Owns the config that an EP takes from the session options.
class EpContextConfig {
 public:
  explicit EpContextConfig(std::nullptr_t) noexcept {}
  explicit EpContextConfig(ConstSessionOptions options) {
    const OrtApi* api = &GetApi();
    Get_OrtEpApi_ReleaseEpContextConfig_SinceV28_FnOrThrow(api);  // before there is something to release
    ThrowOnError(Get_OrtEpApi_SessionOptions_GetEpContextConfig_SinceV28_FnOrThrow(api)(options, &config_));
  }
  EpContextConfig(EpContextConfig&& other) noexcept : config_(other.release()) {}
  EpContextConfig& operator=(EpContextConfig&& other) noexcept {
    if (this != &other) {
      reset();
      config_ = other.release();
    }
    return *this;
  }
  EpContextConfig(const EpContextConfig&) = delete;
  EpContextConfig& operator=(const EpContextConfig&) = delete;
  ~EpContextConfig() { reset(); }

  OrtEpContextConfig* get() const noexcept { return config_; }
  explicit operator bool() const noexcept { return config_ != nullptr; }
  OrtEpContextConfig* release() noexcept { return std::exchange(config_, nullptr); }
  void reset() noexcept {
    if (config_ == nullptr) return;
    if (auto* function = Get_OrtEpApi_ReleaseEpContextConfig_SinceV28_Fn(&GetApi())) function(config_);
    config_ = nullptr;
  }

  void GetReadFunc(OrtReadNamedBufferFunc& read_func, void*& state) const {
    ThrowOnError(
        Get_OrtEpApi_EpContextConfig_GetEpContextDataReadFunc_SinceV28_FnOrThrow(&GetApi())(config_, &read_func, &state));
  }
  void GetWriteFunc(OrtWriteNamedBufferFunc& write_func, void*& state) const {
    ThrowOnError(
        Get_OrtEpApi_EpContextConfig_GetEpContextDataWriteFunc_SinceV28_FnOrThrow(&GetApi())(config_, &write_func, &state));
  }

 private:
  OrtEpContextConfig* config_ = nullptr;
};

}  // namespace Ort::Experimental
