#include "steps.h"

#include <malloc.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "config.h"

namespace epctx {
namespace {

// How many options, configs, functions and states the steps can name, and how often a cycle goes round.
constexpr size_t kPlaces = 4, kFunctions = 2;
constexpr int kWarmUp = 16, kRounds = 256;

// What an output argument holds before a step: where it still does, it was not touched.
char g_untouched = 0;
template <typename Pointer>
Pointer Untouched() {
  return reinterpret_cast<Pointer>(&g_untouched);
}

// Functions to be registered. Nobody calls them.
template <int number>
OrtStatus* ReadNumber(void*, const char*, OrtAllocator*, void**, size_t*) noexcept {
  return nullptr;
}
template <int number>
OrtStatus* WriteNumber(void*, const char*, const void*, size_t) noexcept {
  return nullptr;
}
constexpr std::array<OrtReadNamedBufferFunc, kFunctions> kReads = {ReadNumber<0>, ReadNumber<1>};
constexpr std::array<OrtWriteNamedBufferFunc, kFunctions> kWrites = {WriteNumber<0>, WriteNumber<1>};

// Memory that a state points to. It is from the heap, as an application's would be, so that a runtime that frees it is seen to:
// the heap writes to what is free.
class State {
 public:
  State() : data_(std::malloc(kSize)) { std::memset(data_, kPattern, kSize); }
  ~State() {
    if (Kept()) std::free(data_);  // else it may be free already
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void* data() const { return data_; }
  bool Kept() const {
    const auto* bytes = static_cast<const unsigned char*>(data_);
    return std::all_of(bytes, bytes + kSize, [](unsigned char byte) { return byte == kPattern; });
  }

 private:
  static constexpr size_t kSize = 64;
  static constexpr unsigned char kPattern = 0x5a;
  void* data_;
};

// Bytes of the heap that are in use; 0 where that cannot be had.
size_t HeapInUse() {
#if defined(__GLIBC__)
  return ::mallinfo2().uordblks;
#else
  return 0;
#endif
}

class Player {
 public:
  explicit Player(const OrtApi& api) : api_(api), functions_(FunctionsOf(api)) {}
  ~Player() { Clear(); }
  Player(const Player&) = delete;
  Player& operator=(const Player&) = delete;

  // Makes a step; the text of its status goes to `text`.
  StepResult Play(const Step& step, std::string& text) {
    StepResult result{};
    result.function = result.state = result.config = kNotAsked;
    result.code = Settle(Make(step, result), text);
    return result;
  }

  // Releases all that there is, configs first.
  void Clear() {
    for (OrtEpContextConfig*& config : configs_) {
      if (config != nullptr) functions_.release(std::exchange(config, nullptr));
    }
    for (OrtSessionOptions*& options : options_) {
      if (options != nullptr) functions_.release_options(std::exchange(options, nullptr));
    }
  }

  bool StatesKept() const {
    return std::all_of(states_.begin(), states_.end(), [](const State& state) { return state.Kept(); });
  }

 private:
  OrtStatus* Make(const Step& step, StepResult& result) {
    switch (StepKind{step.kind}) {
      case StepKind::kSetRead: return functions_.set_read(Options(step.options), Function(kReads, step.function), StateOf(step));
      case StepKind::kSetWrite: return functions_.set_write(nullptr, Function(kWrites, step.function), StateOf(step));
      case StepKind::kTake: return Take(step, result);
      case StepKind::kGetRead: return Get(functions_.get_read, kReads, step, result);
      case StepKind::kGetWrite: return Get(functions_.get_write, kWrites, step, result);
      case StepKind::kReleaseConfig:
        functions_.release(step.config < 0 ? nullptr : std::exchange(configs_.at(Index(step.config)), nullptr));
        return nullptr;
      case StepKind::kReleaseOptions:
        functions_.release_options(std::exchange(options_.at(Index(step.options)), nullptr));
        return nullptr;
      case StepKind::kCycle: return Cycle(step, result);
    }
    throw BadMessage{"there is no such step"};
  }

  static size_t Index(int32_t number) { return static_cast<size_t>(number); }

  template <typename Type, size_t size>
  static Type Function(const std::array<Type, size>& functions, int32_t number) {
    return number < 0 ? nullptr : functions.at(Index(number));
  }
  void* StateOf(const Step& step) const { return step.state < 0 ? nullptr : states_.at(Index(step.state)).data(); }

  // The options of a number, made when they are first asked for.
  OrtSessionOptions* Options(int32_t number) {
    if (number < 0) return nullptr;
    OrtSessionOptions*& options = options_.at(Index(number));
    if (options == nullptr && functions_.create_options(&options) != nullptr) throw BadMessage{"there are no session options"};
    return options;
  }
  OrtStatus* Take(const Step& step, StepResult& result) {
    if (step.without == kConfig) return functions_.take(Options(step.options), nullptr);
    auto* config = Untouched<OrtEpContextConfig*>();
    OrtStatus* status = functions_.take(Options(step.options), &config);
    result.config = config == nullptr ? kNull : config == Untouched<OrtEpContextConfig*>() ? kUntouched : 0;
    if (status == nullptr && result.config == 0) configs_.at(Index(step.config)) = config;
    return status;
  }

  template <typename Getter, typename Type, size_t size>
  OrtStatus* Get(Getter getter, const std::array<Type, size>& functions, const Step& step, StepResult& result) {
    auto function = Untouched<Type>();
    auto state = Untouched<void*>();
    OrtStatus* status = getter(step.config < 0 ? nullptr : configs_.at(Index(step.config)),
                               step.without == kFunction ? nullptr : &function, step.without == kState ? nullptr : &state);
    const auto known = std::find(functions.begin(), functions.end(), function);
    result.function = function == nullptr             ? kNull
                      : function == Untouched<Type>() ? kUntouched
                      : known == functions.end()      ? kOther
                                                      : static_cast<int32_t>(known - functions.begin());
    const auto owner = std::find_if(states_.begin(), states_.end(), [&](const State& one) { return one.data() == state; });
    result.state = state == nullptr              ? kNull
                   : state == Untouched<void*>() ? kUntouched
                   : owner == states_.end()      ? kOther
                                                 : static_cast<int32_t>(owner - states_.begin());
    return status;
  }

  // Takes and releases configs, and sees whether the heap grows by it.
  OrtStatus* Cycle(const Step& step, StepResult& result) {
    OrtSessionOptions* options = Options(step.options);
    size_t before = 0;
    for (int round = -kWarmUp; round < kRounds; ++round) {
      if (round == 0) before = HeapInUse();
      OrtEpContextConfig* config = nullptr;
      if (OrtStatus* status = functions_.take(options, &config)) return status;
      functions_.release(config);
    }
    const size_t after = HeapInUse();
    result.grown = after > before ? after - before : 0;
    return nullptr;
  }

  int32_t Settle(OrtStatus* status, std::string& text) const {
    if (status == nullptr) return ORT_OK;
    const OrtErrorCode code = api_.GetErrorCode(status);
    text = api_.GetErrorMessage(status);
    api_.ReleaseStatus(status);
    return code;
  }

  const OrtApi& api_;
  const ConfigFunctions functions_;
  std::array<OrtSessionOptions*, kPlaces> options_ = {};
  std::array<OrtEpContextConfig*, kPlaces> configs_ = {};
  std::array<State, kPlaces> states_;
};

}  // namespace

void PlaySteps(const OrtApi& api, const std::vector<Step>& steps, Message& message) {
  Player player(api);
  for (size_t i = 0; i < steps.size(); ++i) {
    std::string text;
    StepResult result = player.Play(steps[i], text);
    if (i + 1 == steps.size()) player.Clear();
    result.states_kept = player.StatesKept() ? 1 : 0;
    result.message_size = static_cast<uint32_t>(text.size());
    message.Add(Tag::kStepResult, BytesOf(result), text, {});
  }
}

}  // namespace epctx
