// The bundled execution provider, as one session has it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernel.h"
#include "onnxruntime_ep_c_api.h"
#include "reference/ep_context_node.h"
#include "settings.h"

namespace epctx_ep {

class Ep : public OrtEp {
 public:
  // Makes the provider of a session with these options; `ep` owns it.
  static OrtStatus* Make(const OrtApi& api, uint32_t api_version, const OrtSessionOptions* options, std::unique_ptr<Ep>& ep);
  ~Ep();
  Ep(const Ep&) = delete;
  Ep& operator=(const Ep&) = delete;

 private:
  // A kernel in a session; it is the compute state as well.
  struct Computation : OrtNodeComputeInfo {
    const OrtApi* api;
    Kernel kernel;
  };
  using EpContextNode = epctx_reference::EpContextNode;

  Ep(const OrtApi& api, uint32_t api_version, Settings settings);
  OrtStatus* TakeConfig(const OrtSessionOptions* options);
  void ReleaseConfig();
  template <typename Function>
  Function Find(const char* experimental_name, Function OrtEpApi::* stable) const;

  // What ONNX Runtime calls.
  OrtStatus* Claim(const OrtGraph* graph, OrtEpGraphSupportInfo* support_info);
  OrtStatus* CompileAll(const OrtGraph** graphs, const OrtNode** fused_nodes, size_t count, OrtNodeComputeInfo** computations,
                        OrtNode** ep_context_nodes);
  OrtStatus* Supported(uint32_t& flags) const;

  // Whether it advertises the use of the application's callbacks of a direction; only then does its helper get a config for it.
  bool Advertises(OrtEpContextDataSupport direction) const;
  const OrtEpContextConfig* ConfigFor(OrtEpContextDataSupport direction) const;

  void LookAhead(const OrtGraph* graph, const OrtNode* node);

  // Whether a node is one of those that it takes.
  Error Takes(const OrtNode* node, bool& takes) const;

  // The order in which nodes are compiled: those with the data of another one come last.
  Error MainFirst(const OrtGraph** graphs, size_t count, std::vector<size_t>& order) const;

  Error Compile(const OrtGraph* graph, const OrtNode* fused, Kernel& kernel, OrtNode** ep_context_node);
  // A kernel out of an EPContext node.
  Error Load(const OrtGraph* graph, const OrtNode* node, Data& data);
  // The data of that name, by callback or from a file, read once in a session.
  Error Read(const OrtGraph* graph, const std::string& name, Data& data);
  // Writes the data of a compiled node, or embeds it, and makes its EPContext node.
  Error Save(const OrtGraph* graph, const OrtNode* node, const OrtNode* fused, const Data& data, OrtNode** ep_context_node);

  const OrtApi& api_;
  const Settings settings_;
  OrtEpContextConfig* config_ = nullptr;
  std::map<std::string, Data> read_;
  std::string seen_;  // a flaw: the path of data that a node named
  Data main_;         // of the first main context
  bool has_main_ = false;
};

}  // namespace epctx_ep
