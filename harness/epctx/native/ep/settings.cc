#include "settings.h"

#include <cctype>
#include <string_view>
#include <utility>

#include "epctx_target.h"
#include "reference/ep_context_node.h"

namespace epctx_ep {
namespace {

using epctx_reference::Error;
using epctx_reference::Refused;

// The value of a session option; false if it is not set.
Error Get(const OrtApi& api, const OrtSessionOptions* options, const std::string& key, std::string& value, bool& set) {
  size_t size = 0;
  // With no room the real function gives the size, with the NUL, and an error where the option is not set.
  OrtStatus* status = api.GetSessionConfigEntry(options, key.c_str(), nullptr, &size);
  set = status == nullptr;
  if (status != nullptr) api.ReleaseStatus(status);
  if (!set) return {};
  value.assign(size, '\0');
  if (Error error =
          epctx_reference::attributes::FromStatus(api, api.GetSessionConfigEntry(options, key.c_str(), value.data(), &size))) {
    return error;
  }
  value.resize(size > 0 ? size - 1 : 0);
  return {};
}

// The value of a word in a table; false if it has none.
template <typename T, size_t size>
bool Find(const std::pair<std::string_view, T> (&table)[size], std::string_view word, T& value) {
  for (const auto& [name, its_value] : table) {
    if (word != name) continue;
    value = its_value;
    return true;
  }
  return false;
}

constexpr std::pair<std::string_view, Support> kSupports[] = {
    {"both", Support::kBoth},       {"none", Support::kNone},   {"read", Support::kRead}, {"write", Support::kWrite},
    {"unknown", Support::kUnknown}, {"error", Support::kError}, {"old", Support::kOld},
};

constexpr std::pair<std::string_view, Flaw> kFlaws[] = {
    {"ep-ignores-callbacks", Flaw::kIgnoresCallbacks},    {"ep-advertises-both", Flaw::kAdvertisesBoth},
    {"ep-hides-unknown-flags", Flaw::kHidesUnknownFlags}, {"ep-hides-query-error", Flaw::kHidesQueryError},
    {"ep-demands-support", Flaw::kDemandsSupport},        {"ep-reads-in-capability", Flaw::kReadsInCapability},
    {"ep-reads-when-asked", Flaw::kReadsWhenAsked},       {"ep-writes-embedded", Flaw::kWritesEmbedded},
    {"ep-reads-for-each-node", Flaw::kReadsForEachNode},  {"ep-saves-other-data", Flaw::kSavesOtherData},
};

// The helper is configured once in a process; that it is then asked for in another form is an error.
Error ConfigureHelper(const std::string& wanted) {
  static const std::string first = wanted;
  static const char* const wrong = ::epctx_target_configure(first.c_str());
  if (wrong != nullptr) return Refused(wrong);
  if (wanted != first)
    return Refused("The helper of the bundled EP was set up as " + epctx_reference::Printable(first) + " before");
  return {};
}

}  // namespace

Error ReadSettings(const OrtApi& api, const OrtSessionOptions* options, Settings& settings) {
  // ONNX Runtime keeps the options of a provider among those of the session, with the provider's name in lower case.
  std::string prefix = std::string("ep.") + kName + '.';
  for (char& c : prefix) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  std::string value;
  bool set = false;
  if (Error error = Get(api, options, prefix + "support", value, set)) return error;
  if (set && !Find(kSupports, value, settings.support)) {
    return Refused("The bundled EP knows no support " + epctx_reference::Printable(value));
  }
  if (Error error = Get(api, options, prefix + "flaw", value, set)) return error;
  if (set && !Find(kFlaws, value, settings.flaw)) {
    return Refused("The bundled EP knows no flaw " + epctx_reference::Printable(value));
  }
  if (Error error = Get(api, options, prefix + "name", value, set)) return error;
  if (set && value != "node")
    return Refused("The bundled EP knows no way " + epctx_reference::Printable(value) + " to name data");
  settings.named_by_node = set;
  if (Error error = Get(api, options, prefix + "fallback", settings.fallback, settings.separate_fallback)) return error;
  if (Error error = Get(api, options, prefix + "helper", value, set)) return error;
  settings.other_helper = set;
  if (set) {
    if (Error error = ConfigureHelper(value)) return error;
  }
  if (Error error = Get(api, options, "ep.context_enable", value, set)) return error;
  settings.compiles = set && value == "1";
  if (Error error = Get(api, options, "ep.context_embed_mode", value, set)) return error;
  settings.embeds = set && value == "1";
  return {};
}

}  // namespace epctx_ep

// The names of all flaws, a comma after each: for the tests, which compare them with weak.toml.
extern "C" EPCTX_EXPORT const char* epctx_ep_flaw_names() {
  static const std::string names = [] {
    std::string all;
    for (const auto& [name, flaw] : epctx_ep::kFlaws) all.append(name).push_back(',');
    return all;
  }();
  return names.c_str();
}
