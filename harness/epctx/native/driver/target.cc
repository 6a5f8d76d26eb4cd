#include "target.h"

#include <dlfcn.h>

namespace epctx {

std::string LoadTarget(const char* file, const OrtApi& api, const char* options, Target& target) {
  void* library = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return std::string("the target cannot be loaded: ") + ::dlerror();
  std::string missing;
  const auto look_up = [&](const char* name, auto& function, bool required) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
    if (function == nullptr && required) missing += (missing.empty() ? "" : ", ") + std::string(name);
  };
  decltype(&epctx_target_abi) abi = nullptr;
  decltype(&epctx_runtime) runtime = nullptr;
  look_up("epctx_target_abi", abi, true);
  look_up("epctx_runtime", runtime, false);
  look_up("epctx_target_init", target.init, false);
  look_up("epctx_target_configure", target.configure, false);
  look_up("epctx_target_can", target.can, false);
  look_up("epctx_output_new", target.output_new, true);
  look_up("epctx_output_delete", target.output_delete, true);
  look_up("epctx_output_data", target.output_data, true);
  look_up("epctx_output_size", target.output_size, true);
  look_up("epctx_output_move", target.output_move, false);
  look_up("epctx_output_move_new", target.output_move_new, false);
  look_up("epctx_read", target.read, true);
  look_up("epctx_write", target.write, false);
  look_up("epctx_write_fallback", target.write_fallback, false);
  look_up("epctx_load", target.load, false);
  if (!missing.empty()) return "the target does not export " + missing;
  if (const uint32_t version = abi(); version != EPCTX_TARGET_ABI) {
    return "the target is for version " + std::to_string(version) + " of epctx_target.h, not " + std::to_string(EPCTX_TARGET_ABI);
  }
  if (target.init != nullptr) target.init(&api);
  if (target.configure != nullptr) {
    if (const char* wrong = target.configure(options)) return wrong;
  } else if (options[0] != '\0') {
    return "the target takes no options";
  }
  target.api = runtime != nullptr ? runtime(&api) : &api;
  if (target.api == nullptr) return "the target's epctx_runtime gives NULL";
  return {};
}

std::vector<std::string> AbilitiesOf(const Target& target) {
  std::vector<std::string> can{"read"};
  const auto add = [&](const char* ability, bool exported) {
    if (exported && (target.can == nullptr || target.can(ability) != 0)) can.emplace_back(ability);
  };
  add("write", target.write != nullptr);
  add("fallback", target.write_fallback != nullptr);
  add("moves", target.output_move != nullptr && target.output_move_new != nullptr);
  add("load", target.load != nullptr);
  can.emplace_back("config");
  return can;
}

}  // namespace epctx
