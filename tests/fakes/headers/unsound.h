// The plain helper, with one unsound step for every name that holds `..`. Compiled with UNSOUND= and a number:
//   1  reads the byte behind an array
//   2  writes through NULL
//   3  counts beyond the largest int
#pragma once

#include <climits>
#include <cstring>

#include "plain.h"

namespace unsound {

using ep_context_data_utils::EpContextData;
using ep_context_data_utils::WriteEpContextDataWithFileFallback;

inline void Stumble(volatile int* null, volatile int count) {
  if (UNSOUND == 1) {
    int* array = new int[5]();
    count = array[count - INT_MAX + 5];
    delete[] array;
  }
  if (UNSOUND == 2) *null = 1;
  if (UNSOUND == 3) count = count + 1;
}

inline OrtStatus* ReadEpContextData(const OrtApi& api, const OrtEpContextConfig* config, const char* file_name,
                                    const OrtGraph* graph, EpContextData& out) {
  if (file_name != nullptr && std::strstr(file_name, "..") != nullptr) Stumble(nullptr, INT_MAX);
  return ep_context_data_utils::ReadEpContextData(api, config, file_name, graph, out);
}

}  // namespace unsound
