// Our own view of ONNX Runtime's C API: the names and the layout that an EPContext helper needs, and those that the driver and
// the bundled execution provider need to make, compile and run sessions. Nothing else.
//
// A vendor's header compiles against this when no ONNX Runtime include directory is given. The tables have the layout of the
// real ones (positions in them are append-only), so what is compiled here runs against a real OrtApi. Slots that are not
// declared are reserved; every declared one is asserted at the end of this file.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ORT_API_VERSION 28

#if defined(_WIN32)
#define ORT_API_CALL __stdcall
typedef wchar_t ORTCHAR_T;
#else
#define ORT_API_CALL
typedef char ORTCHAR_T;
#endif

#if defined(__cplusplus)
#define NO_EXCEPTION noexcept
#else
#define NO_EXCEPTION
#endif

// Annotations that other tools read; empty here, and left alone where a platform's sal.h has defined them.
#ifndef _In_
#define _In_
#define _In_z_
#define _In_opt_
#define _In_opt_z_
#define _Out_
#define _Outptr_
#define _Out_opt_
#define _Inout_
#define _Inout_opt_
#define _Frees_ptr_opt_
#define _Ret_maybenull_
#define _Ret_notnull_
#define _Check_return_
#define _Outptr_result_maybenull_
#define _In_reads_(count)
#define _Outptr_result_buffer_maybenull_(count)
#endif

#if defined(__cplusplus)
extern "C" {
#endif

typedef enum OrtErrorCode {
  ORT_OK = 0,
  ORT_FAIL = 1,
  ORT_INVALID_ARGUMENT = 2,
  ORT_NO_SUCHFILE = 3,
  ORT_NO_MODEL = 4,
  ORT_ENGINE_ERROR = 5,
  ORT_RUNTIME_EXCEPTION = 6,
  ORT_INVALID_PROTOBUF = 7,
  ORT_MODEL_LOADED = 8,
  ORT_NOT_IMPLEMENTED = 9,
  ORT_INVALID_GRAPH = 10,
  ORT_EP_FAIL = 11,
} OrtErrorCode;

typedef enum OrtOpAttrType {
  ORT_OP_ATTR_UNDEFINED = 0,
  ORT_OP_ATTR_INT = 1,
  ORT_OP_ATTR_INTS = 2,
  ORT_OP_ATTR_FLOAT = 3,
  ORT_OP_ATTR_FLOATS = 4,
  ORT_OP_ATTR_STRING = 5,
  ORT_OP_ATTR_STRINGS = 6,
} OrtOpAttrType;

typedef enum OrtLoggingLevel {
  ORT_LOGGING_LEVEL_VERBOSE = 0,
  ORT_LOGGING_LEVEL_INFO = 1,
  ORT_LOGGING_LEVEL_WARNING = 2,
  ORT_LOGGING_LEVEL_ERROR = 3,
  ORT_LOGGING_LEVEL_FATAL = 4,
} OrtLoggingLevel;

typedef enum GraphOptimizationLevel { ORT_DISABLE_ALL = 0 } GraphOptimizationLevel;
typedef enum OrtAllocatorType { OrtDeviceAllocator = 0 } OrtAllocatorType;
typedef enum OrtMemType { OrtMemTypeDefault = 0 } OrtMemType;
typedef enum OrtHardwareDeviceType { OrtHardwareDeviceType_CPU = 0 } OrtHardwareDeviceType;

typedef enum ONNXTensorElementDataType {
  ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED = 0,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT = 1,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8 = 2,
} ONNXTensorElementDataType;

typedef struct OrtStatus OrtStatus;
typedef struct OrtEnv OrtEnv;
typedef struct OrtSession OrtSession;
typedef struct OrtRunOptions OrtRunOptions;
typedef struct OrtValue OrtValue;
typedef struct OrtValueInfo OrtValueInfo;
typedef struct OrtTypeInfo OrtTypeInfo;
typedef struct OrtTensorTypeAndShapeInfo OrtTensorTypeAndShapeInfo;
typedef struct OrtKernelContext OrtKernelContext;
typedef struct OrtLogger OrtLogger;
typedef struct OrtKeyValuePairs OrtKeyValuePairs;
typedef struct OrtHardwareDevice OrtHardwareDevice;
typedef struct OrtEpDevice OrtEpDevice;
typedef struct OrtEpAssignedSubgraph OrtEpAssignedSubgraph;
typedef struct OrtEpFactory OrtEpFactory;
typedef struct OrtEpGraphSupportInfo OrtEpGraphSupportInfo;
typedef struct OrtNodeFusionOptions OrtNodeFusionOptions;
typedef struct OrtGraph OrtGraph;
typedef struct OrtNode OrtNode;
typedef struct OrtOpAttr OrtOpAttr;
typedef struct OrtSessionOptions OrtSessionOptions;
typedef struct OrtModelCompilationOptions OrtModelCompilationOptions;
typedef struct OrtEpContextConfig OrtEpContextConfig;
typedef struct OrtMemoryInfo OrtMemoryInfo;
typedef struct OrtApi OrtApi;
typedef struct OrtEpApi OrtEpApi;
typedef struct OrtCompileApi OrtCompileApi;
typedef struct OrtModelEditorApi OrtModelEditorApi;
typedef OrtStatus* OrtStatusPtr;

typedef void(ORT_API_CALL* OrtExperimentalFnPtr)(void);

// The first members of an allocator. Later ones exist in the real structure and are never touched through this view.
typedef struct OrtAllocator {
  uint32_t version;
  void*(ORT_API_CALL* Alloc)(struct OrtAllocator* this_, size_t size);
  void(ORT_API_CALL* Free)(struct OrtAllocator* this_, void* p);
  const OrtMemoryInfo*(ORT_API_CALL* Info)(const struct OrtAllocator* this_);
  void*(ORT_API_CALL* Reserve)(struct OrtAllocator* this_, size_t size);
} OrtAllocator;

// The application's callbacks for named binary data.
typedef OrtStatus*(ORT_API_CALL* OrtReadNamedBufferFunc)(_In_ void* state, _In_ const char* name, _In_ OrtAllocator* allocator,
                                                         _Outptr_ void** buffer, _Out_ size_t* data_size);
typedef OrtStatus*(ORT_API_CALL* OrtWriteNamedBufferFunc)(_In_ void* state, _In_ const char* name, _In_ const void* buffer,
                                                          _In_ size_t buffer_num_bytes);

struct OrtApi {
  OrtStatus*(ORT_API_CALL* CreateStatus)(OrtErrorCode code, const char* msg)NO_EXCEPTION;                   // 0
  OrtErrorCode(ORT_API_CALL* GetErrorCode)(const OrtStatus* status) NO_EXCEPTION;                           // 1
  const char*(ORT_API_CALL* GetErrorMessage)(const OrtStatus* status)NO_EXCEPTION;                          // 2
  OrtStatus*(ORT_API_CALL* CreateEnv)(OrtLoggingLevel level, const char* logid, OrtEnv** out)NO_EXCEPTION;  // 3
  void* reserved_4_to_6[3];
  OrtStatus*(ORT_API_CALL* CreateSession)(const OrtEnv* env, const ORTCHAR_T* model_path, const OrtSessionOptions* options,
                                          OrtSession** out)NO_EXCEPTION;  // 7
  OrtStatus*(ORT_API_CALL* CreateSessionFromArray)(const OrtEnv* env, const void* model_data, size_t model_data_length,
                                                   const OrtSessionOptions* options, OrtSession** out)NO_EXCEPTION;  // 8
  OrtStatus*(ORT_API_CALL* Run)(OrtSession* session, const OrtRunOptions* run_options, const char* const* input_names,
                                const OrtValue* const* inputs, size_t input_len, const char* const* output_names,
                                size_t output_names_len, OrtValue** outputs)NO_EXCEPTION;   // 9
  OrtStatus*(ORT_API_CALL* CreateSessionOptions)(OrtSessionOptions** options)NO_EXCEPTION;  // 10
  void* reserved_11_to_21[11];
  OrtStatus*(ORT_API_CALL* SetSessionLogSeverityLevel)(OrtSessionOptions* options, int level)NO_EXCEPTION;  // 22
  OrtStatus*(ORT_API_CALL* SetSessionGraphOptimizationLevel)(OrtSessionOptions* options,
                                                             GraphOptimizationLevel level)NO_EXCEPTION;  // 23
  OrtStatus*(ORT_API_CALL* SetIntraOpNumThreads)(OrtSessionOptions* options, int threads)NO_EXCEPTION;   // 24
  OrtStatus*(ORT_API_CALL* SetInterOpNumThreads)(OrtSessionOptions* options, int threads)NO_EXCEPTION;   // 25
  void* reserved_26_to_29[4];
  OrtStatus*(ORT_API_CALL* SessionGetInputCount)(const OrtSession* session, size_t* out)NO_EXCEPTION;   // 30
  OrtStatus*(ORT_API_CALL* SessionGetOutputCount)(const OrtSession* session, size_t* out)NO_EXCEPTION;  // 31
  void* reserved_32[1];
  OrtStatus*(ORT_API_CALL* SessionGetInputTypeInfo)(const OrtSession* session, size_t index,
                                                    OrtTypeInfo** type_info)NO_EXCEPTION;  // 33
  void* reserved_34_to_35[2];
  OrtStatus*(ORT_API_CALL* SessionGetInputName)(const OrtSession* session, size_t index, OrtAllocator* allocator,
                                                char** value)NO_EXCEPTION;  // 36
  OrtStatus*(ORT_API_CALL* SessionGetOutputName)(const OrtSession* session, size_t index, OrtAllocator* allocator,
                                                 char** value)NO_EXCEPTION;  // 37
  void* reserved_38_to_48[11];
  OrtStatus*(ORT_API_CALL* CreateTensorWithDataAsOrtValue)(const OrtMemoryInfo* info, void* data, size_t data_len,
                                                           const int64_t* shape, size_t shape_len, ONNXTensorElementDataType type,
                                                           OrtValue** out)NO_EXCEPTION;  // 49
  void* reserved_50[1];
  OrtStatus*(ORT_API_CALL* GetTensorMutableData)(OrtValue* value, void** out)NO_EXCEPTION;  // 51
  void* reserved_52_to_54[3];
  OrtStatus*(ORT_API_CALL* CastTypeInfoToTensorInfo)(const OrtTypeInfo* type_info,
                                                     const OrtTensorTypeAndShapeInfo** out)NO_EXCEPTION;  // 55
  void* reserved_56_to_59[4];
  OrtStatus*(ORT_API_CALL* GetTensorElementType)(const OrtTensorTypeAndShapeInfo* info,
                                                 ONNXTensorElementDataType* out)NO_EXCEPTION;                    // 60
  OrtStatus*(ORT_API_CALL* GetDimensionsCount)(const OrtTensorTypeAndShapeInfo* info, size_t* out)NO_EXCEPTION;  // 61
  OrtStatus*(ORT_API_CALL* GetDimensions)(const OrtTensorTypeAndShapeInfo* info, int64_t* values,
                                          size_t length)NO_EXCEPTION;  // 62
  void* reserved_63[1];
  OrtStatus*(ORT_API_CALL* GetTensorShapeElementCount)(const OrtTensorTypeAndShapeInfo* info, size_t* out)NO_EXCEPTION;  // 64
  OrtStatus*(ORT_API_CALL* GetTensorTypeAndShape)(const OrtValue* value, OrtTensorTypeAndShapeInfo** out)NO_EXCEPTION;   // 65
  void* reserved_66_to_68[3];
  OrtStatus*(ORT_API_CALL* CreateCpuMemoryInfo)(OrtAllocatorType type, OrtMemType mem_type,
                                                OrtMemoryInfo** out)NO_EXCEPTION;  // 69
  void* reserved_70_to_74[5];
  OrtStatus*(ORT_API_CALL* AllocatorAlloc)(OrtAllocator* allocator, size_t size, void** out)NO_EXCEPTION;            // 75
  OrtStatus*(ORT_API_CALL* AllocatorFree)(OrtAllocator* allocator, void* p)NO_EXCEPTION;                             // 76
  OrtStatus*(ORT_API_CALL* AllocatorGetInfo)(const OrtAllocator* allocator, const OrtMemoryInfo** out)NO_EXCEPTION;  // 77
  OrtStatus*(ORT_API_CALL* GetAllocatorWithDefaultOptions)(OrtAllocator** out)NO_EXCEPTION;                          // 78
  void* reserved_79_to_89[11];
  OrtStatus*(ORT_API_CALL* KernelContext_GetInput)(const OrtKernelContext* context, size_t index,
                                                   const OrtValue** out)NO_EXCEPTION;  // 90
  OrtStatus*(ORT_API_CALL* KernelContext_GetOutput)(OrtKernelContext* context, size_t index, const int64_t* dim_values,
                                                    size_t dim_count, OrtValue** out)NO_EXCEPTION;  // 91
  void(ORT_API_CALL* ReleaseEnv)(OrtEnv* env) NO_EXCEPTION;                                         // 92
  void(ORT_API_CALL* ReleaseStatus)(OrtStatus* status) NO_EXCEPTION;                                // 93
  void(ORT_API_CALL* ReleaseMemoryInfo)(OrtMemoryInfo* info) NO_EXCEPTION;                          // 94
  void(ORT_API_CALL* ReleaseSession)(OrtSession* session) NO_EXCEPTION;                             // 95
  void(ORT_API_CALL* ReleaseValue)(OrtValue* value) NO_EXCEPTION;                                   // 96
  void* reserved_97[1];
  void(ORT_API_CALL* ReleaseTypeInfo)(OrtTypeInfo* info) NO_EXCEPTION;                              // 98
  void(ORT_API_CALL* ReleaseTensorTypeAndShapeInfo)(OrtTensorTypeAndShapeInfo* info) NO_EXCEPTION;  // 99
  void(ORT_API_CALL* ReleaseSessionOptions)(OrtSessionOptions* options) NO_EXCEPTION;               // 100
  void* reserved_101_to_129[29];
  OrtStatus*(ORT_API_CALL* AddSessionConfigEntry)(OrtSessionOptions* options, const char* key,
                                                  const char* value)NO_EXCEPTION;  // 130
  void* reserved_131[1];
  void(ORT_API_CALL* ReleaseAllocator)(OrtAllocator* allocator) NO_EXCEPTION;  // 132
  void* reserved_133_to_210[78];
  OrtStatus*(ORT_API_CALL* CreateOpAttr)(const char* name, const void* data, int len, OrtOpAttrType type,
                                         OrtOpAttr** attribute)NO_EXCEPTION;  // 211
  void(ORT_API_CALL* ReleaseOpAttr)(OrtOpAttr* attribute) NO_EXCEPTION;       // 212
  void* reserved_213_to_237[25];
  OrtStatus*(ORT_API_CALL* GetSessionConfigEntry)(const OrtSessionOptions* options, const char* key, char* value,
                                                  size_t* size)NO_EXCEPTION;  // 238
  void* reserved_239_to_271[33];
  OrtStatus*(ORT_API_CALL* ReadOpAttr)(const OrtOpAttr* attribute, OrtOpAttrType type, void* data, size_t len,
                                       size_t* out)NO_EXCEPTION;  // 272
  void* reserved_273_to_285[13];
  void(ORT_API_CALL* ReleaseNode)(OrtNode* node) NO_EXCEPTION;  // 286
  void* reserved_287_to_288[2];
  OrtStatus*(ORT_API_CALL* GetValueInfoName)(const OrtValueInfo* value, const char** name)NO_EXCEPTION;                  // 289
  OrtStatus*(ORT_API_CALL* GetValueInfoTypeInfo)(const OrtValueInfo* value, const OrtTypeInfo** type_info)NO_EXCEPTION;  // 290
  const OrtModelEditorApi*(ORT_API_CALL* GetModelEditorApi)(void)NO_EXCEPTION;                                           // 291
  void* reserved_292_to_293[2];
  const OrtCompileApi*(ORT_API_CALL* GetCompileApi)(void)NO_EXCEPTION;  // 294
  void* reserved_295_to_300[6];
  OrtStatus*(ORT_API_CALL* RegisterExecutionProviderLibrary)(OrtEnv* env, const char* registration_name,
                                                             const ORTCHAR_T* path)NO_EXCEPTION;                         // 301
  OrtStatus*(ORT_API_CALL* UnregisterExecutionProviderLibrary)(OrtEnv* env, const char* registration_name)NO_EXCEPTION;  // 302
  OrtStatus*(ORT_API_CALL* GetEpDevices)(const OrtEnv* env, const OrtEpDevice* const** devices,
                                         size_t* count)NO_EXCEPTION;  // 303
  OrtStatus*(ORT_API_CALL* SessionOptionsAppendExecutionProvider_V2)(OrtSessionOptions* options, OrtEnv* env,
                                                                     const OrtEpDevice* const* devices, size_t count,
                                                                     const char* const* option_keys,
                                                                     const char* const* option_values,
                                                                     size_t option_count)NO_EXCEPTION;  // 304
  void* reserved_305_to_306[2];
  OrtHardwareDeviceType(ORT_API_CALL* HardwareDevice_Type)(const OrtHardwareDevice* device) NO_EXCEPTION;  // 307
  void* reserved_308_to_311[4];
  const char*(ORT_API_CALL* EpDevice_EpName)(const OrtEpDevice* device)NO_EXCEPTION;  // 312
  void* reserved_313_to_316[4];
  const OrtEpApi*(ORT_API_CALL* GetEpApi)(void)NO_EXCEPTION;  // 317
  void* reserved_318_to_325[8];
  OrtStatus*(ORT_API_CALL* ValueInfo_GetInitializerValue)(const OrtValueInfo* value, const OrtValue** out)NO_EXCEPTION;  // 326
  void* reserved_327_to_330[4];
  OrtStatus*(ORT_API_CALL* ValueInfo_IsConstantInitializer)(const OrtValueInfo* value, bool* out)NO_EXCEPTION;  // 331
  void* reserved_332[1];
  OrtStatus*(ORT_API_CALL* Graph_GetName)(const OrtGraph* graph, const char** name)NO_EXCEPTION;                  // 333
  OrtStatus*(ORT_API_CALL* Graph_GetModelPath)(const OrtGraph* graph, const ORTCHAR_T** model_path)NO_EXCEPTION;  // 334
  void* reserved_335_to_343[9];
  OrtStatus*(ORT_API_CALL* Graph_GetNumNodes)(const OrtGraph* graph, size_t* count)NO_EXCEPTION;                     // 344
  OrtStatus*(ORT_API_CALL* Graph_GetNodes)(const OrtGraph* graph, const OrtNode** nodes, size_t count)NO_EXCEPTION;  // 345
  void* reserved_346_to_348[3];
  OrtStatus*(ORT_API_CALL* Node_GetName)(const OrtNode* node, const char** name)NO_EXCEPTION;             // 349
  OrtStatus*(ORT_API_CALL* Node_GetOperatorType)(const OrtNode* node, const char** op_type)NO_EXCEPTION;  // 350
  OrtStatus*(ORT_API_CALL* Node_GetDomain)(const OrtNode* node, const char** domain)NO_EXCEPTION;         // 351
  void* reserved_352[1];
  OrtStatus*(ORT_API_CALL* Node_GetNumInputs)(const OrtNode* node, size_t* count)NO_EXCEPTION;                             // 353
  OrtStatus*(ORT_API_CALL* Node_GetInputs)(const OrtNode* node, const OrtValueInfo** inputs, size_t count)NO_EXCEPTION;    // 354
  OrtStatus*(ORT_API_CALL* Node_GetNumOutputs)(const OrtNode* node, size_t* count)NO_EXCEPTION;                            // 355
  OrtStatus*(ORT_API_CALL* Node_GetOutputs)(const OrtNode* node, const OrtValueInfo** outputs, size_t count)NO_EXCEPTION;  // 356
  void* reserved_357_to_358[2];
  OrtStatus*(ORT_API_CALL* Node_GetNumAttributes)(const OrtNode* node, size_t* count)NO_EXCEPTION;  // 359
  OrtStatus*(ORT_API_CALL* Node_GetAttributes)(const OrtNode* node, const OrtOpAttr** attributes,
                                               size_t count)NO_EXCEPTION;  // 360
  OrtStatus*(ORT_API_CALL* Node_GetAttributeByName)(const OrtNode* node, const char* name,
                                                    const OrtOpAttr** attribute)NO_EXCEPTION;  // 361
  void* reserved_362[1];
  OrtStatus*(ORT_API_CALL* OpAttr_GetType)(const OrtOpAttr* attribute, OrtOpAttrType* type)NO_EXCEPTION;  // 363
  OrtStatus*(ORT_API_CALL* OpAttr_GetName)(const OrtOpAttr* attribute, const char** name)NO_EXCEPTION;    // 364
  void* reserved_365_to_406[42];
  OrtStatus*(ORT_API_CALL* Session_GetEpGraphAssignmentInfo)(const OrtSession* session,
                                                             const OrtEpAssignedSubgraph* const** subgraphs,
                                                             size_t* count)NO_EXCEPTION;  // 407
  OrtStatus*(ORT_API_CALL* EpAssignedSubgraph_GetEpName)(const OrtEpAssignedSubgraph* subgraph,
                                                         const char** name)NO_EXCEPTION;  // 408
  void* reserved_409_to_421[13];
  OrtExperimentalFnPtr(ORT_API_CALL* GetExperimentalFunction)(const char* name) NO_EXCEPTION;  // 422, ONNX Runtime >= 1.28
  void* reserved_423_to_425[3];
  OrtStatus*(ORT_API_CALL* SessionOptionsSetEpContextDataReadFunc)(OrtSessionOptions* options, OrtReadNamedBufferFunc read_func,
                                                                   void* state)NO_EXCEPTION;  // 426, ONNX Runtime >= 1.31
};

struct OrtEpApi {
  OrtStatus*(ORT_API_CALL* CreateEpDevice)(OrtEpFactory* factory, const OrtHardwareDevice* device,
                                           const OrtKeyValuePairs* metadata, const OrtKeyValuePairs* options,
                                           OrtEpDevice** out)NO_EXCEPTION;  // 0
  void* reserved_1[1];
  OrtStatus*(ORT_API_CALL* EpGraphSupportInfo_AddNodesToFuse)(OrtEpGraphSupportInfo* info, const OrtNode* const* nodes,
                                                              size_t count,
                                                              const OrtNodeFusionOptions* options)NO_EXCEPTION;  // 2
  void* reserved_3_to_73[71];
  OrtStatus*(ORT_API_CALL* SessionOptionsGetEpContextConfig)(const OrtSessionOptions* options,
                                                             OrtEpContextConfig** config)NO_EXCEPTION;  // 74
  void(ORT_API_CALL* ReleaseEpContextConfig)(OrtEpContextConfig* config) NO_EXCEPTION;                  // 75
  OrtStatus*(ORT_API_CALL* EpContextConfigGetEpContextDataReadFunc)(const OrtEpContextConfig* config,
                                                                    OrtReadNamedBufferFunc* read_func,
                                                                    void** state)NO_EXCEPTION;  // 76
  OrtStatus*(ORT_API_CALL* EpContextConfigGetEpContextDataWriteFunc)(const OrtEpContextConfig* config,
                                                                     OrtWriteNamedBufferFunc* write_func,
                                                                     void** state)NO_EXCEPTION;  // 77
};

// Compiling a model to an EPContext model.
struct OrtCompileApi {
  void(ORT_API_CALL* ReleaseModelCompilationOptions)(OrtModelCompilationOptions* options) NO_EXCEPTION;  // 0
  OrtStatus*(ORT_API_CALL* CreateModelCompilationOptionsFromSessionOptions)(const OrtEnv* env, const OrtSessionOptions* options,
                                                                            OrtModelCompilationOptions** out)NO_EXCEPTION;  // 1
  OrtStatus*(ORT_API_CALL* ModelCompilationOptions_SetInputModelPath)(OrtModelCompilationOptions* options,
                                                                      const ORTCHAR_T* path)NO_EXCEPTION;  // 2
  OrtStatus*(ORT_API_CALL* ModelCompilationOptions_SetInputModelFromBuffer)(OrtModelCompilationOptions* options, const void* data,
                                                                            size_t size)NO_EXCEPTION;  // 3
  OrtStatus*(ORT_API_CALL* ModelCompilationOptions_SetOutputModelPath)(OrtModelCompilationOptions* options,
                                                                       const ORTCHAR_T* path)NO_EXCEPTION;  // 4
  void* reserved_5[1];
  OrtStatus*(ORT_API_CALL* ModelCompilationOptions_SetOutputModelBuffer)(OrtModelCompilationOptions* options,
                                                                         OrtAllocator* allocator, void** buffer,
                                                                         size_t* size)NO_EXCEPTION;  // 6
  OrtStatus*(ORT_API_CALL* ModelCompilationOptions_SetEpContextEmbedMode)(OrtModelCompilationOptions* options,
                                                                          bool embed)NO_EXCEPTION;                   // 7
  OrtStatus*(ORT_API_CALL* CompileModel)(const OrtEnv* env, const OrtModelCompilationOptions* options)NO_EXCEPTION;  // 8
  OrtStatus*(ORT_API_CALL* ModelCompilationOptions_SetFlags)(OrtModelCompilationOptions* options,
                                                             uint32_t flags)NO_EXCEPTION;  // 9
  void* reserved_10_to_15[6];
  OrtStatus*(ORT_API_CALL* ModelCompilationOptions_SetEpContextDataWriteFunc)(OrtModelCompilationOptions* options,
                                                                              OrtWriteNamedBufferFunc write_func, void* state)
      NO_EXCEPTION;  // 16, ONNX Runtime >= 1.31
};

// Making the nodes of a compiled model.
struct OrtModelEditorApi {
  void* reserved_0_to_5[6];
  // Owns the attributes from now on.
  OrtStatus*(ORT_API_CALL* CreateNode)(const char* operator_name, const char* domain_name, const char* node_name,
                                       const char* const* input_names, size_t input_count, const char* const* output_names,
                                       size_t output_count, OrtOpAttr** attributes, size_t attribute_count,
                                       OrtNode** node)NO_EXCEPTION;  // 6
};

typedef struct OrtApiBase {
  const OrtApi*(ORT_API_CALL* GetApi)(uint32_t version)NO_EXCEPTION;
  const char*(ORT_API_CALL* GetVersionString)(void)NO_EXCEPTION;
} OrtApiBase;

#if defined(__cplusplus)
}  // extern "C"

#define EPCTX_ASSERT_SLOT(table, member, slot) \
  static_assert(offsetof(table, member) == (slot) * sizeof(void*), #table "::" #member " must be slot " #slot)
EPCTX_ASSERT_SLOT(OrtApi, CreateStatus, 0);
EPCTX_ASSERT_SLOT(OrtApi, GetErrorCode, 1);
EPCTX_ASSERT_SLOT(OrtApi, GetErrorMessage, 2);
EPCTX_ASSERT_SLOT(OrtApi, CreateEnv, 3);
EPCTX_ASSERT_SLOT(OrtApi, CreateSession, 7);
EPCTX_ASSERT_SLOT(OrtApi, CreateSessionFromArray, 8);
EPCTX_ASSERT_SLOT(OrtApi, Run, 9);
EPCTX_ASSERT_SLOT(OrtApi, CreateSessionOptions, 10);
EPCTX_ASSERT_SLOT(OrtApi, SetSessionLogSeverityLevel, 22);
EPCTX_ASSERT_SLOT(OrtApi, SetSessionGraphOptimizationLevel, 23);
EPCTX_ASSERT_SLOT(OrtApi, SetIntraOpNumThreads, 24);
EPCTX_ASSERT_SLOT(OrtApi, SetInterOpNumThreads, 25);
EPCTX_ASSERT_SLOT(OrtApi, SessionGetInputCount, 30);
EPCTX_ASSERT_SLOT(OrtApi, SessionGetOutputCount, 31);
EPCTX_ASSERT_SLOT(OrtApi, SessionGetInputTypeInfo, 33);
EPCTX_ASSERT_SLOT(OrtApi, SessionGetInputName, 36);
EPCTX_ASSERT_SLOT(OrtApi, SessionGetOutputName, 37);
EPCTX_ASSERT_SLOT(OrtApi, CreateTensorWithDataAsOrtValue, 49);
EPCTX_ASSERT_SLOT(OrtApi, GetTensorMutableData, 51);
EPCTX_ASSERT_SLOT(OrtApi, CastTypeInfoToTensorInfo, 55);
EPCTX_ASSERT_SLOT(OrtApi, GetTensorElementType, 60);
EPCTX_ASSERT_SLOT(OrtApi, GetDimensionsCount, 61);
EPCTX_ASSERT_SLOT(OrtApi, GetDimensions, 62);
EPCTX_ASSERT_SLOT(OrtApi, GetTensorShapeElementCount, 64);
EPCTX_ASSERT_SLOT(OrtApi, GetTensorTypeAndShape, 65);
EPCTX_ASSERT_SLOT(OrtApi, CreateCpuMemoryInfo, 69);
EPCTX_ASSERT_SLOT(OrtApi, AllocatorAlloc, 75);
EPCTX_ASSERT_SLOT(OrtApi, AllocatorFree, 76);
EPCTX_ASSERT_SLOT(OrtApi, AllocatorGetInfo, 77);
EPCTX_ASSERT_SLOT(OrtApi, GetAllocatorWithDefaultOptions, 78);
EPCTX_ASSERT_SLOT(OrtApi, KernelContext_GetInput, 90);
EPCTX_ASSERT_SLOT(OrtApi, KernelContext_GetOutput, 91);
EPCTX_ASSERT_SLOT(OrtApi, ReleaseEnv, 92);
EPCTX_ASSERT_SLOT(OrtApi, ReleaseStatus, 93);
EPCTX_ASSERT_SLOT(OrtApi, ReleaseMemoryInfo, 94);
EPCTX_ASSERT_SLOT(OrtApi, ReleaseSession, 95);
EPCTX_ASSERT_SLOT(OrtApi, ReleaseValue, 96);
EPCTX_ASSERT_SLOT(OrtApi, ReleaseTypeInfo, 98);
EPCTX_ASSERT_SLOT(OrtApi, ReleaseTensorTypeAndShapeInfo, 99);
EPCTX_ASSERT_SLOT(OrtApi, ReleaseSessionOptions, 100);
EPCTX_ASSERT_SLOT(OrtApi, AddSessionConfigEntry, 130);
EPCTX_ASSERT_SLOT(OrtApi, ReleaseAllocator, 132);
EPCTX_ASSERT_SLOT(OrtApi, CreateOpAttr, 211);
EPCTX_ASSERT_SLOT(OrtApi, ReleaseOpAttr, 212);
EPCTX_ASSERT_SLOT(OrtApi, GetSessionConfigEntry, 238);
EPCTX_ASSERT_SLOT(OrtApi, ReadOpAttr, 272);
EPCTX_ASSERT_SLOT(OrtApi, ReleaseNode, 286);
EPCTX_ASSERT_SLOT(OrtApi, GetValueInfoName, 289);
EPCTX_ASSERT_SLOT(OrtApi, GetValueInfoTypeInfo, 290);
EPCTX_ASSERT_SLOT(OrtApi, GetModelEditorApi, 291);
EPCTX_ASSERT_SLOT(OrtApi, GetCompileApi, 294);
EPCTX_ASSERT_SLOT(OrtApi, RegisterExecutionProviderLibrary, 301);
EPCTX_ASSERT_SLOT(OrtApi, UnregisterExecutionProviderLibrary, 302);
EPCTX_ASSERT_SLOT(OrtApi, GetEpDevices, 303);
EPCTX_ASSERT_SLOT(OrtApi, SessionOptionsAppendExecutionProvider_V2, 304);
EPCTX_ASSERT_SLOT(OrtApi, HardwareDevice_Type, 307);
EPCTX_ASSERT_SLOT(OrtApi, EpDevice_EpName, 312);
EPCTX_ASSERT_SLOT(OrtApi, GetEpApi, 317);
EPCTX_ASSERT_SLOT(OrtApi, ValueInfo_GetInitializerValue, 326);
EPCTX_ASSERT_SLOT(OrtApi, ValueInfo_IsConstantInitializer, 331);
EPCTX_ASSERT_SLOT(OrtApi, Graph_GetName, 333);
EPCTX_ASSERT_SLOT(OrtApi, Graph_GetModelPath, 334);
EPCTX_ASSERT_SLOT(OrtApi, Graph_GetNumNodes, 344);
EPCTX_ASSERT_SLOT(OrtApi, Graph_GetNodes, 345);
EPCTX_ASSERT_SLOT(OrtApi, Node_GetName, 349);
EPCTX_ASSERT_SLOT(OrtApi, Node_GetOperatorType, 350);
EPCTX_ASSERT_SLOT(OrtApi, Node_GetDomain, 351);
EPCTX_ASSERT_SLOT(OrtApi, Node_GetNumInputs, 353);
EPCTX_ASSERT_SLOT(OrtApi, Node_GetInputs, 354);
EPCTX_ASSERT_SLOT(OrtApi, Node_GetNumOutputs, 355);
EPCTX_ASSERT_SLOT(OrtApi, Node_GetOutputs, 356);
EPCTX_ASSERT_SLOT(OrtApi, Node_GetNumAttributes, 359);
EPCTX_ASSERT_SLOT(OrtApi, Node_GetAttributes, 360);
EPCTX_ASSERT_SLOT(OrtApi, Node_GetAttributeByName, 361);
EPCTX_ASSERT_SLOT(OrtApi, OpAttr_GetType, 363);
EPCTX_ASSERT_SLOT(OrtApi, OpAttr_GetName, 364);
EPCTX_ASSERT_SLOT(OrtApi, Session_GetEpGraphAssignmentInfo, 407);
EPCTX_ASSERT_SLOT(OrtApi, EpAssignedSubgraph_GetEpName, 408);
EPCTX_ASSERT_SLOT(OrtApi, GetExperimentalFunction, 422);
EPCTX_ASSERT_SLOT(OrtApi, SessionOptionsSetEpContextDataReadFunc, 426);
EPCTX_ASSERT_SLOT(OrtEpApi, CreateEpDevice, 0);
EPCTX_ASSERT_SLOT(OrtEpApi, EpGraphSupportInfo_AddNodesToFuse, 2);
EPCTX_ASSERT_SLOT(OrtEpApi, SessionOptionsGetEpContextConfig, 74);
EPCTX_ASSERT_SLOT(OrtEpApi, ReleaseEpContextConfig, 75);
EPCTX_ASSERT_SLOT(OrtEpApi, EpContextConfigGetEpContextDataReadFunc, 76);
EPCTX_ASSERT_SLOT(OrtEpApi, EpContextConfigGetEpContextDataWriteFunc, 77);
EPCTX_ASSERT_SLOT(OrtCompileApi, ReleaseModelCompilationOptions, 0);
EPCTX_ASSERT_SLOT(OrtCompileApi, CreateModelCompilationOptionsFromSessionOptions, 1);
EPCTX_ASSERT_SLOT(OrtCompileApi, ModelCompilationOptions_SetInputModelPath, 2);
EPCTX_ASSERT_SLOT(OrtCompileApi, ModelCompilationOptions_SetInputModelFromBuffer, 3);
EPCTX_ASSERT_SLOT(OrtCompileApi, ModelCompilationOptions_SetOutputModelPath, 4);
EPCTX_ASSERT_SLOT(OrtCompileApi, ModelCompilationOptions_SetOutputModelBuffer, 6);
EPCTX_ASSERT_SLOT(OrtCompileApi, ModelCompilationOptions_SetEpContextEmbedMode, 7);
EPCTX_ASSERT_SLOT(OrtCompileApi, CompileModel, 8);
EPCTX_ASSERT_SLOT(OrtCompileApi, ModelCompilationOptions_SetFlags, 9);
EPCTX_ASSERT_SLOT(OrtCompileApi, ModelCompilationOptions_SetEpContextDataWriteFunc, 16);
EPCTX_ASSERT_SLOT(OrtModelEditorApi, CreateNode, 6);
static_assert(offsetof(OrtAllocator, Alloc) == sizeof(void*) && offsetof(OrtAllocator, Free) == 2 * sizeof(void*),
              "OrtAllocator is a version, then its functions");
#undef EPCTX_ASSERT_SLOT
#endif
