// What Acme's execution provider reads and writes EPContext data with: the helper that comes with epctx, taken over, and Acme's
// own idea of what lies in a directory.
#pragma once

#include "ep_context_data.h"

namespace acme {

using epctx_reference::EpContextData;

// Whether what is open at `descriptor` lies in the directory that is open at `base`.
inline bool InDirectory(const epctx_reference::FileRequest&, int base, int descriptor) {
  const std::string directory = epctx_reference::linux_files::PathOf(base);
  const std::string file = epctx_reference::linux_files::PathOf(descriptor);
  return !directory.empty() && file.compare(0, directory.size(), directory) == 0;
}

inline const epctx_reference::Defences& Defences() {
  static const epctx_reference::Defences defences = [] {
    epctx_reference::Defences made;
    made.contained = InDirectory;
    return made;
  }();
  return defences;
}

inline OrtStatus* ReadEpContextData(const OrtApi& api, const OrtEpContextConfig* config, const char* file_name,
                                    const OrtGraph* graph, EpContextData& out, OrtAllocator* allocator = nullptr) {
  return epctx_reference::ReadEpContextData(api, config, file_name, graph, out, allocator, Defences());
}

inline OrtStatus* WriteEpContextDataWithFileFallback(const OrtApi& api, const OrtEpContextConfig* config, const char* file_name,
                                                     const OrtGraph* graph, const void* buffer, size_t buffer_size) {
  return epctx_reference::WriteEpContextDataWithFileFallback(api, config, file_name, graph, buffer, buffer_size, Defences());
}

}  // namespace acme
