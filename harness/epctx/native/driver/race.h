// The attacker of a race: exchanges two names without pause while the target is called.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

namespace epctx {

// Exchanges the entries `a` and `b` on a thread of its own for as long as it lives; then both are where they were.
class Exchanger {
 public:
  Exchanger(std::string a, std::string b);
  ~Exchanger();
  Exchanger(const Exchanger&) = delete;
  Exchanger& operator=(const Exchanger&) = delete;

  // Waits for an exchange since the last call, for a few milliseconds at most: on a busy machine the thread may not run at all,
  // and a round without an exchange shows nothing.
  void AwaitExchange();

 private:
  void Run();
  bool Exchange() const;

  const std::string a_, b_;
  std::atomic<bool> stop_ = false;
  std::atomic<uint64_t> exchanges_ = 0;
  uint64_t awaited_ = 0;
  std::thread thread_;  // last: it uses the others
};

}  // namespace epctx
