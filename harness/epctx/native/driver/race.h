// The attacker of a race: changes what two names mean without pause while the target is called.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

#include "protocol.h"

namespace epctx {

// Does to the names `a` and `b` what `kind` says, on a thread of its own, for as long as it lives; then both are as they were.
class Attacker {
 public:
  Attacker(RaceKind kind, std::string a, std::string b);
  ~Attacker();
  Attacker(const Attacker&) = delete;
  Attacker& operator=(const Attacker&) = delete;

  // Waits for a turn since the last call, for a few milliseconds at most: on a busy machine the thread may not run at all, and
  // a round without a turn shows nothing.
  void AwaitTurn();

  // How often it has changed something.
  uint32_t turns() const { return turns_; }

 private:
  void Run();
  bool Turn(bool back) const;

  const RaceKind kind_;
  const std::string a_, b_;
  std::atomic<bool> stop_ = false;
  std::atomic<uint32_t> turns_ = 0, calls_ = 0;
  uint32_t awaited_ = 0;
  std::thread thread_;  // last: it uses the others
};

}  // namespace epctx
