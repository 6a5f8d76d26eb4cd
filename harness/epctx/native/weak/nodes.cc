// Weaknesses in how the nodes of a model are read.

#include <cstdlib>

#include "weak/behaviour.h"

namespace epctx_weak {
namespace {

// The first attribute of that name; NULL if there is none.
const OrtOpAttr* Attribute(const OrtApi& api, const OrtNode* node, const char* name) {
  const OrtOpAttr* attribute = nullptr;
  static_cast<void>(attributes::FromStatus(api, api.Node_GetAttributeByName(node, name, &attribute)));
  return attribute;
}

std::string Text(const OrtApi& api, const OrtOpAttr* attribute) {
  size_t size = 0;
  static_cast<void>(attributes::FromStatus(api, api.ReadOpAttr(attribute, ORT_OP_ATTR_STRING, nullptr, 0, &size)));
  std::string text(size, '\0');
  static_cast<void>(attributes::FromStatus(api, api.ReadOpAttr(attribute, ORT_OP_ATTR_STRING, text.data(), size, &size)));
  return text;
}

int64_t Number(const OrtApi& api, const OrtOpAttr* attribute) {
  int64_t number = 0;
  size_t size = sizeof number;
  static_cast<void>(attributes::FromStatus(api, api.ReadOpAttr(attribute, ORT_OP_ATTR_INT, &number, sizeof number, &size)));
  return number;
}

std::vector<const OrtNode*> Nodes(const OrtApi& api, const OrtGraph* graph) {
  size_t count = 0;
  static_cast<void>(attributes::FromStatus(api, api.Graph_GetNumNodes(graph, &count)));
  std::vector<const OrtNode*> nodes(count);
  static_cast<void>(attributes::FromStatus(api, api.Graph_GetNodes(graph, nodes.data(), count)));
  return nodes;
}

bool IsEpContext(const OrtApi& api, const OrtNode* node) {
  const char* op_type = "";
  static_cast<void>(attributes::FromStatus(api, api.Node_GetOperatorType(node, &op_type)));
  return std::string_view(op_type) == "EPContext";
}

// Reads the data of a node in the right way, by a name that came about in a wrong one.
OrtStatus* ReadNamed(const Behaviour& self, const Call& call, const std::string& name, EpctxNameSink sink, void* sink_state) {
  sink(sink_state, name.data(), name.size());
  EpContextData data;
  return ReadEpContextData(call.api, call.config, name.c_str(), call.graph, data, nullptr, self.defences);
}

// The defences without those that confine a name to the model directory.
Behaviour Unconfined(const Behaviour& behaviour) {
  Behaviour open = behaviour;
  open.defences.refuse_rooted = [](std::string_view, Platform) { return Error(); };
  open.defences.contained = [](const FileRequest&, int, int) { return true; };
  return open;
}

// A name with a NUL passes for what comes after it, and is opened by what comes before.
OrtStatus* LoadCut(const Behaviour& self, const Call& call, EpctxNameSink sink, void* sink_state) {
  for (const OrtNode* node : Nodes(call.api, call.graph)) {
    const OrtOpAttr *mode = Attribute(call.api, node, "embed_mode"), *cache = Attribute(call.api, node, "ep_cache_context");
    if (!IsEpContext(call.api, node) || cache == nullptr || mode == nullptr || Number(call.api, mode) != 0) continue;
    const std::string name = Text(call.api, cache);
    if (name.find('\0') == std::string::npos) continue;
    return ReadNamed(Unconfined(self), call, name.c_str(), sink, sink_state);
  }
  return Load(self, call, sink, sink_state);
}

// Trusts a node that is malformed: the first of two attributes, any embed_mode, and wherever the name leads.
OrtStatus* LoadUnchecked(const Behaviour& self, const Call& call, EpctxNameSink sink, void* sink_state) {
  std::vector<EpContextNode> nodes;
  OrtStatus* malformed = GetEpContextNodes(call.api, call.graph, nodes);
  if (malformed == nullptr) return Load(self, call, sink, sink_state);
  call.api.ReleaseStatus(malformed);
  for (const OrtNode* node : Nodes(call.api, call.graph)) {
    const OrtOpAttr* cache = Attribute(call.api, node, "ep_cache_context");
    const std::string name = IsEpContext(call.api, node) && cache != nullptr ? Text(call.api, cache) : std::string();
    if (name.empty()) continue;
    if (OrtStatus* status = ReadNamed(Unconfined(self), call, name, sink, sink_state)) return status;
  }
  return nullptr;
}

// Takes what is embedded for the name of a file.
OrtStatus* LoadEmbedded(const Behaviour& self, const Call& call, EpctxNameSink sink, void* sink_state) {
  for (const OrtNode* node : Nodes(call.api, call.graph)) {
    const OrtOpAttr *mode = Attribute(call.api, node, "embed_mode"), *cache = Attribute(call.api, node, "ep_cache_context");
    if (!IsEpContext(call.api, node) || mode == nullptr || Number(call.api, mode) != 1 || cache == nullptr) continue;
    const std::string name = Text(call.api, cache);
    if (OrtStatus* status = ReadNamed(self, call, name, sink, sink_state)) call.api.ReleaseStatus(status);
  }
  return Load(self, call, sink, sink_state);
}

// Reads for each node, also where several name the same data.
OrtStatus* LoadEach(const Behaviour& self, const Call& call, EpctxNameSink sink, void* sink_state) {
  std::vector<EpContextNode> nodes;
  if (OrtStatus* malformed = GetEpContextNodes(call.api, call.graph, nodes)) return malformed;
  for (const EpContextNode& node : nodes) {
    if (node.embedded || !node.main_context) continue;
    if (OrtStatus* status = ReadNamed(self, call, node.cache, sink, sink_state)) return status;
  }
  return nullptr;
}

// Looks at the attribute without asking whether it is there.
OrtStatus* LoadUnaware(const Behaviour& self, const Call& call, EpctxNameSink sink, void* sink_state) {
  for (const OrtNode* node : Nodes(call.api, call.graph)) {
    if (IsEpContext(call.api, node) && Attribute(call.api, node, "ep_cache_context") == nullptr) std::abort();
  }
  return Load(self, call, sink, sink_state);
}

// Takes it for granted that every node is as it should be.
OrtStatus* LoadAsserting(const Behaviour& self, const Call& call, EpctxNameSink sink, void* sink_state) {
  std::vector<EpContextNode> nodes;
  if (OrtStatus* malformed = GetEpContextNodes(call.api, call.graph, nodes)) {
    call.api.ReleaseStatus(malformed);
    std::abort();
  }
  return Load(self, call, sink, sink_state);
}

// Takes it for granted that a name has no NUL in it.
OrtStatus* LoadWithoutNul(const Behaviour& self, const Call& call, EpctxNameSink sink, void* sink_state) {
  for (const OrtNode* node : Nodes(call.api, call.graph)) {
    const OrtOpAttr* cache = Attribute(call.api, node, "ep_cache_context");
    if (cache != nullptr && Text(call.api, cache).find('\0') != std::string::npos) std::abort();
  }
  return Load(self, call, sink, sink_state);
}

// Has a fixed buffer for the name, and a check that it is large enough.
OrtStatus* LoadShort(const Behaviour& self, const Call& call, EpctxNameSink sink, void* sink_state) {
  for (const OrtNode* node : Nodes(call.api, call.graph)) {
    const OrtOpAttr* cache = Attribute(call.api, node, "ep_cache_context");
    if (cache != nullptr && Text(call.api, cache).size() >= 4096) std::abort();
  }
  return Load(self, call, sink, sink_state);
}

}  // namespace

void AddNodes(Table& table) {
  table["cuts-name-at-nul"] = [](Behaviour& b) { b.load = LoadCut; };
  table["embedded-data-as-name"] = [](Behaviour& b) { b.load = LoadEmbedded; };
  table["reads-for-each-node"] = [](Behaviour& b) { b.load = LoadEach; };
  table["loads-malformed-node"] = [](Behaviour& b) { b.load = LoadUnchecked; };
  table["aborts-on-missing-attribute"] = [](Behaviour& b) { b.load = LoadUnaware; };
  table["aborts-on-malformed-node"] = [](Behaviour& b) { b.load = LoadAsserting; };
  table["aborts-on-nul"] = [](Behaviour& b) { b.load = LoadWithoutNul; };
  table["aborts-on-long-attribute"] = [](Behaviour& b) { b.load = LoadShort; };
}

}  // namespace epctx_weak
