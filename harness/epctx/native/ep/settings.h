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

// What it says of itself when it is asked which of the application's callbacks it uses; it then uses those, and no other.
enum class Support {
  kBoth,
  kNone,
  kRead,
  kWrite,
  kUnknown,  // both, and a flag that no runtime knows
  kError,    // both, but it cannot say so: the query is an error
  kOld,      // none: it is built for ONNX Runtime 1.30, and so is never asked
};

// What is wrong with it beside its helper. weak.toml says in words what each is, and which rules it breaks.
enum class Flaw {
  kNone,
  kIgnoresCallbacks,
  kAdvertisesBoth,
  kHidesUnknownFlags,
  kHidesQueryError,
  kDemandsSupport,
  kReadsInCapability,
  kReadsWhenAsked,
  kWritesEmbedded,
  kReadsForEachNode,
  kSavesOtherData,
};

// Options of the provider:
//   flaw       one of the above, by its name in weak.toml
//   support    both, none, read, write, unknown, error, old
//   helper     options of the helper, as epctx_target_configure takes them; the first ones hold for the whole process
//   name       of the data of a context that it writes: "node", the name of its node in the source model, as it is; default: the
//              name of the compiled node, and ".bin"
//   fallback   the name for the file where it is not that
// Options of the session: ep.context_enable, ep.context_embed_mode.
struct Settings {
  Support support = Support::kBoth;
  Flaw flaw = Flaw::kNone;
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
