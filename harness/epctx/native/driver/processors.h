// What is to run side by side must have more than one processor, also where the worker keeps to one of its own.
#pragma once

#include <sched.h>

#include <cstring>

namespace epctx {

// Lets the calling thread run on all processors that this process may have.
inline void UseAllProcessors() {
  cpu_set_t all;
  std::memset(&all, 0xff, sizeof all);
  ::sched_setaffinity(0, sizeof all, &all);
}

}  // namespace epctx
