// The experimental EPContext functions of ONNX Runtime 1.28 to 1.30, looked up by name through
// OrtApi::GetExperimentalFunction.
#pragma once

#include <onnxruntime_c_api.h>

#if defined(__cplusplus)
extern "C" {
#endif

// Declares the type OrtExperimental_<name>_SinceV28_Fn and the name to look it up by.
#define EPCTX_EXPERIMENTAL(result, name, ...)                                      \
  typedef result(ORT_API_CALL* OrtExperimental_##name##_SinceV28_Fn)(__VA_ARGS__); \
  static const char* const kOrtExperimental_##name##_SinceV28_FnName = #name "_SinceV28"

EPCTX_EXPERIMENTAL(OrtStatusPtr, OrtApi_ExperimentalApiTest, int64_t* out);
EPCTX_EXPERIMENTAL(OrtStatusPtr, OrtApi_SessionOptions_SetEpContextDataReadFunc, OrtSessionOptions* options,
                   OrtReadNamedBufferFunc read_func, void* state);
EPCTX_EXPERIMENTAL(OrtStatusPtr, OrtCompileApi_ModelCompilationOptions_SetEpContextDataWriteFunc,
                   OrtModelCompilationOptions* options, OrtWriteNamedBufferFunc write_func, void* state);
EPCTX_EXPERIMENTAL(OrtStatusPtr, OrtEpApi_SessionOptions_GetEpContextConfig, const OrtSessionOptions* options,
                   OrtEpContextConfig** config);
EPCTX_EXPERIMENTAL(void, OrtEpApi_ReleaseEpContextConfig, OrtEpContextConfig* config);
EPCTX_EXPERIMENTAL(OrtStatusPtr, OrtEpApi_EpContextConfig_GetEpContextDataReadFunc, const OrtEpContextConfig* config,
                   OrtReadNamedBufferFunc* read_func, void** state);
EPCTX_EXPERIMENTAL(OrtStatusPtr, OrtEpApi_EpContextConfig_GetEpContextDataWriteFunc, const OrtEpContextConfig* config,
                   OrtWriteNamedBufferFunc* write_func, void** state);

#undef EPCTX_EXPERIMENTAL

#if defined(__cplusplus)
}  // extern "C"
#endif
