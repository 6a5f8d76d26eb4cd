// A helper written from the document's signatures alone: containment by std::filesystem, no allocator of the caller, no overload
// with a fallback name. Includes what the document names.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "onnxruntime_experimental_cxx_api.h"
#include "plugin_ep_utils.h"

namespace ep_context_data_utils {

class EpContextData {
 public:
  const char* data() const noexcept { return bytes_.data(); }
  size_t size() const noexcept { return bytes_.size(); }
  bool empty() const noexcept { return bytes_.empty(); }
  std::vector<char> bytes_;
};

inline OrtStatus* Resolve(const OrtApi& api, const char* name, const OrtGraph* graph, std::filesystem::path& path) {
  RETURN_IF(name == nullptr || name[0] == '\0', api, "no name");
  path = name;
  if (graph == nullptr) return nullptr;
  const ORTCHAR_T* model = nullptr;
  RETURN_IF_ERROR(api.Graph_GetModelPath(graph, &model));
  path = std::filesystem::path(model).parent_path() / path;
  return nullptr;
}

inline OrtStatus* ReadEpContextData(const OrtApi& api, const OrtEpContextConfig* config, const char* file_name,
                                    const OrtGraph* graph, EpContextData& out) {
  out.bytes_.clear();
  if (config != nullptr) {
    Ort::Experimental::EpContextConfig borrowed(nullptr);
    auto* get = Ort::Experimental::Get_OrtEpApi_EpContextConfig_GetEpContextDataReadFunc_SinceV28_FnOrThrow(&api);
    OrtReadNamedBufferFunc read = nullptr;
    void* state = nullptr;
    RETURN_IF_ERROR(get(config, &read, &state));
  }
  std::filesystem::path path;
  RETURN_IF_ERROR(Resolve(api, file_name, graph, path));
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    const Ort::Status status("cannot be opened", ORT_FAIL);
    return api.CreateStatus(status.GetErrorCode(), status.GetErrorMessage().c_str());
  }
  out.bytes_.assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  return nullptr;
}

inline OrtStatus* WriteEpContextDataWithFileFallback(const OrtApi& api, const OrtEpContextConfig*, const char* file_name,
                                                     const OrtGraph* graph, const void* buffer, size_t buffer_size) {
  std::filesystem::path path;
  RETURN_IF_ERROR(Resolve(api, file_name, graph, path));
  std::ofstream file(path, std::ios::binary);
  file.write(static_cast<const char*>(buffer), static_cast<std::streamsize>(buffer_size));
  file.close();
  RETURN_IF(!file, api, "cannot be written");
  return nullptr;
}

}  // namespace ep_context_data_utils
