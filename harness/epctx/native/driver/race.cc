#include "race.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <random>
#include <utility>

#include "driver/processors.h"

#ifndef RENAME_EXCHANGE
#define RENAME_EXCHANGE (1 << 1)
#endif

namespace epctx {
namespace {

// After so many turns within one call the target is not running: there is one processor for both, and the attacker has it. It
// then naps for up to so many nanoseconds before each turn, and wakes in the middle of what the target does. Without that, calls
// and turns never mix on one processor: 0 of 5,300 reads of a loader that walks back by `..` left the directory, with it 2 %.
constexpr uint32_t kTurnsPerCall = 16;
constexpr uint32_t kLongestNap = 40'000;

}  // namespace

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
  ++calls_;
}

void Attacker::Run() {
  UseAllProcessors();
  ::prctl(PR_SET_TIMERSLACK, 1);
  std::minstd_rand random(1);
  bool there = false;
  uint32_t calls = 0, turns = 0;  // how many calls there were at the last look, and turns since then
  while (!stop_.load(std::memory_order_relaxed)) {
    if (calls != calls_) calls = calls_, turns = 0;
    if (++turns > kTurnsPerCall) std::this_thread::sleep_for(std::chrono::nanoseconds(random() % kLongestNap));
    if (!Turn(there)) continue;
    there = !there;
    ++turns_;
  }
  if (there) Turn(there);
}

}  // namespace epctx
