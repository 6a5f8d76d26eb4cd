// What a request changes around a call.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "wire.h"

namespace epctx {

// Works in a directory from now on. It is entered anew for each request: the one of that name may be another by now.
inline void EnterDirectory(const std::string& directory) {
  if (::chdir(directory.c_str()) != 0) throw BadMessage{"the working directory cannot be entered"};
}

// Lowers the largest size of a file for as long as it lives.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(int64_t limit) : active_(limit >= 0) {
    if (!active_) return;
    ::getrlimit(RLIMIT_FSIZE, &before_);
    rlimit lowered = before_;
    lowered.rlim_cur = static_cast<rlim_t>(limit);
    ::setrlimit(RLIMIT_FSIZE, &lowered);
  }
  ~FileSizeLimit() {
    if (active_) ::setrlimit(RLIMIT_FSIZE, &before_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  bool active_;
  rlimit before_ = {};
};

}  // namespace epctx
