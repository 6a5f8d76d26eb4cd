#include "calls.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "attempt.h"
#include "callbacks.h"
#include "config.h"
#include "race.h"
#include "runtime.h"
#include "steps.h"
#include "surroundings.h"
#include "threads.h"

namespace epctx {
namespace {

using Clock = std::chrono::steady_clock;

// --- the request -----------------------------------------------------------------------------------------------------------

struct Resize {
  uint64_t size;
  std::string path;
};

struct Race {
  uint32_t rounds = 0;
  RaceKind kind = RaceKind::kExchange;
  std::string a, b;
  std::string_view inside;
};

// A request, taken apart. Texts that become C strings are copied, so that they end in a NUL.
struct Ask {
  Request head = {};
  std::optional<std::string> name, fallback, cwd;
  std::string_view payload;
  OrtGraph graph;
  Registered callbacks;
  std::optional<Resize> resize;
  std::optional<Race> race;
  std::shared_ptr<Threads> threads;
  std::vector<Step> steps;

  bool Has(RequestFlag flag) const { return (head.flags & flag) != 0; }
};

OrtOpAttr TakeAttribute(std::string_view content) {
  OrtOpAttr attribute;
  attribute.type = static_cast<OrtOpAttrType>(Take<uint32_t>(content));
  attribute.name = Take(content, Take<uint32_t>(content));
  switch (attribute.type) {
    case ORT_OP_ATTR_STRINGS:  // each with a NUL at its end, as the real function gives them
      for (uint32_t count = Take<uint32_t>(content); count > 0; --count) {
        attribute.value.append(Take(content, Take<uint32_t>(content))).push_back('\0');
      }
      break;
    case ORT_OP_ATTR_INTS: {
      const uint32_t count = Take<uint32_t>(content);
      attribute.value = Take(content, count * sizeof(int64_t));
      break;
    }
    default: attribute.value = content;
  }
  return attribute;
}

OrtNode TakeNode(std::string_view content) {
  OrtNode node;
  size_t texts = 0;
  for (Fields fields(content); fields.Next();) {
    if (fields.tag == Tag::kNodeText) (texts++ == 0 ? node.domain : node.op_type) = fields.content;
    if (fields.tag == Tag::kAttribute) node.attributes.push_back(TakeAttribute(fields.content));
  }
  return node;
}

// Takes a request apart; its callbacks go into `registration`.
void TakeApart(std::string_view request, Ask& ask, Registration& registration) {
  ask.head = Take<Request>(request);
  std::string_view inside;
  for (Fields fields(request); fields.Next();) {
    std::string_view content = fields.content;
    switch (fields.tag) {
      case Tag::kName: ask.name = content; break;
      case Tag::kFallback: ask.fallback = content; break;
      case Tag::kModelPath: ask.graph.model_path = content; break;
      case Tag::kPayload: ask.payload = content; break;
      case Tag::kReadCallback:
        TakeCallback(content, registration.read);
        ask.callbacks.read = ReadCallback;
        ask.callbacks.read_state = StateOf(registration.read);
        break;
      case Tag::kWriteCallback:
        TakeCallback(content, registration.write);
        ask.callbacks.write = WriteCallback;
        ask.callbacks.write_state = StateOf(registration.write);
        break;
      case Tag::kCwd: ask.cwd = content; break;
      case Tag::kNode: ask.graph.nodes.push_back(TakeNode(content)); break;
      case Tag::kRaceInside: inside = content; break;
      case Tag::kThreads: ask.threads = Threads::New(content); break;
      case Tag::kStep: ask.steps.push_back(Take<Step>(content)); break;
      case Tag::kResize: {
        const auto size = Take<uint64_t>(content);
        ask.resize = Resize{size, std::string(content)};
        break;
      }
      case Tag::kRace: {
        Race race;
        race.rounds = Take<uint32_t>(content);
        race.kind = RaceKind{Take<uint32_t>(content)};
        race.a = Take(content, Take<uint32_t>(content));
        race.b = content;
        ask.race = std::move(race);
        break;
      }
      default: throw BadMessage{"a field has a tag that no request has"};
    }
  }
  if (ask.race) ask.race->inside = inside;
}

// --- the call --------------------------------------------------------------------------------------------------------------

// What an output is made to hold before it is used.
constexpr std::string_view kHeldData = "held from an earlier read";

// A library that several threads call.
class LibraryCallee : public Callee {
 public:
  LibraryCallee(const Target& target, const OrtGraph* graph, OrtAllocator* allocator)
      : target_(target), graph_(graph), allocator_(allocator) {}

  void AddConfig(const Registered& callbacks) override {
    Config& config = configs_.emplace_back();
    if (Try([&] { return config.Take(*target_.api, callbacks); }).code != ORT_OK) throw BadMessage{"the runtime gives no config"};
  }

  Outcome Call(size_t, const Share& share, size_t own, const std::function<void(std::string_view)>& take) override {
    const OrtEpContextConfig* config = configs_.empty() ? nullptr : configs_[own].get();
    const Output output(share.write ? nullptr : target_.output_new(), OutputDeleter{&target_});
    Outcome outcome = Try([&] {
      const char* name = share.name.c_str();
      if (share.write) return target_.write(target_.api, config, name, graph_, share.content.data(), share.content.size());
      return target_.read(target_.api, config, name, graph_, output.get(), allocator_);
    });
    if (output && outcome.code == ORT_OK && !outcome.threw) {
      const void* data = target_.output_data(output.get());
      take({static_cast<const char*>(data), data != nullptr ? target_.output_size(output.get()) : 0});
    }
    return outcome;
  }

 private:
  const Target& target_;
  const OrtGraph* graph_;
  OrtAllocator* allocator_;
  std::deque<Config> configs_;
};

// A call that has ended, and of which something may come late.
struct Awaited {
  uint32_t ticket;
  std::shared_ptr<Application> application;
  Config config;
  Clock::time_point end;
};
std::deque<Awaited> awaited;

// Waits for what comes late of the call with a ticket, and forgets those before it.
void Await(uint32_t ticket, Message& message) {
  message.Start(2, sizeof(Reply));
  while (!awaited.empty() && awaited.front().ticket != ticket) awaited.pop_front();
  if (awaited.empty()) throw BadMessage{"no call has the ticket that is asked for"};
  awaited.front().application->Linger(awaited.front().end);
  awaited.front().application->Report(message);
  awaited.pop_front();
  message.SetFixed(Reply{});
}

// One request in work.
class Work {
 public:
  Work(const Target& target, std::string_view request, Message& message)
      : target_(target), message_(message), application_(Application::New()), output_(nullptr, OutputDeleter{&target}) {
    TakeApart(request, ask_, application_->Register());
    ReserveBulk(ask_.Has(kPayloadInBulk) ? ask_.head.payload_size : 0);
    application_->allocator = AllocatorToGive() != nullptr ? AllocatorToGive() : DefaultAllocator();
    application_->reenter = [this](bool write, const std::string& name, std::string_view payload) {
      return Reenter(write, name, payload);
    };
  }

  void Do() {
    message_.Start(2, sizeof(Reply));
    if (ask_.cwd) EnterDirectory(*ask_.cwd);
    OfferAccessors(!ask_.Has(kNoAccessors));
    const AllocatorKind kind{ask_.head.allocator};
    ledger().Begin(AllocatorKind::kDefault);
    config_fault_ = TakeConfig();
    const bool reads = ask_.head.op == static_cast<uint32_t>(Op::kRead) && !ask_.threads;
    if (reads) {
      output_.reset(target_.output_new());
      if (ask_.Has(kHeld) && !Hold(output_.get())) reply_.flags |= kNotHeld;
    }
    ledger().set_kind(kind);
    if (ask_.resize) {
      ledger().on_next_allocation = [this] {
        static_cast<void>(::truncate(ask_.resize->path.c_str(), static_cast<off_t>(ask_.resize->size)) == 0);
      };
    }
    if (ask_.race) {
      Compete();
    } else if (ask_.threads) {
      CallFromThreads();
    } else {
      const Outcome outcome = CallOnce();
      if (outcome.threw) {
        reply_.flags |= kThrew;
        message_.Add(Tag::kException, outcome.text);
      } else {
        reply_.code = outcome.code;
        if (!outcome.text.empty()) message_.Add(Tag::kMessage, outcome.text);
      }
      if (reads && ask_.Has(kMoves) && target_.output_move != nullptr && target_.output_move_new != nullptr) Move();
      if (reads) AddOutput(OutputBytes(output_.get()));
    }
    if (ask_.Has(kMoves)) {
      std::thread([this] { output_.reset(); }).join();
    }
    output_.reset();
    if (ask_.Has(kAwaited)) {
      awaited.push_back({ask_.head.ticket, application_, std::move(config_), Clock::now()});
    } else {
      if (ask_.Has(kLingers)) application_->Linger(Clock::now());
      config_.Release();
    }
    application_->Report(message_);
    ledger().Report(reply_);
    ledger().End();
    message_.SetFixed(reply_);
    if (ask_.Has(kMarked)) Mark();
  }

 private:
  std::string_view OutputBytes(const EpctxOutput* output) const {
    const void* data = target_.output_data(output);
    return {static_cast<const char*>(data), data != nullptr ? application_->Readable(data, target_.output_size(output)) : 0};
  }

  OrtAllocator* AllocatorToGive() const {
    const AllocatorKind kind{ask_.head.allocator};
    return kind == AllocatorKind::kCaller || kind == AllocatorKind::kNull ? CallerAllocator() : nullptr;
  }

  const char* Name() const { return ask_.name ? ask_.name->c_str() : nullptr; }
  const OrtGraph* Graph() const { return ask_.Has(kGraph) ? &ask_.graph : nullptr; }

  // Takes the config that the call is to have, if it is to have one.
  Outcome TakeConfig() {
    if (ask_.callbacks.read == nullptr && ask_.callbacks.write == nullptr && !ask_.Has(kEmptyConfig)) return {};
    return Try([&] { return config_.Take(*target_.api, ask_.callbacks); });
  }

  // Makes an output hold data, through a callback, which involves no file.
  bool Hold(EpctxOutput* output) const {
    OrtAllocator* allocator = AllocatorKind{ask_.head.allocator} == AllocatorKind::kCaller ? CallerAllocator() : nullptr;
    const std::shared_ptr<Application> application = Application::New();
    Callback& callback = application->Register().read;
    callback.content = kHeldData;
    callback.script.flags = kHasContent;
    callback.script.content_size = callback.script.reported_size = kHeldData.size();
    Config config;
    const Application::InCall in_call(*application);
    const Outcome outcome = Try([&] {
      OrtStatus* status = config.Take(*target_.api, {ReadCallback, &callback, nullptr, nullptr});
      return status != nullptr ? status : target_.read(target_.api, config.get(), "earlier", Graph(), output, allocator);
    });
    return !outcome.threw && outcome.code == ORT_OK && OutputBytes(output) == kHeldData;
  }

  // A call of a callback on the target: it reads or writes another name, with all else as in the call.
  OrtErrorCode Reenter(bool write, const std::string& name, std::string_view payload) const {
    if (write) {
      if (target_.write == nullptr) return ORT_NOT_IMPLEMENTED;
      return Try([&] { return target_.write(target_.api, config_.get(), name.c_str(), Graph(), payload.data(), payload.size()); })
          .code;
    }
    const Output output(target_.output_new(), OutputDeleter{&target_});
    return Try([&] { return target_.read(target_.api, config_.get(), name.c_str(), Graph(), output.get(), AllocatorToGive()); })
        .code;
  }

  OrtStatus* Call() {
    switch (Op{ask_.head.op}) {
      case Op::kRead: return target_.read(target_.api, config_.get(), Name(), Graph(), output_.get(), AllocatorToGive());
      case Op::kWrite: return Write();
      case Op::kLoad:
        if (target_.load == nullptr) throw BadMessage{"the target has no load"};
        return target_.load(target_.api, config_.get(), &ask_.graph, &Work::NoteName, &message_);
      case Op::kConfig: PlaySteps(*target_.api, ask_.steps, message_); return nullptr;
      case Op::kAwait: break;
    }
    throw BadMessage{"there is no such operation"};
  }

  OrtStatus* Write() {
    std::optional<BulkView> bulk;
    const void* buffer = ask_.payload.data();
    size_t size = ask_.payload.size();
    static const char nothing = 0;
    if (buffer == nullptr) buffer = &nothing;
    if (ask_.Has(kPayloadInBulk)) {
      size = ask_.head.payload_size;
      buffer = bulk.emplace(size).data();
    }
    if (ask_.Has(kNullPayload)) {
      size = ask_.head.payload_size;
      buffer = nullptr;
    }
    if (!ask_.Has(kSeparateFallback)) {
      if (target_.write == nullptr) throw BadMessage{"the target has no write"};
      return target_.write(target_.api, config_.get(), Name(), Graph(), buffer, size);
    }
    if (target_.write_fallback == nullptr) throw BadMessage{"the target has no write with a fallback name"};
    const char* fallback = ask_.fallback ? ask_.fallback->c_str() : nullptr;
    return target_.write_fallback(target_.api, config_.get(), Name(), fallback, Graph(), buffer, size);
  }

  static void NoteName(void* message, const char* name, size_t size) {
    static_cast<Message*>(message)->Add(Tag::kLoadedName, {name, size});
  }

  Outcome CallOnce() {
    if (config_fault_.code != ORT_OK || config_fault_.threw) return config_fault_;
    const auto start = Clock::now();
    const Outcome outcome = [&] {
      const FileSizeLimit limit(ask_.head.file_size_limit);
      const Application::InCall in_call(*application_);
      return Try([&] { return Call(); });
    }();
    reply_.nanoseconds = static_cast<uint64_t>((Clock::now() - start) / std::chrono::nanoseconds(1));
    return outcome;
  }

  // Makes all calls of several threads in place of the one.
  void CallFromThreads() {
    LibraryCallee callee(target_, Graph(), AllocatorToGive());
    const auto start = Clock::now();
    {
      const FileSizeLimit limit(ask_.head.file_size_limit);
      ask_.threads->Run(callee);
    }
    reply_.nanoseconds = static_cast<uint64_t>((Clock::now() - start) / std::chrono::nanoseconds(1));
    ask_.threads->Report(reply_, message_);
  }

  // Repeats the call while the attacker is at work, and sorts how the rounds end. The output that is sent is the first that
  // should not have been.
  void Compete() {
    RaceCounts counts = {};
    std::string evidence;
    {
      Attacker attacker(ask_.race->kind, ask_.race->a, ask_.race->b);
      for (; counts.rounds < ask_.race->rounds; ++counts.rounds) {
        if (ask_.head.op == static_cast<uint32_t>(Op::kRead)) output_.reset(target_.output_new());
        attacker.AwaitTurn();
        const Outcome outcome = CallOnce();
        if (outcome.threw) {
          reply_.flags |= kThrew;
          message_.Add(Tag::kException, outcome.text);
          break;
        }
        const std::string_view bytes = output_ ? OutputBytes(output_.get()) : std::string_view();
        uint32_t& sort = outcome.code != ORT_OK ? counts.refused : !output_ ? counts.inside : SortOf(bytes, counts);
        ++sort;
        if ((&sort == &counts.outside || &sort == &counts.torn) && evidence.empty()) evidence = bytes;
      }
      counts.turns = attacker.turns();
    }
    message_.Add(Tag::kRaceCounts, BytesOf(counts));
    if (output_) AddOutput(evidence);
  }

  uint32_t& SortOf(std::string_view bytes, RaceCounts& counts) const {
    const std::string_view inside = ask_.race->inside;
    if (inside.empty()) return counts.outside;  // no state of the names makes this call a good one
    if (bytes == inside) return counts.inside;
    // Part of the good bytes, or good bytes and others: the file was seen while it changed.
    constexpr size_t kMark = 32;
    const std::string_view mark = inside.substr(0, std::min(kMark, bytes.size()));
    return bytes.substr(0, mark.size()) == mark ? counts.torn : counts.outside;
  }

  void AddOutput(std::string_view bytes) {
    if (bytes.data() == nullptr || (output_ && target_.output_data(output_.get()) == nullptr)) reply_.flags |= kOutputNull;
    if (output_ && application_->Gave(target_.output_data(output_.get()))) reply_.flags |= kAdopted;
    reply_.output_size = output_ && !ask_.race ? target_.output_size(output_.get()) : bytes.size();
    if (bytes.size() > kInlineLimit) {
      PutBulk(bytes);
      reply_.flags |= kOutputInBulk;
      message_.Add(Tag::kOutput, BytesOf(uint64_t{bytes.size()}));
    } else {
      message_.Add(Tag::kOutput, bytes);
    }
  }

  void Expect(bool kept, const char* broken) {
    if (!kept) message_.Add(Tag::kMoveFault, broken);
  }

  // Moves the output around, and back into output_.
  void Move() {
    const auto empty = [&](const Output& output) { return target_.output_size(output.get()) == 0; };
    // The bytes stay where they are, or, if they are few and lie in the object itself, are the same elsewhere.
    const std::string_view bytes = OutputBytes(output_.get());
    const std::string few(bytes.substr(0, 64));
    const auto holds = [&](const Output& output) {
      const std::string_view now = OutputBytes(output.get());
      return now.size() == bytes.size() && (now.data() == bytes.data() || now == few);
    };
    const OutputDeleter deleter{&target_};
    Output constructed(target_.output_move_new(output_.get()), deleter);
    Expect(holds(constructed), "a move construction does not give the new object the data");
    Expect(empty(output_), "a move construction leaves its source with data");

    Output assigned(target_.output_new(), deleter);
    target_.output_move(assigned.get(), constructed.get());
    Expect(holds(assigned), "a move assignment does not give its left side the data");
    Expect(empty(constructed), "a move assignment leaves its source with data");

    ledger().set_kind(AllocatorKind::kDefault);
    Reply before = {}, after = {};
    ledger().Report(before);
    if (Hold(constructed.get())) {
      target_.output_move(constructed.get(), constructed.get());
      const bool kept = OutputBytes(constructed.get()) == kHeldData;
      Expect(kept || empty(constructed), "a move of an object onto itself leaves it with other data");
      target_.output_move(constructed.get(), assigned.get());
      ledger().Report(after);
      Expect(after.live == before.live, "a move assignment does not free what its left side held");
      Expect(holds(constructed), "a move assignment onto an object with data does not give it the new data");
      target_.output_move(assigned.get(), constructed.get());
    }
    target_.output_move(output_.get(), assigned.get());
    Expect(holds(output_), "a moved-from object cannot be assigned to again");
  }

  const Target& target_;
  Message& message_;
  const std::shared_ptr<Application> application_;
  Ask ask_;
  Config config_;
  Outcome config_fault_;
  Output output_;
  Reply reply_ = {};
};

}  // namespace

void Perform(const Target& target, std::string_view request, Message& reply) {
  std::string_view rest = request;
  const auto head = Take<Request>(rest);
  if (Op{head.op} == Op::kAwait) return Await(head.ticket, reply);
  Work(target, request, reply).Do();
}

int Bench(const Target& target, double seconds, const char* name, const char* model) {
  ledger().tracking = false;
  const OrtGraph graph{model, {}};
  const auto start = Clock::now();
  double elapsed = 0;
  uint64_t reads = 0;
  size_t bytes = 0;
  while (elapsed < seconds) {
    for (int i = 0; i < 100; ++i, ++reads) {
      EpctxOutput* output = target.output_new();
      if (OrtStatus* status = target.read(target.api, nullptr, name, &graph, output, nullptr)) {
        std::fprintf(stderr, "%s\n", Api().GetErrorMessage(status));
        return 3;
      }
      bytes = target.output_size(output);
      target.output_delete(output);
    }
    elapsed = std::chrono::duration<double>(Clock::now() - start).count();
  }
  std::printf("{\"reads\": %llu, \"seconds\": %.6f, \"reads_per_second\": %.1f, \"bytes\": %zu}\n",
              static_cast<unsigned long long>(reads), elapsed, static_cast<double>(reads) / elapsed, bytes);
  return 0;
}

}  // namespace epctx
