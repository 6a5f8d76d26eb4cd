#include "race.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

#ifndef RENAME_EXCHANGE
#define RENAME_EXCHANGE (1 << 1)
#endif

namespace epctx {

Attacker::Attacker(RaceKind kind, std::string a, std::string b)
    : kind_(kind), a_(std::move(a)), b_(std::move(b)), thread_(&Attacker::Run, this) {}

Attacker::~Attacker() {
  stop_ = true;
  thread_.join();
}

// One change, there or `back`.
bool Attacker::Turn(bool back) const {
  const char* from = back ? b_.c_str() : a_.c_str();
  const char* to = back ? a_.c_str() : b_.c_str();
  switch (kind_) {
    case RaceKind::kExchange: return ::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, RENAME_EXCHANGE) == 0;
    case RaceKind::kMove: return std::rename(from, to) == 0;
    case RaceKind::kChdir: return ::chdir(to) == 0;
  }
  return false;
}

void Attacker::AwaitTurn() {
  constexpr int kYields = 1000;
  for (int yields = 0; yields < kYields && turns_ == awaited_; ++yields) std::this_thread::yield();
  awaited_ = turns_;
}

void Attacker::Run() {
  bool there = false;
  while (!stop_.load(std::memory_order_relaxed)) {
    if (!Turn(there)) continue;
    there = !there;
    ++turns_;
  }
  if (there) Turn(there);
}

}  // namespace epctx
