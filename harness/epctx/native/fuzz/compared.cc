// Part of each target that is built for coverage. libFuzzer tries the numbers that a target compares, also where it compares
// those of devices, inodes and addresses, which are others each time: no round would come to the same as another.

#include <cstdint>

extern "C" __attribute__((visibility("hidden"))) void __sanitizer_cov_trace_cmp8(uint64_t /*one*/, uint64_t /*other*/) {}
