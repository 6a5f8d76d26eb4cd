// The program of the engine libfuzzer: libFuzzer around a target that it loads.
//
//   fuzzer FLAGS_OF_LIBFUZZER CORPUS... -ignore_remaining_args=1 --target FILE --plan DESCRIPTOR --report DESCRIPTOR
//          [--ort FILE] [--set TEXT]
//
// The target is built for the coverage of libFuzzer and for the address sanitizer; what is of the driver here is built for the
// second alone, so that coverage is that of the target.

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "fuzz/one.h"

namespace {

const char* OptionOf(int argc, char** argv, const char* name, const char* otherwise) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::strcmp(argv[i], name) == 0) return argv[i + 1];
  }
  return otherwise;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  const auto option = [&](const char* name, const char* otherwise) { return OptionOf(*argc, *argv, name, otherwise); };
  const char* wrong = epctx_fuzz_start(option("--target", ""), option("--ort", nullptr), option("--set", ""),
                                       std::atoi(option("--plan", "-1")), std::atoi(option("--report", "-1")));
  if (wrong != nullptr) {
    std::fprintf(stderr, "epctx: %s\n", wrong);
    std::exit(3);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  epctx_fuzz_one(data, size);
  return 0;
}
