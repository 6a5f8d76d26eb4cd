// Our own view of ONNX Runtime's C API: the names and the layout that an EPContext helper needs, and nothing else.
//
// A vendor's header compiles against this when no ONNX Runtime include directory is given. The tables have the layout of the
// real ones (positions in them are append-only), so what is compiled here runs against a real OrtApi. Slots that are not
// declared are reserved; every declared one is asserted at the end of this file.
#pragma once

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

typedef struct OrtStatus OrtStatus;
typedef struct OrtGraph OrtGraph;
typedef struct OrtNode OrtNode;
typedef struct OrtOpAttr OrtOpAttr;
typedef struct OrtSessionOptions OrtSessionOptions;
typedef struct OrtModelCompilationOptions OrtModelCompilationOptions;
typedef struct OrtEpContextConfig OrtEpContextConfig;
typedef struct OrtMemoryInfo OrtMemoryInfo;
typedef struct OrtApi OrtApi;
typedef struct OrtEpApi OrtEpApi;
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
  OrtStatus*(ORT_API_CALL* CreateStatus)(OrtErrorCode code,
                                         const char* msg)NO_EXCEPTION;              // 0
  OrtErrorCode(ORT_API_CALL* GetErrorCode)(const OrtStatus* status) NO_EXCEPTION;   // 1
  const char*(ORT_API_CALL* GetErrorMessage)(const OrtStatus* status)NO_EXCEPTION;  // 2
  void* reserved_3_to_74[72];
  OrtStatus*(ORT_API_CALL* AllocatorAlloc)(OrtAllocator* allocator, size_t size,
                                           void** out)NO_EXCEPTION;  // 75
  OrtStatus*(ORT_API_CALL* AllocatorFree)(OrtAllocator* allocator,
                                          void* p)NO_EXCEPTION;  // 76
  OrtStatus*(ORT_API_CALL* AllocatorGetInfo)(const OrtAllocator* allocator,
                                             const OrtMemoryInfo** out)NO_EXCEPTION;         // 77
  OrtStatus*(ORT_API_CALL* GetAllocatorWithDefaultOptions)(OrtAllocator** out)NO_EXCEPTION;  // 78
  void* reserved_79_to_92[14];
  void(ORT_API_CALL* ReleaseStatus)(OrtStatus* status) NO_EXCEPTION;  // 93
  void* reserved_94_to_131[38];
  void(ORT_API_CALL* ReleaseAllocator)(OrtAllocator* allocator) NO_EXCEPTION;  // 132
  void* reserved_133_to_271[139];
  OrtStatus*(ORT_API_CALL* ReadOpAttr)(const OrtOpAttr* attribute, OrtOpAttrType type, void* data, size_t len,
                                       size_t* out)NO_EXCEPTION;  // 272
  void* reserved_273_to_316[44];
  const OrtEpApi*(ORT_API_CALL* GetEpApi)(void)NO_EXCEPTION;  // 317
  void* reserved_318_to_332[15];
  OrtStatus*(ORT_API_CALL* Graph_GetName)(const OrtGraph* graph, const char** name)NO_EXCEPTION;                  // 333
  OrtStatus*(ORT_API_CALL* Graph_GetModelPath)(const OrtGraph* graph, const ORTCHAR_T** model_path)NO_EXCEPTION;  // 334
  void* reserved_335_to_343[9];
  OrtStatus*(ORT_API_CALL* Graph_GetNumNodes)(const OrtGraph* graph, size_t* count)NO_EXCEPTION;  // 344
  OrtStatus*(ORT_API_CALL* Graph_GetNodes)(const OrtGraph* graph, const OrtNode** nodes,
                                           size_t count)NO_EXCEPTION;  // 345
  void* reserved_346_to_348[3];
  OrtStatus*(ORT_API_CALL* Node_GetName)(const OrtNode* node,
                                         const char** name)NO_EXCEPTION;                                  // 349
  OrtStatus*(ORT_API_CALL* Node_GetOperatorType)(const OrtNode* node, const char** op_type)NO_EXCEPTION;  // 350
  OrtStatus*(ORT_API_CALL* Node_GetDomain)(const OrtNode* node, const char** domain)NO_EXCEPTION;         // 351
  void* reserved_352_to_358[7];
  OrtStatus*(ORT_API_CALL* Node_GetNumAttributes)(const OrtNode* node, size_t* count)NO_EXCEPTION;  // 359
  OrtStatus*(ORT_API_CALL* Node_GetAttributes)(const OrtNode* node, const OrtOpAttr** attributes,
                                               size_t count)NO_EXCEPTION;  // 360
  OrtStatus*(ORT_API_CALL* Node_GetAttributeByName)(const OrtNode* node, const char* name,
                                                    const OrtOpAttr** attribute)NO_EXCEPTION;  // 361
  void* reserved_362[1];
  OrtStatus*(ORT_API_CALL* OpAttr_GetType)(const OrtOpAttr* attribute, OrtOpAttrType* type)NO_EXCEPTION;  // 363
  OrtStatus*(ORT_API_CALL* OpAttr_GetName)(const OrtOpAttr* attribute, const char** name)NO_EXCEPTION;    // 364
  void* reserved_365_to_421[57];
  OrtExperimentalFnPtr(ORT_API_CALL* GetExperimentalFunction)(const char* name) NO_EXCEPTION;  // 422, ONNX Runtime >= 1.28
};

struct OrtEpApi {
  void* reserved_0_to_73[74];
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
EPCTX_ASSERT_SLOT(OrtApi, AllocatorAlloc, 75);
EPCTX_ASSERT_SLOT(OrtApi, AllocatorFree, 76);
EPCTX_ASSERT_SLOT(OrtApi, AllocatorGetInfo, 77);
EPCTX_ASSERT_SLOT(OrtApi, GetAllocatorWithDefaultOptions, 78);
EPCTX_ASSERT_SLOT(OrtApi, ReleaseStatus, 93);
EPCTX_ASSERT_SLOT(OrtApi, ReleaseAllocator, 132);
EPCTX_ASSERT_SLOT(OrtApi, ReadOpAttr, 272);
EPCTX_ASSERT_SLOT(OrtApi, GetEpApi, 317);
EPCTX_ASSERT_SLOT(OrtApi, Graph_GetName, 333);
EPCTX_ASSERT_SLOT(OrtApi, Graph_GetModelPath, 334);
EPCTX_ASSERT_SLOT(OrtApi, Graph_GetNumNodes, 344);
EPCTX_ASSERT_SLOT(OrtApi, Graph_GetNodes, 345);
EPCTX_ASSERT_SLOT(OrtApi, Node_GetName, 349);
EPCTX_ASSERT_SLOT(OrtApi, Node_GetOperatorType, 350);
EPCTX_ASSERT_SLOT(OrtApi, Node_GetDomain, 351);
EPCTX_ASSERT_SLOT(OrtApi, Node_GetNumAttributes, 359);
EPCTX_ASSERT_SLOT(OrtApi, Node_GetAttributes, 360);
EPCTX_ASSERT_SLOT(OrtApi, Node_GetAttributeByName, 361);
EPCTX_ASSERT_SLOT(OrtApi, OpAttr_GetType, 363);
EPCTX_ASSERT_SLOT(OrtApi, OpAttr_GetName, 364);
EPCTX_ASSERT_SLOT(OrtApi, GetExperimentalFunction, 422);
EPCTX_ASSERT_SLOT(OrtEpApi, SessionOptionsGetEpContextConfig, 74);
EPCTX_ASSERT_SLOT(OrtEpApi, ReleaseEpContextConfig, 75);
EPCTX_ASSERT_SLOT(OrtEpApi, EpContextConfigGetEpContextDataReadFunc, 76);
EPCTX_ASSERT_SLOT(OrtEpApi, EpContextConfigGetEpContextDataWriteFunc, 77);
static_assert(offsetof(OrtAllocator, Alloc) == sizeof(void*) && offsetof(OrtAllocator, Free) == 2 * sizeof(void*),
              "OrtAllocator is a version, then its functions");
#undef EPCTX_ASSERT_SLOT
#endif
