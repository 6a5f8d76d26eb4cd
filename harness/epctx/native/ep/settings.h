// How an application sets the bundled execution provider up, through the options of a session and of the provider.
#pragma once

#include <string>

#include "onnxruntime_c_api.h"
#include "reference/ep_context_data.h"

namespace epctx_ep {

inline constexpr const char* kName = "EpctxExecutionProvider";
inline constexpr const char* kVersion = "1.0.0";

// The `source` of the nodes that it makes and takes.
inline constexpr const char* kSource = "epctx";

// What it says of itself when it is asked which of the application's callbacks it uses.
enum class Support {
  kBoth,
  kNone,
  kRead,
  kWrite,
  kUnknown,  // a flag that no runtime knows, besides both
  kError,    // it cannot say: the query is an error
  kOld,      // it is built for ONNX Runtime 1.30, and so is never asked
};

// Options of the provider:
//   support    both, none, read, write, unknown, error, old
//   helper     options of the helper, as epctx_target_configure takes them; the first ones hold for the whole process
//   name       of the data of a context that it writes: "node", the name of its node in the source model, as it is; default: the
//              name of the compiled node, and ".bin"
//   fallback   the name for the file where it is not that
// Options of the session: ep.context_enable, ep.context_embed_mode.
struct Settings {
  Support support = Support::kBoth;
  bool other_helper = false;
  bool named_by_node = false;
  std::string fallback;
  bool separate_fallback = false;
  bool compiles = false;
  bool embeds = false;
};

// Reads the settings of a session. An option that it does not know, or a value that makes no sense, is an error.
epctx_reference::Error ReadSettings(const OrtApi& api, const OrtSessionOptions* options, Settings& settings);

}  // namespace epctx_ep
