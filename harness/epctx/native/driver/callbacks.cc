#include "callbacks.h"

#include <algorithm>
#include <atomic>
#include <cstddef>

#include "runtime.h"

namespace epctx {
namespace {

using namespace std::chrono_literals;

// How long a callback waits for others, and how long the driver stays to see a late one. Both sleep in short turns: a thread
// that sleeps on is taken for one that is blocked, where the world has FIFOs.
constexpr auto kPatience = 500ms, kLinger = 100ms, kTurn = 50ms;

// Applications that are kept: those of the time in which a callback may come late, and more. One of an earlier request must not
// be met again at the same address.
constexpr size_t kKept = 4096;

// What write callbacks are given is kept in the bulk memory up to here, and behind that what a read callback answers with.
constexpr uint64_t kBulkEnd = uint64_t{512} << 20;

std::mutex g_mutex;
std::deque<std::shared_ptr<Application>> g_applications;
std::shared_ptr<Application> g_called;  // by the last call that began: where an unknown state is counted
std::atomic<uint64_t> g_bulk_used = 0;

thread_local bool t_reentered = false;
thread_local Application* t_calling = nullptr;  // whose call runs on this thread

}  // namespace

void TakeCallback(std::string_view field, Callback& callback) {
  callback.script = Take<CallbackScript>(field);
  const std::string_view content = Take(field, callback.script.content_size);
  if (content.size() > kInlineLimit) {
    if (!TryPutBulk(content, kBulkEnd)) throw BadMessage{"the bulk memory cannot hold the answer of a callback"};
    Forget(content);
  } else {
    callback.content = content;
  }
  callback.reenters = Take(field, callback.script.reenters_size);
  callback.text = field;
}

void* StateOf(Callback& callback) { return (callback.script.flags & kNullState) != 0 ? nullptr : &callback; }

void ReserveBulk(uint64_t size) { g_bulk_used = size; }

// --- an application --------------------------------------------------------------------------------------------------------

std::shared_ptr<Application> Application::New() {
  std::shared_ptr<Application> made(new Application);
  const std::lock_guard<std::mutex> lock(g_mutex);
  g_applications.push_back(made);
  if (g_applications.size() > kKept) g_applications.pop_front();
  return made;
}

Registration& Application::Register() { return registrations_.emplace_back(); }

Application::InCall::InCall(Application& application)
    : application_(application), before_(std::exchange(t_calling, &application)) {
  {
    const std::lock_guard<std::mutex> lock(g_mutex);
    g_called = application.shared_from_this();
  }
  const std::lock_guard<std::mutex> lock(application_.mutex_);
  if (application_.calls_begun_++ == 0) application_.start_ = Clock::now();
  ++application_.calls_;
}

Application::InCall::~InCall() {
  t_calling = before_;
  const std::lock_guard<std::mutex> lock(application_.mutex_);
  --application_.calls_;
}

void Application::Linger(Clock::time_point end) {
  std::unique_lock<std::mutex> lock(mutex_);
  for (const auto last = end + kLinger; !late_ && Clock::now() < last;)
    changed_.wait_until(lock, std::min(last, Clock::now() + kTurn));
}

void Application::Report(Message& message) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const Invocation& seen : seen_) message.Add(Tag::kCallback, BytesOf(seen.record), seen.name, seen.payload);
}

bool Application::Gave(const void* data) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::any_of(gave_.begin(), gave_.end(), [&](const auto& one) { return one.first == data; });
}

size_t Application::Readable(const void* data, size_t size) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [given, allocated] : gave_) {
    if (given == data) return std::min(size, allocated);
  }
  return size;
}

bool Application::Owns(const void* state) const {
  return std::any_of(registrations_.begin(), registrations_.end(),
                     [&](const Registration& one) { return state == &one.read || state == &one.write; });
}

bool Application::Called() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return calls_ > 0;
}

// The callback that a state belongs to; the first one for an unknown state.
Callback& Application::Find(bool write, const void* state, CallbackRecord& record) {
  for (size_t i = 0; i < registrations_.size(); ++i) {
    Callback& callback = write ? registrations_[i].write : registrations_[i].read;
    if (state != StateOf(callback)) continue;
    record.flags |= kStateOk;
    record.registration = static_cast<uint32_t>(i);
    return callback;
  }
  Registration& first = registrations_.front();
  return write ? first.write : first.read;
}

// --- an invocation ---------------------------------------------------------------------------------------------------------

// One that runs: it is recorded when it begins, and completed when it ends.
class Application::Running {
 public:
  Running(Application& application, bool write, const void* state, std::string_view name) : application_(application) {
    const std::lock_guard<std::mutex> lock(application_.mutex_);
    Invocation& seen = application_.seen_.emplace_back();
    record_ = &seen.record;  // a deque leaves it where it is
    payload_ = &seen.payload;
    seen.name = name;
    record_->name_size = static_cast<uint32_t>(name.size());
    record_->direction = write ? 1 : 0;
    record_->reentered = -1;
    record_->started = application_.Now();
    record_->thread = ThreadIndex();
    callback_ = &application_.Find(write, state, *record_);
    if (application_.calls_ == 0) {
      record_->flags |= kLate;
      application_.late_ = true;
    }
    ++application_.in_flight_;
    application_.most_in_flight_ = std::max(application_.most_in_flight_, application_.in_flight_);
    application_.changed_.notify_all();
  }
  ~Running() {
    const std::lock_guard<std::mutex> lock(application_.mutex_);
    record_->ended = application_.Now();
    --application_.in_flight_;
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  const Callback& callback() const { return *callback_; }
  bool late() const { return (record_->flags & kLate) != 0; }

  // For the invocation's own thread; a report meanwhile finds it unfinished.
  template <typename Change>
  void Note(Change change) {
    const std::lock_guard<std::mutex> lock(application_.mutex_);
    change(*record_, *payload_);
  }

  // What every callback does before it answers.
  void WaitAndReenter(bool write, std::string_view name, std::string_view payload) {
    const Callback& script = callback();
    if (script.script.waits > 1) Meet(script.script.waits);
    if (script.script.reenters_size == 0 || t_reentered || name == script.reenters || !application_.Called()) return;
    t_reentered = true;
    const OrtErrorCode code = application_.reenter(write, script.reenters, payload);
    t_reentered = false;
    Note([&](CallbackRecord& record, std::string&) { record.reentered = code; });
  }

  // What the application says in the end.
  OrtStatus* Answer() const {
    const Callback& script = callback();
    if (script.script.code == ORT_OK) return nullptr;
    return Api().CreateStatus(static_cast<OrtErrorCode>(script.script.code), script.text.c_str());
  }

 private:
  void Meet(uint32_t wanted) {
    std::unique_lock<std::mutex> lock(application_.mutex_);
    const auto end = Clock::now() + kPatience;
    while (application_.most_in_flight_ < wanted && Clock::now() < end) application_.changed_.wait_for(lock, kTurn);
    if (application_.most_in_flight_ >= wanted) record_->flags |= kMet;
  }

  uint32_t ThreadIndex() {
    std::vector<std::thread::id>& threads = application_.threads_;
    const auto found = std::find(threads.begin(), threads.end(), std::this_thread::get_id());
    const auto index = static_cast<uint32_t>(found - threads.begin());
    if (found == threads.end()) threads.push_back(std::this_thread::get_id());
    return index;
  }

  Application& application_;
  CallbackRecord* record_ = nullptr;
  std::string* payload_ = nullptr;
  Callback* callback_ = nullptr;
};

OrtStatus* Application::Fill(const Callback& callback, OrtAllocator* from, void** buffer, size_t* size) {
  const CallbackScript& script = callback.script;
  *buffer = nullptr;
  *size = script.reported_size;
  if ((script.flags & kHasContent) == 0) return nullptr;
  if (from == nullptr) return Api().CreateStatus(ORT_FAIL, "the callback was given no allocator");
  if (OrtStatus* status = Api().AllocatorAlloc(from, script.content_size, buffer)) return status;
  if (*buffer == nullptr) {  // real allocators give NULL for no bytes
    return script.content_size == 0 ? nullptr : Api().CreateStatus(ORT_FAIL, "the callback got no memory");
  }
  if (callback.content.empty()) {
    GetBulk(*buffer, script.content_size, kBulkEnd);
  } else {
    callback.content.copy(static_cast<char*>(*buffer), script.content_size);
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  gave_.emplace_back(*buffer, script.content_size);
  return nullptr;
}

OrtStatus* Application::Read(const void* state, std::string_view name, OrtAllocator* from, void** buffer, size_t* size) {
  Running running(*this, false, state, name);
  *buffer = nullptr;
  *size = 0;
  if (running.late()) return nullptr;
  running.Note([&](CallbackRecord& record, std::string&) {
    record.size = running.callback().script.reported_size;
    if (from == allocator) record.flags |= kAllocatorOk;
  });
  running.WaitAndReenter(false, name, {});
  if (OrtStatus* status = Fill(running.callback(), from, buffer, size)) return status;
  return running.Answer();
}

OrtStatus* Application::Write(const void* state, std::string_view name, const void* buffer, size_t size) {
  Running running(*this, true, state, name);
  const std::string_view given(static_cast<const char*>(buffer), buffer != nullptr ? size : 0);
  uint64_t offset = 0;
  const bool bulk = given.size() > kInlineLimit && (offset = g_bulk_used.fetch_add(given.size())) + given.size() <= kBulkEnd &&
                    TryPutBulk(given, offset);
  running.Note([&](CallbackRecord& record, std::string& payload) {
    record.size = size;
    record.flags |= (buffer == nullptr ? kNullBuffer : 0u) | (bulk ? kInBulk : 0u) | kAllocatorOk;
    record.bulk_offset = offset;
    if (given.size() <= kInlineLimit) payload = given;
  });
  if (running.late()) return nullptr;
  running.WaitAndReenter(true, name, given);
  return running.Answer();
}

// --- the C functions -------------------------------------------------------------------------------------------------------

namespace {

// The application whose call runs on this thread, whatever the state; else the one that the state belongs to; for an unknown
// state, that of the last call.
std::shared_ptr<Application> Of(const void* state) {
  if (t_calling != nullptr) return t_calling->shared_from_this();
  const std::lock_guard<std::mutex> lock(g_mutex);
  for (const std::shared_ptr<Application>& one : g_applications) {
    if (one->Owns(state)) return one;
  }
  return g_called;
}

std::string_view Text(const char* name) { return name != nullptr ? name : ""; }

}  // namespace

OrtStatus* ReadCallback(void* state, const char* name, OrtAllocator* allocator, void** buffer, size_t* size) noexcept {
  return Of(state)->Read(state, Text(name), allocator, buffer, size);
}

OrtStatus* WriteCallback(void* state, const char* name, const void* buffer, size_t size) noexcept {
  return Of(state)->Write(state, Text(name), buffer, size);
}

}  // namespace epctx
