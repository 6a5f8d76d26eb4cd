// A header that compiles and lacks the one function that a target needs.
#pragma once

#include "plugin_ep_utils.h"

namespace ep_context_data_utils {

class EpContextData {
 public:
  const char* data() const noexcept { return nullptr; }
  size_t size() const noexcept { return 0; }
};

}  // namespace ep_context_data_utils
