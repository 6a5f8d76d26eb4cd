#include "race.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

#ifndef RENAME_EXCHANGE
#define RENAME_EXCHANGE (1 << 1)
#endif

namespace epctx {

Exchanger::Exchanger(std::string a, std::string b) : a_(std::move(a)), b_(std::move(b)), thread_(&Exchanger::Run, this) {}

Exchanger::~Exchanger() {
  stop_ = true;
  thread_.join();
}

bool Exchanger::Exchange() const {
  return ::syscall(SYS_renameat2, AT_FDCWD, a_.c_str(), AT_FDCWD, b_.c_str(), RENAME_EXCHANGE) == 0;
}

void Exchanger::AwaitExchange() {
  constexpr int kTurns = 1000;
  for (int turn = 0; turn < kTurns && exchanges_ == awaited_; ++turn) std::this_thread::yield();
  awaited_ = exchanges_;
}

void Exchanger::Run() {
  bool exchanged = false;
  while (!stop_.load(std::memory_order_relaxed)) {
    if (!Exchange()) continue;
    exchanged = !exchanged;
    ++exchanges_;
  }
  if (exchanged) Exchange();
}

}  // namespace epctx
