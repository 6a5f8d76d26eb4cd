// A plain libFuzzer executable around a target's read, as its author would write one: the yardstick for the rate of ours.
//
//   plain FLAGS_OF_LIBFUZZER -ignore_remaining_args=1 --target FILE --model PATH [--set TEXT]

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "driver/runtime.h"
#include "driver/target.h"

namespace {

epctx::Target g_target;
OrtGraph g_graph;

const char* OptionOf(int argc, char** argv, const char* name) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::strcmp(argv[i], name) == 0) return argv[i + 1];
  }
  return "";
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  std::string version;
  std::string wrong = epctx::StartRuntime(nullptr, version);
  if (wrong.empty()) {
    wrong = epctx::LoadTarget(OptionOf(*argc, *argv, "--target"), epctx::Api(), OptionOf(*argc, *argv, "--set"), g_target);
  }
  if (!wrong.empty()) {
    std::fprintf(stderr, "epctx: %s\n", wrong.c_str());
    std::exit(3);
  }
  epctx::ledger().tracking = false;
  g_graph.model_path = OptionOf(*argc, *argv, "--model");
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string name(reinterpret_cast<const char*>(data), size);
  const epctx::Output output(g_target.output_new(), epctx::OutputDeleter{&g_target});
  OrtStatus* status = g_target.read(g_target.api, nullptr, name.c_str(), &g_graph, output.get(), nullptr);
  if (status != nullptr) g_target.api->ReleaseStatus(status);
  return 0;
}
