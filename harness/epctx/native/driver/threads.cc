#include "threads.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <thread>
#include <utility>

#include "driver/processors.h"

namespace epctx {
namespace {

using namespace std::chrono_literals;

// The one at work, or that was last: the callbacks have no other way to it that a target could not bend. Some are kept, since
// a target that calls back late must meet something.
Threads* g_threads = nullptr;
std::deque<std::shared_ptr<Threads>> g_kept;
constexpr size_t kKept = 4;

// How long a callback waits for others. One that waited in vain is enough: those after it do not.
constexpr std::chrono::microseconds kPatience = 500ms, kTurn = 100us;

// Counters tell nothing about each other, and must not bring the target's threads into an order.
constexpr auto kRelaxed = std::memory_order_relaxed;

std::string Quoted(std::string_view name) { return '"' + std::string(name.substr(0, 80)) + '"'; }

std::string Words(const Share& share) { return (share.write ? "a write of " : "a read of ") + Quoted(share.name); }

}  // namespace

// What a thread is at.
struct Threads::Turn {
  const Share& share;
  const void* state;  // of its config
  Tally& tally;
  Faults& faults;     // of its share
  bool within;        // a callback, from which it called the target again
  bool came;          // its write to a callback
  std::string wrong;  // what is wrong with its bytes, in words
};

thread_local Threads::Turn* Threads::t_turn = nullptr;

std::shared_ptr<Threads> Threads::New(std::string_view field) {
  std::shared_ptr<Threads> made(new Threads(field));
  g_threads = made.get();
  g_kept.push_back(made);
  if (g_kept.size() > kKept) g_kept.pop_front();
  return made;
}

Threads::Threads(std::string_view field) : script_(epctx::Take<ThreadsScript>(field)) {
  for (uint32_t i = 0; i < script_.shares; ++i) {
    const auto head = epctx::Take<ShareScript>(field);
    Share& share = shares_.emplace_back();
    share.write = head.write != 0;
    share.refused = head.refused != 0;
    share.name = epctx::Take(field, head.name_size);
    share.content = epctx::Take(field, head.content_size);
  }
  if (shares_.empty()) throw BadMessage{"threads have no share"};
  if (!Has(kReadsByCallback) && !Has(kWritesByCallback)) return;
  states_.resize(Has(kConfigForEach) ? shares_.size() : 1);
}

// --- the calls -------------------------------------------------------------------------------------------------------------

void Threads::AddConfigs() {
  for (uint64_t& state : states_) {
    Registered callbacks;
    if (Has(kReadsByCallback)) callbacks.read = &Threads::Read;
    if (Has(kWritesByCallback)) callbacks.write = &Threads::Write;
    callbacks.read_state = callbacks.write_state = &state;
    callee_->AddConfig(callbacks);
  }
}

void Threads::Run(Callee& callee) {
  callee_ = &callee;
  AddConfigs();
  Tally all{0, 0, std::vector<Faults>(shares_.size()), {}};
  std::vector<Tally> tallies(script_.count, all);
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < script_.count; ++i) threads.emplace_back(&Threads::Work, this, i, std::ref(tallies[i]));
  for (std::thread& thread : threads) thread.join();
  counts_.most_in_flight = most_in_flight_;
  for (Tally& tally : tallies) {
    counts_.calls += tally.calls;
    counts_.right += tally.right;
    for (size_t i = 0; i < shares_.size(); ++i) all.faults[i].Add(std::move(tally.faults[i]));
    if (thrown_.empty()) thrown_ = std::move(tally.thrown);
  }
  for (size_t i = 0; i < shares_.size(); ++i) {
    Faults& faults = all.faults[i];
    if (!faults.Any()) continue;
    if (thrown_.empty() && EndsSoAlone(i)) {
      counts_.alone += faults.wrong + faults.failed;
      continue;
    }
    counts_.wrong += faults.wrong;
    counts_.failed += faults.failed;
    counts_.crossed += faults.crossed;
    if (evidence_.empty()) evidence_ = std::move(faults.evidence);
  }
}

void Threads::Report(Reply& reply, Message& message) const {
  message.Add(Tag::kThreadCounts, BytesOf(counts_), evidence_, {});
  if (thrown_.empty()) return;
  reply.flags |= kThrew;
  message.Add(Tag::kException, thrown_);
}

// Whether the call of a share, made once more and by itself, does not end as it should either: then other threads are not to
// blame.
bool Threads::EndsSoAlone(size_t index) {
  waited_in_vain_ = true;
  Tally tally{0, 0, std::vector<Faults>(shares_.size()), {}};
  Make(index, tally, true);
  return tally.faults[index].Any();
}

void Threads::Faults::Note(uint32_t Faults::* kind, const std::string& words) {
  ++(this->*kind);
  if (evidence.empty()) evidence = words;
}

void Threads::Faults::Add(Faults&& others) {
  wrong += others.wrong;
  failed += others.failed;
  crossed += others.crossed;
  if (evidence.empty()) evidence = std::move(others.evidence);
}

void Threads::Work(uint32_t thread, Tally& tally) {
  UseAllProcessors();
  ready_.fetch_add(1, kRelaxed);
  while (ready_.load(kRelaxed) < script_.count) std::this_thread::yield();
  for (uint32_t round = 0; round < script_.rounds && tally.thrown.empty(); ++round) {
    Make((thread + size_t{round} * script_.count) % shares_.size(), tally, false);
  }
}

void Threads::Make(size_t index, Tally& tally, bool within) {
  const Share& share = shares_[index];
  const size_t own = states_.size() > 1 ? index : 0;
  Turn turn{share, states_.empty() ? nullptr : &states_[own], tally, tally.faults[index], within, false, {}};
  Turn* const before = std::exchange(t_turn, &turn);
  const Outcome outcome = callee_->Call(index, share, own, [&](std::string_view bytes) {
    if (bytes != share.content) turn.wrong = " had " + WordsOn(bytes);
  });
  t_turn = before;
  const bool lost = share.write && Has(kWritesByCallback) && !turn.came && !met_stranger_.load(kRelaxed);
  if (lost) turn.wrong = " was accepted without its callback";

  ++tally.calls;
  const auto failed = [&](const std::string& how) { turn.faults.Note(&Faults::failed, Words(share) + how); };
  if (outcome.threw) {
    tally.thrown = outcome.text;
    failed(" threw: " + outcome.text);
  } else if (outcome.code != ORT_OK && !share.refused) {
    failed(" was refused with code " + std::to_string(outcome.code) + ": " + outcome.text);
  } else if (outcome.code == ORT_OK && share.refused) {
    failed(" was accepted");
  } else if (!share.refused && !turn.wrong.empty()) {
    turn.faults.Note(&Faults::wrong, Words(share) + turn.wrong);
  } else {
    ++tally.right;
  }
}

std::string Threads::WordsOn(std::string_view bytes) const {
  for (const Share& share : shares_) {
    if (share.content == bytes) return "the bytes of " + Quoted(share.name);
  }
  return std::to_string(bytes.size()) + " bytes that are no share's";
}

// --- the application -------------------------------------------------------------------------------------------------------

// A callback that is at work.
class Threads::Flight {
 public:
  explicit Flight(Threads& threads) : threads_(threads) {
    const uint32_t now = threads.in_flight_.fetch_add(1, kRelaxed) + 1;
    uint32_t most = threads.most_in_flight_.load(kRelaxed);
    while (most < now && !threads.most_in_flight_.compare_exchange_weak(most, now, kRelaxed)) continue;
  }
  ~Flight() { threads_.in_flight_.fetch_sub(1, kRelaxed); }
  Flight(const Flight&) = delete;
  Flight& operator=(const Flight&) = delete;

  // Waits until `wanted` were at work at once.
  void Await(uint32_t wanted) const {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (threads_.most_in_flight_.load(kRelaxed) < wanted && !threads_.waited_in_vain_.load(kRelaxed)) {
      if (std::chrono::steady_clock::now() > end) threads_.waited_in_vain_.store(true, kRelaxed);
      std::this_thread::sleep_for(kTurn);
    }
  }

 private:
  Threads& threads_;
};

// Calls the target again from within a callback, and from there not once more.
void Threads::Reenter(int32_t index) {
  if (index >= 0 && t_turn != nullptr && !t_turn->within) Make(static_cast<size_t>(index), t_turn->tally, true);
}

// Holds what a callback was given against what its thread is at.
void Threads::Compare(const void* state, std::string_view name, const char* direction) {
  if (t_turn == nullptr) return met_stranger_.store(true, kRelaxed);  // a thread of the target's own
  if (state == t_turn->state && name == t_turn->share.name) return;
  const std::string with = state == t_turn->state ? "for " + Quoted(name) : "with " + WordsOn(state);
  t_turn->faults.Note(&Faults::crossed, Words(t_turn->share) + " had its " + direction + " callback called " + with);
}

std::string Threads::WordsOn(const void* state) const {
  for (size_t i = 0; i < states_.size(); ++i) {
    if (state == &states_[i]) return "the state of " + Quoted(shares_[i].name);
  }
  return "a state that was never registered";
}

OrtStatus* Threads::Read(void* state, const char* name, OrtAllocator* from, void** buffer, size_t* size) noexcept {
  Threads& threads = *g_threads;
  const Flight flight(threads);
  const std::string_view asked = name != nullptr ? name : "";
  threads.Compare(state, asked, "read");
  flight.Await(threads.script_.read_waits);
  threads.Reenter(threads.script_.read_reenters);
  for (const Share& share : threads.shares_) {
    if (share.write || share.name != asked) continue;
    if (OrtStatus* status = Api().AllocatorAlloc(from, share.content.size(), buffer)) return status;
    if (*buffer == nullptr) return Api().CreateStatus(ORT_FAIL, "the callback got no memory");
    share.content.copy(static_cast<char*>(*buffer), share.content.size());
    *size = share.content.size();
    return nullptr;
  }
  return Api().CreateStatus(ORT_FAIL, "the application has nothing of that name");
}

OrtStatus* Threads::Write(void* state, const char* name, const void* buffer, size_t size) noexcept {
  Threads& threads = *g_threads;
  const Flight flight(threads);
  threads.Compare(state, name != nullptr ? name : "", "write");
  flight.Await(threads.script_.write_waits);
  threads.Reenter(threads.script_.write_reenters);
  if (t_turn != nullptr) {
    const std::string_view bytes(static_cast<const char*>(buffer), buffer != nullptr ? size : 0);
    t_turn->came = true;
    if (bytes != t_turn->share.content) t_turn->wrong = " gave its callback " + threads.WordsOn(bytes);
  }
  return nullptr;
}

}  // namespace epctx
