// The bundled target as a library: the reference helper, or with the option weak=NAME a weak form of it.
//
// Options: weak=NAME; platform=windows (names are judged and split by the rules of Windows); files=portable (files are checked
// by path, as outside Linux); chunking=ordered (payloads go to a write callback in pieces).

#include <string>

#include "weak/behaviour.h"

namespace epctx_weak {

OrtStatus* Read(const Behaviour& behaviour, const Call& call, EpctxOutput& output) {
  return ReadEpContextData(call.api, call.config, call.name, call.graph, output.data, call.allocator, behaviour.defences);
}

OrtStatus* Write(const Behaviour& behaviour, const Call& call) {
  if (!call.separate_fallback) {
    return WriteEpContextDataWithFileFallback(call.api, call.config, call.name, call.graph, call.buffer, call.size,
                                              behaviour.defences);
  }
  return WriteEpContextDataWithFileFallback(call.api, call.config, call.name, call.fallback_name, call.graph, call.buffer,
                                            call.size, behaviour.defences);
}

OrtStatus* Load(const Behaviour& behaviour, const Call& call, EpctxNameSink sink, void* sink_state) {
  return ReadEpContextNodes(
      call.api, call.config, call.graph, [&](std::string_view name) { sink(sink_state, name.data(), name.size()); },
      [](std::string_view, const EpContextData&) {}, nullptr, behaviour.defences);
}

void Move(EpctxOutput& to, EpctxOutput& from) { to.data = std::move(from.data); }

void Delete(EpctxOutput* output) { delete output; }

const OrtApi* Runtime(const OrtApi* api) { return api; }

const Table& Weaknesses() {
  static const Table table = [] {
    Table all;
    AddNames(all);
    AddContainment(all);
    AddFiles(all);
    AddMemory(all);
    AddCallbacks(all);
    AddConfig(all);
    AddPlaintext(all);
    AddChunking(all);
    AddNodes(all);
    AddHistory(all);
    AddThreads(all);
    return all;
  }();
  return table;
}

namespace {

Behaviour g_behaviour;

// Takes one option; returns what is wrong with it, or an empty text.
std::string Configure(std::string_view option) {
  if (option.substr(0, 5) == "weak=") {
    const auto found = Weaknesses().find(option.substr(5));
    if (found == Weaknesses().end()) return "there is no weakness " + Printable(option.substr(5));
    found->second(g_behaviour);
  } else if (option == "platform=windows") {
    g_behaviour.defences.platform = Platform::kWindows;
  } else if (option == "files=portable") {
    g_behaviour.defences.read_file = portable::ReadFile;
    g_behaviour.defences.write_file = portable::WriteFile;
  } else if (option == "chunking=ordered") {
    g_behaviour.write = WriteInPieces;
  } else if (!option.empty()) {
    return "the bundled target has no option " + Printable(option);
  }
  return {};
}

}  // namespace
}  // namespace epctx_weak

using namespace epctx_weak;

uint32_t epctx_target_abi() { return EPCTX_TARGET_ABI; }

const char* epctx_target_configure(const char* options) {
  static std::string wrong;
  for (std::string_view rest = options; wrong.empty() && !rest.empty();) {
    const std::string_view option = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), option.size() + 1));
    wrong = Configure(option);
  }
  return wrong.empty() ? nullptr : wrong.c_str();
}

const OrtApi* epctx_runtime(const OrtApi* api) { return g_behaviour.runtime(api); }

EpctxOutput* epctx_output_new() { return new EpctxOutput; }

void epctx_output_delete(EpctxOutput* output) { g_behaviour.delete_output(output); }

const void* epctx_output_data(const EpctxOutput* output) {
  return output->copy.empty() ? output->data.data() : output->copy.data();
}

size_t epctx_output_size(const EpctxOutput* output) { return output->copy.empty() ? output->data.size() : output->copy.size(); }

void epctx_output_move(EpctxOutput* to, EpctxOutput* from) {
  to->copy = std::move(from->copy);
  g_behaviour.move(*to, *from);
}

EpctxOutput* epctx_output_move_new(EpctxOutput* from) {
  auto* to = new EpctxOutput;
  epctx_output_move(to, from);
  return to;
}

OrtStatus* epctx_read(const OrtApi* api, const OrtEpContextConfig* config, const char* name, const OrtGraph* graph,
                      EpctxOutput* output, OrtAllocator* allocator) {
  return g_behaviour.read(g_behaviour, {*api, config, name, graph, allocator, false, nullptr, nullptr, 0}, *output);
}

OrtStatus* epctx_write(const OrtApi* api, const OrtEpContextConfig* config, const char* name, const OrtGraph* graph,
                       const void* buffer, size_t size) {
  return g_behaviour.write(g_behaviour, {*api, config, name, graph, nullptr, false, name, buffer, size});
}

OrtStatus* epctx_write_fallback(const OrtApi* api, const OrtEpContextConfig* config, const char* name, const char* fallback_name,
                                const OrtGraph* graph, const void* buffer, size_t size) {
  return g_behaviour.write(g_behaviour, {*api, config, name, graph, nullptr, true, fallback_name, buffer, size});
}

OrtStatus* epctx_load(const OrtApi* api, const OrtEpContextConfig* config, const OrtGraph* graph, EpctxNameSink sink,
                      void* sink_state) {
  return g_behaviour.load(g_behaviour, {*api, config, nullptr, graph, nullptr, false, nullptr, nullptr, 0}, sink, sink_state);
}

// The names of all weaknesses, sorted, a comma after each: for the tests, which compare them with weak.toml.
extern "C" EPCTX_EXPORT const char* epctx_weak_names() {
  static const std::string names = [] {
    std::string all;
    for (const auto& [name, apply] : Weaknesses()) all.append(name).push_back(',');
    return all;
  }();
  return names.c_str();
}
