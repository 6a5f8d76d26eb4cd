// Our own view of what a plugin execution provider implements: its factory, the provider, and the kernels that it compiles.
//
// ONNX Runtime reads of each structure what its `ort_version_supported` says that it has, so one layout serves every version.
// Members that are not declared are reserved and NULL, which stands for "not implemented".
#pragma once

#include "onnxruntime_c_api.h"

#if defined(__cplusplus)
extern "C" {
#endif

typedef struct OrtEp OrtEp;
typedef struct OrtNodeComputeInfo OrtNodeComputeInfo;
typedef struct OrtNodeComputeContext OrtNodeComputeContext;
typedef struct OrtDataTransferImpl OrtDataTransferImpl;

// How nodes are fused: whether the fused node goes without the constants that it had as inputs.
struct OrtNodeFusionOptions {
  uint32_t ort_version_supported;
  bool drop_constant_initializers;
};

// Flags of OrtEp::GetEpContextDataCallbackSupport.
typedef enum OrtEpContextDataSupport {
  OrtEpContextDataSupport_READ = 1,
  OrtEpContextDataSupport_WRITE = 2,
} OrtEpContextDataSupport;

// The computation of one compiled node. A state is made for each session, and given back when it ends.
struct OrtNodeComputeInfo {
  uint32_t ort_version_supported;
  OrtStatus*(ORT_API_CALL* CreateState)(OrtNodeComputeInfo* self, OrtNodeComputeContext* context, void** state);
  OrtStatus*(ORT_API_CALL* Compute)(OrtNodeComputeInfo* self, void* state, OrtKernelContext* context);
  void(ORT_API_CALL* ReleaseState)(OrtNodeComputeInfo* self, void* state);
};

// The provider of one session.
struct OrtEp {
  uint32_t ort_version_supported;
  const char*(ORT_API_CALL* GetName)(const OrtEp* self);  // 1
  OrtStatus*(ORT_API_CALL* GetCapability)(OrtEp* self, const OrtGraph* graph,
                                          OrtEpGraphSupportInfo* support_info);  // 2
  OrtStatus*(ORT_API_CALL* Compile)(OrtEp* self, const OrtGraph** graphs, const OrtNode** fused_nodes, size_t count,
                                    OrtNodeComputeInfo** compute_infos,
                                    OrtNode** ep_context_nodes);  // 3
  void(ORT_API_CALL* ReleaseNodeComputeInfos)(OrtEp* self, OrtNodeComputeInfo** compute_infos,
                                              size_t count);  // 4
  void* reserved_5_to_25[21];
  // Which of the application's callbacks it uses. Asked by ONNX Runtime >= 1.31 of providers built for that.
  OrtStatus*(ORT_API_CALL* GetEpContextDataCallbackSupport)(const OrtEp* self, uint32_t* flags);  // 26
};

// Makes providers. CreateDataTransfer and IsStreamAware must be there: without them the registration crashes.
struct OrtEpFactory {
  uint32_t ort_version_supported;
  const char*(ORT_API_CALL* GetName)(const OrtEpFactory* self);    // 1
  const char*(ORT_API_CALL* GetVendor)(const OrtEpFactory* self);  // 2
  OrtStatus*(ORT_API_CALL* GetSupportedDevices)(OrtEpFactory* self, const OrtHardwareDevice* const* devices, size_t count,
                                                OrtEpDevice** ep_devices, size_t room,
                                                size_t* ep_device_count);  // 3
  OrtStatus*(ORT_API_CALL* CreateEp)(OrtEpFactory* self, const OrtHardwareDevice* const* devices,
                                     const OrtKeyValuePairs* const* metadata, size_t count, const OrtSessionOptions* options,
                                     const OrtLogger* logger, OrtEp** ep);  // 4
  void(ORT_API_CALL* ReleaseEp)(OrtEpFactory* self, OrtEp* ep);             // 5
  uint32_t(ORT_API_CALL* GetVendorId)(const OrtEpFactory* self);            // 6
  const char*(ORT_API_CALL* GetVersion)(const OrtEpFactory* self);          // 7
  void* reserved_8_to_10[3];
  OrtStatus*(ORT_API_CALL* CreateDataTransfer)(OrtEpFactory* self, OrtDataTransferImpl** transfer);  // 11
  bool(ORT_API_CALL* IsStreamAware)(const OrtEpFactory* self);                                       // 12
  void* reserved_13_to_31[19];
};

#if defined(__cplusplus)
}  // extern "C"

#define EPCTX_ASSERT_WORD(table, member, word) \
  static_assert(offsetof(table, member) == (word) * sizeof(void*), #table "::" #member " must be word " #word)
EPCTX_ASSERT_WORD(OrtNodeComputeInfo, CreateState, 1);
EPCTX_ASSERT_WORD(OrtNodeComputeInfo, Compute, 2);
EPCTX_ASSERT_WORD(OrtNodeComputeInfo, ReleaseState, 3);
EPCTX_ASSERT_WORD(OrtEp, GetName, 1);
EPCTX_ASSERT_WORD(OrtEp, GetCapability, 2);
EPCTX_ASSERT_WORD(OrtEp, Compile, 3);
EPCTX_ASSERT_WORD(OrtEp, ReleaseNodeComputeInfos, 4);
EPCTX_ASSERT_WORD(OrtEp, GetEpContextDataCallbackSupport, 26);
EPCTX_ASSERT_WORD(OrtEpFactory, GetName, 1);
EPCTX_ASSERT_WORD(OrtEpFactory, GetVendor, 2);
EPCTX_ASSERT_WORD(OrtEpFactory, GetSupportedDevices, 3);
EPCTX_ASSERT_WORD(OrtEpFactory, CreateEp, 4);
EPCTX_ASSERT_WORD(OrtEpFactory, ReleaseEp, 5);
EPCTX_ASSERT_WORD(OrtEpFactory, GetVendorId, 6);
EPCTX_ASSERT_WORD(OrtEpFactory, GetVersion, 7);
EPCTX_ASSERT_WORD(OrtEpFactory, CreateDataTransfer, 11);
EPCTX_ASSERT_WORD(OrtEpFactory, IsStreamAware, 12);
#undef EPCTX_ASSERT_WORD
#endif
