// A target that reads files of the model directory as it should, and misbehaves in one way for the name "trigger.bin".
// The way is its option: hang, abort, throw, allocate, climb, scribble (on the driver's socket), remove (the file that was read),
// temporary (leave a file in $TMPDIR), or steal=PATH (write to that absolute path, too). With third it aborts in its third read.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include <unistd.h>

#include "epctx_target.h"

struct EpctxOutput {
  std::vector<char> bytes;
};

namespace {

std::string mode;
int reads = 0;

std::string ModelDirectory(const OrtApi* api, const OrtGraph* graph) {
  const ORTCHAR_T* path = nullptr;
  if (OrtStatus* status = api->Graph_GetModelPath(graph, &path)) api->ReleaseStatus(status);
  const std::string text = path == nullptr ? "" : path;
  return text.substr(0, text.rfind('/'));
}

void Misbehave(const std::string& directory) {
  if (mode == "hang") {
    for (volatile unsigned turns = 0;; turns = turns + 1) {
    }
  }
  if (mode == "abort") std::abort();
  if (mode == "throw") throw std::runtime_error("thrown by the target");
  if (mode == "allocate") {
    for (std::vector<char*> all;; all.push_back(static_cast<char*>(std::malloc(64 << 20)))) {
      if (!all.empty()) std::memset(all.back(), 1, 1 << 12);  // address space runs out, whatever memory there is
    }
  }
  if (mode == "climb") std::ofstream(directory + "/../../../../climbed") << "four levels up";
  if (mode == "scribble" && ::write(3, "this is no reply of the driver..", 32) != 32) std::abort();
  if (mode == "temporary") std::ofstream(std::string(std::getenv("TMPDIR")) + "/left") << "plaintext";
  if (mode.rfind("steal=", 0) == 0) std::ofstream(mode.substr(6)) << "outside";
}

}  // namespace

uint32_t epctx_target_abi(void) { return EPCTX_TARGET_ABI; }

const char* epctx_target_configure(const char* options) {
  mode = options;
  return nullptr;
}

EpctxOutput* epctx_output_new(void) { return new EpctxOutput; }
void epctx_output_delete(EpctxOutput* output) { delete output; }
const void* epctx_output_data(const EpctxOutput* output) { return output->bytes.empty() ? nullptr : output->bytes.data(); }
size_t epctx_output_size(const EpctxOutput* output) { return output->bytes.size(); }

OrtStatus* epctx_read(const OrtApi* api, const OrtEpContextConfig*, const char* name, const OrtGraph* graph,
                      EpctxOutput* output, OrtAllocator*) {
  const std::string directory = graph == nullptr ? "" : ModelDirectory(api, graph) + "/";
  const bool triggered = std::strcmp(name, "trigger.bin") == 0;
  if (triggered) Misbehave(directory);
  if (++reads == 3 && mode == "third") std::abort();
  std::ifstream file(directory + name, std::ios::binary);
  if (!file) return api->CreateStatus(ORT_FAIL, "there is no such file");
  output->bytes.assign(std::istreambuf_iterator<char>(file), {});
  if (triggered && mode == "remove") std::remove((directory + name).c_str());
  return nullptr;
}
