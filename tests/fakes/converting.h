// The reference helper of a vendor who also looks into names with a notation of their own, ut8:NAME with %XX in it, and gets a
// length wrong there: a character of several bytes that the end cuts off ends the process. Each name is otherwise taken as it is.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "reference/ep_context_data.h"

namespace converting {

using epctx_reference::EpContextData;

inline int Digit(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; }

inline std::string Unescaped(std::string_view text) {
  std::string bytes;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && text.size() - i > 2 && Digit(text[i + 1]) >= 0 && Digit(text[i + 2]) >= 0) {
      bytes += static_cast<char>(Digit(text[i + 1]) * 16 + Digit(text[i + 2]));
      i += 2;
    } else {
      bytes += text[i];
    }
  }
  return bytes;
}

inline size_t CountCharacters(const std::string& text) noexcept {
  size_t count = 0;
  for (size_t i = 0; i < text.size(); ++count) {
    const auto lead = static_cast<unsigned char>(text.at(i));
    const size_t size = lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (size > 1) text.at(i + size - 1);  // throws where no exception may leave
    i += size;
  }
  return count;
}

inline std::string Checked(std::string_view name) {
  constexpr uint32_t kTag = 0x3a387475;  // "ut8:"
  uint32_t tag = 0;
  if (name.size() > sizeof tag) std::memcpy(&tag, name.data(), sizeof tag);
  if (tag == kTag && CountCharacters(Unescaped(name.substr(sizeof tag))) > 4096) return {};
  return std::string(name);
}

inline const epctx_reference::Defences kChecking = [] {
  epctx_reference::Defences defences;
  defences.meaning = Checked;
  return defences;
}();

inline OrtStatus* ReadEpContextData(const OrtApi& api, const OrtEpContextConfig* config, const char* name, const OrtGraph* graph,
                                    EpContextData& out, OrtAllocator* allocator = nullptr) {
  return epctx_reference::ReadEpContextData(api, config, name, graph, out, allocator, kChecking);
}

inline OrtStatus* WriteEpContextDataWithFileFallback(const OrtApi& api, const OrtEpContextConfig* config, const char* name,
                                                     const OrtGraph* graph, const void* buffer, size_t size) {
  return epctx_reference::WriteEpContextDataWithFileFallback(api, config, name, graph, buffer, size, kChecking);
}

}  // namespace converting
