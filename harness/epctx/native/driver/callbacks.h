// The application's callbacks: they do what a case scripts, and keep a record of each invocation.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "onnxruntime_c_api.h"
#include "protocol.h"
#include "wire.h"

namespace epctx {

// A scripted callback.
struct Callback {
  CallbackScript script = {};
  std::string content;  // what a read gives; where it is empty and script.content_size is not 0, that is in the bulk memory
  std::string reenters;
  std::string text;
};

// Takes a field with a script apart. A large content goes to the bulk memory, so that the target's memory can be told from ours.
void TakeCallback(std::string_view field, Callback& callback);

// The state that a callback is registered with: its address, unless its script says NULL.
void* StateOf(Callback& callback);

// What the application has registered with one config.
struct Registration {
  Callback read, write;
};

// The application of one request: what it has registered, and how it was called. Any thread may call into it.
//
// It stays valid for some time after its request: a target that calls back late must meet something.
class Application : public std::enable_shared_from_this<Application> {
 public:
  // Calls the target from within a callback, for another name, and gives the code of the status. `payload` is what the write
  // callback was given; unused by a read.
  using Reenter = std::function<OrtErrorCode(bool write, const std::string& name, std::string_view payload)>;

  using Clock = std::chrono::steady_clock;

  static std::shared_ptr<Application> New();

  Application(const Application&) = delete;
  Application& operator=(const Application&) = delete;

  // To be made ready before the first call: what it registers, the allocator that a read callback must be given, and how a
  // callback gets into the target again, which it only does while a call is in progress.
  Registration& Register();
  const OrtAllocator* allocator = nullptr;
  Reenter reenter;

  // A call in progress, for as long as this lives. A callback outside of all calls is late: it is noted, and does nothing.
  class InCall {
   public:
    explicit InCall(Application& application);
    ~InCall();
    InCall(const InCall&) = delete;
    InCall& operator=(const InCall&) = delete;

   private:
    Application& application_;
    Application* const before_;
  };

  // Waits until a moment after `end`, or until a callback comes late.
  void Linger(Clock::time_point end);

  // Adds a field for each invocation so far, in the order in which they began.
  void Report(Message& message) const;

  // Whether a read callback gave the buffer at `data`; and how many of the `size` bytes there may be looked at: not all where
  // the callback lied.
  bool Gave(const void* data) const;
  size_t Readable(const void* data, size_t size) const;

  // Whether a state is one that was registered.
  bool Owns(const void* state) const;

  OrtStatus* Read(const void* state, std::string_view name, OrtAllocator* allocator, void** buffer, size_t* size);
  OrtStatus* Write(const void* state, std::string_view name, const void* buffer, size_t size);

 private:
  struct Invocation {
    CallbackRecord record = {};
    std::string name;
    std::string payload;  // of a write, where it is not in the bulk memory
  };
  class Running;

  Application() = default;
  bool Called() const;
  Callback& Find(bool write, const void* state, CallbackRecord& record);
  uint64_t Now() const { return static_cast<uint64_t>((Clock::now() - start_) / std::chrono::nanoseconds(1)); }
  OrtStatus* Fill(const Callback& callback, OrtAllocator* allocator, void** buffer, size_t* size);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Registration> registrations_;
  std::deque<Invocation> seen_;
  std::vector<std::thread::id> threads_;
  std::vector<std::pair<const void*, size_t>> gave_;
  Clock::time_point start_ = Clock::now();  // of the first call
  uint32_t calls_ = 0, calls_begun_ = 0;
  uint32_t in_flight_ = 0, most_in_flight_ = 0;
  bool late_ = false;
};

// The first `size` bytes of the bulk memory are in use by a request that begins: what write callbacks are given goes behind.
void ReserveBulk(uint64_t size);

// The functions that an application registers, each with the state of a Callback.
OrtStatus* ReadCallback(void* state, const char* name, OrtAllocator* allocator, void** buffer, size_t* size) noexcept;
OrtStatus* WriteCallback(void* state, const char* name, const void* buffer, size_t size) noexcept;

}  // namespace epctx
