// Finds the binary data that the EPContext nodes of a model name, and reads it: what an execution provider does when a session
// is made from a compiled model. Goes with ep_context_data.h, and like it is to be copied into an EP.
//
// A node is untrusted. Its attributes may be missing, doubled, of another type or of any length, and each such node is an
// error; nodes of other operators are left alone. Data that is embedded in the model needs neither a callback nor a file.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "ep_context_data.h"

namespace epctx_reference {

// An EPContext node, checked. Defaults are those of the operator's definition.
struct EpContextNode {
  bool main_context = true;  // false: the data is that of another node
  bool embedded = true;      // true: `cache` is the data itself; false: its name
  std::string cache;
  std::string source;  // the EP that made it
};

// Collects the EPContext nodes of a graph. `nodes` is empty after an error.
OrtStatus* GetEpContextNodes(const OrtApi& api, const OrtGraph* graph, std::vector<EpContextNode>& nodes);

// Reads the data of all EPContext nodes, once for each distinct name. `use(name, data)` takes each; `before(name)` is told
// each name before it is read. Both may keep what they are given only until they return, unless they move the data.
template <typename Before, typename Use>
OrtStatus* ReadEpContextNodes(const OrtApi& api, const OrtEpContextConfig* config, const OrtGraph* graph, Before before, Use use,
                              OrtAllocator* allocator = nullptr, const Defences& defences = kDefences) {
  std::vector<EpContextNode> nodes;
  if (OrtStatus* status = GetEpContextNodes(api, graph, nodes)) return status;
  std::vector<std::string_view> done;
  for (const EpContextNode& node : nodes) {
    if (node.embedded || !node.main_context) continue;
    if (std::find(done.begin(), done.end(), node.cache) != done.end()) continue;
    done.push_back(node.cache);
    before(std::string_view(node.cache));
    EpContextData data;
    if (OrtStatus* status = ReadEpContextData(api, config, node.cache.c_str(), graph, data, allocator, defences)) return status;
    use(std::string_view(node.cache), data);
  }
  return nullptr;
}

// --- attributes ------------------------------------------------------------------------------------------------------------

namespace attributes {

// Turns the status of an API call into an error, and releases it.
inline Error FromStatus(const OrtApi& api, OrtStatus* status) {
  if (status == nullptr) return {};
  Error error{api.GetErrorCode(status), api.GetErrorMessage(status)};
  api.ReleaseStatus(status);
  return error;
}

inline Error Malformed(const std::string& why) { return Refused("An EPContext node is malformed: " + why); }

// Finds the attribute of that name; none is fine, two are not.
inline Error Find(const OrtApi& api, const std::vector<const OrtOpAttr*>& all, std::string_view name, const OrtOpAttr*& found) {
  found = nullptr;
  for (const OrtOpAttr* attribute : all) {
    const char* its_name = nullptr;
    if (Error error = FromStatus(api, api.OpAttr_GetName(attribute, &its_name))) return error;
    if (its_name == nullptr || name != its_name) continue;
    if (found != nullptr) return Malformed("it has " + std::string(name) + " twice");
    found = attribute;
  }
  return {};
}

inline Error CheckType(const OrtApi& api, const OrtOpAttr* attribute, std::string_view name, OrtOpAttrType wanted) {
  OrtOpAttrType type = ORT_OP_ATTR_UNDEFINED;  // stays for a type that ONNX Runtime has no word for
  static_cast<void>(FromStatus(api, api.OpAttr_GetType(attribute, &type)));
  return type == wanted ? Error() : Malformed(std::string(name) + " is of a wrong type");
}

// Reads a number that must be 0 or 1; leaves `value` alone if there is none.
inline Error ReadFlag(const OrtApi& api, const std::vector<const OrtOpAttr*>& all, std::string_view name, bool& value) {
  const OrtOpAttr* attribute = nullptr;
  if (Error error = Find(api, all, name, attribute)) return error;
  if (attribute == nullptr) return {};
  if (Error error = CheckType(api, attribute, name, ORT_OP_ATTR_INT)) return error;
  int64_t number = 0;
  size_t size = sizeof number;
  if (Error error = FromStatus(api, api.ReadOpAttr(attribute, ORT_OP_ATTR_INT, &number, sizeof number, &size))) return error;
  if (number != 0 && number != 1) return Malformed(std::string(name) + " is " + std::to_string(number));
  value = number == 1;
  return {};
}

// Reads a string by its full length, NULs included; leaves `value` alone if there is none.
inline Error ReadString(const OrtApi& api, const std::vector<const OrtOpAttr*>& all, std::string_view name, std::string& value) {
  const OrtOpAttr* attribute = nullptr;
  if (Error error = Find(api, all, name, attribute)) return error;
  if (attribute == nullptr) return {};
  if (Error error = CheckType(api, attribute, name, ORT_OP_ATTR_STRING)) return error;
  size_t size = 0;  // the first call fails for want of room, and says how much is needed
  static_cast<void>(FromStatus(api, api.ReadOpAttr(attribute, ORT_OP_ATTR_STRING, nullptr, 0, &size)));
  value.resize(size);
  if (size == 0) return {};
  return FromStatus(api, api.ReadOpAttr(attribute, ORT_OP_ATTR_STRING, value.data(), value.size(), &size));
}

inline Error ReadNode(const OrtApi& api, const OrtNode* node, EpContextNode& out) {
  size_t count = 0;
  if (Error error = FromStatus(api, api.Node_GetNumAttributes(node, &count))) return error;
  std::vector<const OrtOpAttr*> all(count);
  if (Error error = FromStatus(api, api.Node_GetAttributes(node, all.data(), count))) return error;
  if (Error error = ReadFlag(api, all, "main_context", out.main_context)) return error;
  if (Error error = ReadFlag(api, all, "embed_mode", out.embedded)) return error;
  if (Error error = ReadString(api, all, "ep_cache_context", out.cache)) return error;
  if (Error error = ReadString(api, all, "source", out.source)) return error;
  if (!out.main_context || out.embedded) return {};
  if (out.cache.empty()) return Malformed("it names no data");
  if (out.cache.find('\0') != std::string::npos) return Malformed("the name of its data holds a NUL");
  return {};
}

}  // namespace attributes

inline OrtStatus* GetEpContextNodes(const OrtApi& api, const OrtGraph* graph, std::vector<EpContextNode>& nodes) {
  nodes.clear();
  try {
    const auto collect = [&]() -> Error {
      size_t count = 0;
      if (Error error = attributes::FromStatus(api, api.Graph_GetNumNodes(graph, &count))) return error;
      std::vector<const OrtNode*> all(count);
      if (Error error = attributes::FromStatus(api, api.Graph_GetNodes(graph, all.data(), count))) return error;
      bool any_main = false, any_other = false;
      for (const OrtNode* node : all) {
        const char *op_type = nullptr, *domain = nullptr;
        if (Error error = attributes::FromStatus(api, api.Node_GetOperatorType(node, &op_type))) return error;
        if (Error error = attributes::FromStatus(api, api.Node_GetDomain(node, &domain))) return error;
        if (op_type == nullptr || domain == nullptr) continue;
        if (std::string_view(op_type) != "EPContext" || std::string_view(domain) != "com.microsoft") continue;
        EpContextNode out;
        if (Error error = attributes::ReadNode(api, node, out)) return error;
        (out.main_context ? any_main : any_other) = true;
        nodes.push_back(std::move(out));
      }
      return any_other && !any_main ? attributes::Malformed("its data is that of another node, and there is none") : Error();
    };
    const Error error = collect();
    if (!error) return nullptr;
    nodes.clear();
    return api.CreateStatus(error.code, error.text.c_str());
  } catch (const std::exception& e) {
    nodes.clear();
    return api.CreateStatus(ORT_FAIL, (std::string("The EPContext nodes cannot be read: ") + e.what()).c_str());
  }
}

}  // namespace epctx_reference
