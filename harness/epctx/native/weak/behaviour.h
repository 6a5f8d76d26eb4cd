// What the bundled target does: the reference helper, with one thing in it replaced where a weakness was chosen.
//
// A weakness either replaces a member of the reference's Defences, or, where it lies around the helper rather than in it
// (ownership, the C boundary), a function of Behaviour. weak.toml says in words what each is, and which rules it breaks.
#pragma once

#include <map>
#include <string_view>
#include <vector>

#include "epctx_target.h"
#include "reference/ep_context_data.h"
#include "reference/ep_context_node.h"

// The output of the bundled target. Some weak forms hold their bytes in a vector, as the helper's early states did.
struct EpctxOutput {
  epctx_reference::EpContextData data;
  std::vector<char> copy;
};

namespace epctx_weak {

using namespace epctx_reference;

// The arguments of a read or a write.
struct Call {
  const OrtApi& api;
  const OrtEpContextConfig* config;
  const char* name;
  const OrtGraph* graph;
  OrtAllocator* allocator;    // read
  bool separate_fallback;     // write: the overload with a name for the file
  const char* fallback_name;  // write: the name for the file
  const void* buffer;         // write
  size_t size;                // write
};

struct Behaviour;

// The right forms: the reference.
OrtStatus* Read(const Behaviour& behaviour, const Call& call, EpctxOutput& output);
OrtStatus* Write(const Behaviour& behaviour, const Call& call);
OrtStatus* Load(const Behaviour& behaviour, const Call& call, EpctxNameSink sink, void* sink_state);
// A write in three pieces, for a target that declares it; a file is still written at once.
OrtStatus* WriteInPieces(const Behaviour& behaviour, const Call& call);
void Move(EpctxOutput& to, EpctxOutput& from);
void Delete(EpctxOutput* output);
const OrtApi* Runtime(const OrtApi* api);

struct Behaviour {
  Defences defences;
  OrtStatus* (*read)(const Behaviour& behaviour, const Call& call, EpctxOutput& output) = Read;
  OrtStatus* (*write)(const Behaviour& behaviour, const Call& call) = Write;
  OrtStatus* (*load)(const Behaviour& behaviour, const Call& call, EpctxNameSink sink, void* sink_state) = Load;
  void (*move)(EpctxOutput& to, EpctxOutput& from) = Move;
  void (*delete_output)(EpctxOutput* output) = Delete;
  const OrtApi* (*runtime)(const OrtApi* api) = Runtime;
};

// Whether the config of a call has a callback of that direction that can be had.
bool HasReadCallback(const Call& call);
bool HasWriteCallback(const Call& call);

// Each weakness by name: what it replaces.
using Table = std::map<std::string_view, void (*)(Behaviour& behaviour)>;
const Table& Weaknesses();

// The parts of the table, by what they weaken.
void AddNames(Table& table);
void AddContainment(Table& table);
void AddFiles(Table& table);
void AddMemory(Table& table);
void AddCallbacks(Table& table);
void AddConfig(Table& table);
void AddPlaintext(Table& table);
void AddChunking(Table& table);
void AddNodes(Table& table);
void AddHistory(Table& table);
void AddThreads(Table& table);

}  // namespace epctx_weak
