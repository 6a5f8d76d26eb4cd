// What the harness hands to a fuzzer before it starts (fuzz/plan.py), and what some bytes mean under it.
//
//   byte 0      which world, modulo how many there are
//   byte 1      which call, modulo how many there are
//   the rest    the name; a slash in front stands for the world's root
//
// A plan is a run of fields, as in a message: a kWorld for each world, which holds fields itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "protocol.h"

namespace epctx {

enum class PlanTag : uint32_t {
  kWorld = 1,
  kRoot = 2,    // the absolute path of the world's root
  kClimbs = 3,  // u32: so many ".." a name may have
  kEntry = 4,   // PlanEntry, its path from the root, then a file's content or a link's text
  kWatch = 5,   // u32 WatchKind, then an absolute path
  kMark = 6,    // bytes of a file outside the model directory, which no output may hold
  kCall = 7,    // u32 Tag of the field that the name is for, then a request without that field
};

enum class EntryKind : uint32_t { kDirectory = 0, kFile = 1, kLink = 2, kFifo = 3 };

enum class WatchKind : uint32_t {
  kInside = 0,   // a directory that a model's names are confined to: changes are put right again
  kOutside = 1,  // a directory outside: whatever happens in it is suspicious where a model's name led to it
  kCanary = 2,   // a file outside
};

struct PlanEntry {
  uint32_t kind;  // EntryKind
  uint32_t path_size;
};

// An entry of a world, at an absolute path.
struct Entry {
  EntryKind kind;
  std::string path;
  std::string content;
};

struct Watched {
  WatchKind kind;
  std::string path;
};

struct Prepared {
  Tag name_tag;
  std::string request;
  bool from_model;
  bool writes;
};

struct World {
  std::string root;
  uint32_t climbs = 0;
  std::vector<Entry> entries;  // in the order in which they can be made
  std::vector<Watched> watched;
  std::vector<std::string> marks;
  std::vector<Prepared> calls;
};

// Takes a plan apart. Throws BadMessage.
std::vector<World> TakePlan(std::string_view plan);

// What some bytes are: a call in a world. `name` is as the target gets it.
struct Meaning {
  uint32_t world, call;
  std::string name;
};

// Gives false for bytes that are no case: too few or too many, or a name that could leave the margin of its world.
bool Decode(const std::vector<World>& worlds, std::string_view data, Meaning& meaning);

// The request for a call, in `request`, whose memory is used again.
void MakeRequest(const std::vector<World>& worlds, const Meaning& meaning, std::string& request);

}  // namespace epctx
