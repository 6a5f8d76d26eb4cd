// Several threads that call a target at once, a library or sessions, and the application that answers all of them.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "attempt.h"
#include "config.h"
#include "protocol.h"
#include "wire.h"

namespace epctx {

// What a thread does in a round. One that is `refused` must be.
struct Share {
  bool write = false, refused = false;
  std::string name, content;
};

// What the threads call.
class Callee {
 public:
  Callee() = default;
  virtual ~Callee() = default;
  Callee(const Callee&) = delete;
  Callee& operator=(const Callee&) = delete;

  // Adds a config in which these callbacks are registered. BadMessage if there is none to be had.
  virtual void AddConfig(const Registered& callbacks) = 0;

  // Makes the call of share number `index`, with config number `config` where one was added, and hands what it read to `take`.
  // Called by several threads at once.
  virtual Outcome Call(size_t index, const Share& share, size_t config, const std::function<void(std::string_view)>& take) = 0;
};

// The threads of one request. What they find is kept apart by thread and put together when all are done: the driver must not
// order the target's work by locks of its own, or a sanitizer could not see that the target does not.
class Threads {
 public:
  // Takes the request's field apart.
  static std::shared_ptr<Threads> New(std::string_view field);
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  const std::vector<Share>& shares() const { return shares_; }

  // Makes all calls.
  void Run(Callee& callee);

  // Adds what came of it to a reply: counts, in words the first thing that went wrong, and what a call threw.
  void Report(Reply& reply, Message& message) const;

 private:
  explicit Threads(std::string_view field);

  // How the calls of a share ended that did not end as it says, and the first of them in words.
  struct Faults {
    uint32_t wrong = 0, failed = 0, crossed = 0;
    std::string evidence;

    bool Any() const { return wrong + failed + crossed > 0; }
    void Note(uint32_t Faults::* kind, const std::string& words);
    void Add(Faults&& others);
  };
  struct Tally {
    uint32_t calls = 0, right = 0;
    std::vector<Faults> faults;  // by share
    std::string thrown;
  };
  struct Turn;
  class Flight;

  bool Has(ThreadsFlag flag) const { return (script_.flags & flag) != 0; }
  void AddConfigs();
  void Work(uint32_t thread, Tally& tally);
  void Make(size_t index, Tally& tally, bool within);
  bool EndsSoAlone(size_t index);
  void Reenter(int32_t index);
  void Compare(const void* state, std::string_view name, const char* direction);
  std::string WordsOn(std::string_view bytes) const;
  std::string WordsOn(const void* state) const;

  static OrtStatus* Read(void* state, const char* name, OrtAllocator* allocator, void** buffer, size_t* size) noexcept;
  static OrtStatus* Write(void* state, const char* name, const void* buffer, size_t size) noexcept;

  ThreadsScript script_;
  std::vector<Share> shares_;
  std::vector<uint64_t> states_;  // of the configs: only their addresses are used
  Callee* callee_ = nullptr;
  std::atomic<uint32_t> ready_ = 0, in_flight_ = 0, most_in_flight_ = 0;
  std::atomic<bool> waited_in_vain_ = false, met_stranger_ = false;
  ThreadCounts counts_ = {};
  std::string evidence_, thrown_;

  static thread_local Turn* t_turn;
};

}  // namespace epctx
