// The target library: its functions, and outputs of it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "epctx_target.h"

namespace epctx {

// The functions of epctx_target.h that a library exports; NULL for those that it leaves out.
struct Target {
  const OrtApi* api = nullptr;  // what it works on, and the application with it
  decltype(&epctx_target_init) init = nullptr;
  decltype(&epctx_target_configure) configure = nullptr;
  decltype(&epctx_target_can) can = nullptr;
  decltype(&epctx_output_new) output_new = nullptr;
  decltype(&epctx_output_delete) output_delete = nullptr;
  decltype(&epctx_output_data) output_data = nullptr;
  decltype(&epctx_output_size) output_size = nullptr;
  decltype(&epctx_output_move) output_move = nullptr;
  decltype(&epctx_output_move_new) output_move_new = nullptr;
  decltype(&epctx_read) read = nullptr;
  decltype(&epctx_write) write = nullptr;
  decltype(&epctx_write_fallback) write_fallback = nullptr;
  decltype(&epctx_load) load = nullptr;
};

// Loads a library and starts it with the API, or with what it makes of that, and its options. Returns what is wrong, or an empty
// text.
std::string LoadTarget(const char* file, const OrtApi& api, const char* options, Target& target);

// What the target can do, as the hello's "can" names it.
std::vector<std::string> AbilitiesOf(const Target& target);

// Deletes an output of the target; as the deleter of a unique_ptr.
struct OutputDeleter {
  const Target* target;
  void operator()(EpctxOutput* output) const { target->output_delete(output); }
};
using Output = std::unique_ptr<EpctxOutput, OutputDeleter>;

}  // namespace epctx
