// A header that does not compile: an include that is fine, then a name that was never declared.
#pragma once

#include "plugin_ep_utils.h"

namespace ep_context_data_utils {

class EpContextData {
 public:
  const char* data() const noexcept { return nowhere_; }
  size_t size() const noexcept { return 0; }
};

}  // namespace ep_context_data_utils
