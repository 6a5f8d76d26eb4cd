// Weaknesses that show when several threads call at once, or when a callback calls back in.
//
// What two threads share is used with a pause in between, so that they meet on any machine; without the pause they would too,
// only later. One thread alone never notices anything.

#include <atomic>
#include <mutex>
#include <thread>

#include "weak/behaviour.h"

namespace epctx_weak {
namespace {

using namespace linux_files;

void Pause() { std::this_thread::yield(); }

// --- memory that all threads share -----------------------------------------------------------------------------------------

constexpr size_t kRoom = size_t{128} << 10;

// Bounces bytes through one buffer, as far as they fit.
void ThroughBuffer(const void* from, void* to, size_t size) {
  static char buffer[kRoom];
  if (size > kRoom) return;
  std::memcpy(buffer, from, size);
  Pause();
  std::memcpy(to, buffer, size);
}

OrtStatus* ReadThroughBuffer(const Behaviour& self, const Call& call, EpctxOutput& output) {
  OrtStatus* status = Read(self, call, output);
  if (status == nullptr) ThroughBuffer(output.data.data(), const_cast<char*>(output.data.data()), output.data.size());
  return status;
}

OrtStatus* WriteThroughBuffer(const Behaviour& self, const Call& call) {
  if (call.buffer == nullptr || call.size > kRoom) return Write(self, call);
  std::string bytes(call.size, '\0');
  ThroughBuffer(call.buffer, bytes.data(), bytes.size());
  Call copied = call;
  copied.buffer = bytes.data();
  return Write(self, copied);
}

// The call with its name in one place for all; a long name stays where it is.
Call WithSharedName(const Call& call) {
  static char shared[256];
  Call changed = call;
  if (call.name == nullptr || std::strlen(call.name) >= sizeof shared) return changed;
  std::strcpy(shared, call.name);
  if (changed.fallback_name == call.name) changed.fallback_name = shared;
  changed.name = shared;
  Pause();
  return changed;
}

// The call with the config of whoever came last.
Call WithLastConfig(const Call& call) {
  static const OrtEpContextConfig* last = nullptr;
  Call changed = call;
  last = call.config;
  Pause();
  changed.config = last;
  return changed;
}

// The call with the size of whoever came last, where that is within the buffer.
Call WithLastSize(const Call& call) {
  static size_t last = 0;
  Call changed = call;
  last = call.size;
  Pause();
  changed.size = std::min(last, call.size);
  return changed;
}

template <Call (*change)(const Call& call)>
OrtStatus* ReadChanged(const Behaviour& self, const Call& call, EpctxOutput& output) {
  return Read(self, change(call), output);
}
template <Call (*change)(const Call& call)>
OrtStatus* WriteChanged(const Behaviour& self, const Call& call) {
  return Write(self, change(call));
}

// Replaces a file by way of a temporary one that always has the same name.
Error ReplaceThroughOneName(const Place& place, const void* data, size_t size) {
  if (place.object) {
    Descriptor old;
    if (Error error = Open(place.object, O_WRONLY, old)) return error;
  }
  constexpr const char* kName = ".epctx.tmp";
  const Descriptor file(::openat(place.directory.get(), kName, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (!file) return Failed("cannot be created: " + Reason(errno));
  Error error = WriteExactly(file.get(), data, size);
  if (place.object) static_cast<void>(::fchmod(file.get(), place.info.st_mode & 07777u));
  Pause();
  if (!error && ::renameat(place.directory.get(), kName, place.directory.get(), place.leaf.c_str()) != 0) {
    error = Failed("cannot be replaced: " + Reason(errno));
  }
  if (error) ::unlinkat(place.directory.get(), kName, 0);
  return error;
}

// --- locks -----------------------------------------------------------------------------------------------------------------

template <typename Mutex>
Mutex g_lock;

template <typename Mutex>
void LockAround(Behaviour& b) {
  b.read = [](const Behaviour& self, const Call& call, EpctxOutput& output) {
    const std::lock_guard<Mutex> lock(g_lock<Mutex>);
    return Read(self, call, output);
  };
  b.write = [](const Behaviour& self, const Call& call) {
    const std::lock_guard<Mutex> lock(g_lock<Mutex>);
    return Write(self, call);
  };
}

// Makes one call at a time, and refuses all others meanwhile.
template <typename Use>
OrtStatus* UnlessBusy(const Call& call, Use use) {
  static std::atomic<bool> busy = false;
  if (busy.exchange(true)) return call.api.CreateStatus(ORT_FAIL, "another call is in progress");
  Pause();
  OrtStatus* status = use();
  busy = false;
  return status;
}

// --- what is kept for each thread ------------------------------------------------------------------------------------------

// Where the result of the thread's call goes. A call from within a callback takes that place, and leaves nothing there.
thread_local EpctxOutput* t_output = nullptr;

OrtStatus* ReadIntoPlace(const Behaviour& self, const Call& call, EpctxOutput& output) {
  t_output = &output;
  EpctxOutput fresh;
  OrtStatus* status = Read(self, call, fresh);
  EpctxOutput* const place = std::exchange(t_output, nullptr);
  if (place != nullptr) *place = std::move(fresh);
  return status;
}

}  // namespace

void AddThreads(Table& table) {
  table["shares-buffer"] = [](Behaviour& b) {
    b.read = ReadThroughBuffer;
    b.write = WriteThroughBuffer;
  };
  table["shares-name"] = [](Behaviour& b) {
    b.read = ReadChanged<WithSharedName>;
    b.write = WriteChanged<WithSharedName>;
  };
  table["last-config-wins"] = [](Behaviour& b) {
    b.read = ReadChanged<WithLastConfig>;
    b.write = WriteChanged<WithLastConfig>;
  };
  table["last-size-wins"] = [](Behaviour& b) { b.write = WriteChanged<WithLastSize>; };
  table["one-temporary-file"] = [](Behaviour& b) { b.defences.replace = ReplaceThroughOneName; };
  table["lock-around-callback"] = LockAround<std::recursive_mutex>;
  table["lock-not-reentrant"] = LockAround<std::mutex>;
  table["refuses-while-busy"] = [](Behaviour& b) {
    b.read = [](const Behaviour& self, const Call& call, EpctxOutput& output) {
      return UnlessBusy(call, [&] { return Read(self, call, output); });
    };
    b.write = [](const Behaviour& self, const Call& call) { return UnlessBusy(call, [&] { return Write(self, call); }); };
  };
  table["one-read-for-each-thread"] = [](Behaviour& b) { b.read = ReadIntoPlace; };
  table["counts-without-lock"] = [](Behaviour& b) {
    b.read = [](const Behaviour& self, const Call& call, EpctxOutput& output) {
      static uint64_t reads = 0;
      ++reads;
      return Read(self, call, output);
    };
  };
}

}  // namespace epctx_weak
