// The worlds of a plan as they stand: made, watched, and put right again after each call that changed them.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/plan.h"

namespace epctx {

// What happened in watched places since the last look.
struct Happened {
  bool outside = false;  // in a place that no name of a model may lead to, other than a directory being opened
  bool changed = false;  // anywhere, other than something being opened
};

class StandingWorlds {
 public:
  // Makes all worlds, in roots that are empty. Returns what is wrong, or an empty text.
  std::string Make(const std::vector<World>& worlds);

  // What happened; and then all is as the plan has it.
  Happened Look();

 private:
  struct Place {
    WatchKind kind;
    std::string path;
    const World* world;
  };

  bool MakeEntry(const Entry& entry);
  bool Watch(const World& world, const Watched& watched);
  bool MakeAgain(const World& world);
  bool PutRight(const World& world, const std::string& path);
  template <typename Handle>
  bool Drain(Handle handle);

  int inotify_ = -1;
  std::map<int, Place> places_;
};

}  // namespace epctx
