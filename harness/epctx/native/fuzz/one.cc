#include "fuzz/one.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "driver/calls.h"
#include "driver/config.h"
#include "driver/probe.h"
#include "driver/runtime.h"
#include "driver/target.h"
#include "driver/wire.h"
#include "fuzz/chance.h"
#include "fuzz/ground.h"
#include "fuzz/plan.h"

namespace epctx {
namespace {

// So many executions that look wrong in the same way, by the same call in the same world, are noted.
constexpr int kEach = 4;

class Fuzzed {
 public:
  std::string Start(const char* target, const char* ort, const char* set, int plan, int report) {
    void* shared = ::mmap(nullptr, kReportSize, PROT_READ | PROT_WRITE, MAP_SHARED, report, 0);
    if (shared == MAP_FAILED) return "the report cannot be mapped";
    report_ = static_cast<ReportHead*>(shared);
    try {
      worlds_ = TakePlan(Contents(plan));
    } catch (const BadMessage& bad) {
      return std::string("the plan cannot be read: ") + bad.why;
    }
    std::signal(SIGXFSZ, SIG_IGN);
    std::signal(SIGPIPE, SIG_IGN);
    std::string version;
    if (std::string wrong = StartRuntime(ort, version); !wrong.empty()) return wrong;
    Lend(NeedsLoan(target, set));
    if (std::string wrong = LoadTarget(target, Api(), set, target_); !wrong.empty()) return wrong;
    for (const std::string& ability : AbilitiesOf(target_)) {
      writes_ |= ability == "write";
      falls_back_ |= ability == "fallback";
    }
    return standing_.Make(worlds_);
  }

  bool One(std::string_view data) {
    if (report_->executions == 0) GoOnAfterAlarms();
    if (!Decode(worlds_, data, meaning_)) return false;
    const World& world = worlds_[meaning_.world];
    const Prepared& call = world.calls[meaning_.call];
    if (call.writes && !(call.name_tag == Tag::kFallback ? falls_back_ : writes_)) return false;
    MakeRequest(worlds_, meaning_, request_);
    data.copy(report_->input, kLongestInput);
    report_->running = data.size();
    RestartChance();
    Perform(target_, request_, reply_);
    report_->running = 0;
    ++report_->executions;
    const Happened happened = standing_.Look();
    if (call.from_model && happened.outside) Note(Suspicion::kOutside, data);
    Judge(world, call, data);
    return true;
  }

 private:
  // libFuzzer looks at the time whenever its alarm goes off, which would also end the waiting of a call that hangs.
  static void GoOnAfterAlarms() {
    struct sigaction action = {};
    if (::sigaction(SIGALRM, nullptr, &action) != 0) return;
    action.sa_flags |= SA_RESTART;
    ::sigaction(SIGALRM, &action, nullptr);
  }

  static std::string Contents(int file) {
    struct stat info = {};
    if (::fstat(file, &info) != 0) throw BadMessage{"it is no file"};
    std::string bytes(static_cast<size_t>(info.st_size), '\0');
    GetBytes(file, bytes);
    return bytes;
  }

  static void GetBytes(int file, std::string& bytes) {
    for (size_t done = 0; done < bytes.size();) {
      const ssize_t count = ::pread(file, &bytes[done], bytes.size() - done, static_cast<off_t>(done));
      if (count <= 0) throw BadMessage{"it is cut off"};
      done += static_cast<size_t>(count);
    }
  }

  // What can be told from the reply alone.
  void Judge(const World& world, const Prepared& call, std::string_view data) {
    std::string_view body = reply_.body();
    const auto reply = Take<Reply>(body);
    std::string_view output, message;
    bool moved_wrong = false;
    for (Fields fields(body); fields.Next();) {
      if (fields.tag == Tag::kOutput && (reply.flags & kOutputInBulk) == 0) output = fields.content;
      if (fields.tag == Tag::kMessage) message = fields.content;
      moved_wrong |= fields.tag == Tag::kMoveFault;
    }
    if ((reply.flags & kThrew) != 0) Note(Suspicion::kThrew, data);
    if (reply.code != ORT_OK && message.empty()) Note(Suspicion::kStatus, data);
    if (reply.code != ORT_OK && reply.output_size != 0) Note(Suspicion::kOutput, data);
    if (reply.live != 0 || reply.bad_frees != 0 || reply.bad_releases != 0 || reply.statuses != reply.statuses_released) {
      Note(Suspicion::kMemory, data);
    }
    if (moved_wrong) Note(Suspicion::kMoves, data);
    if (!call.from_model) return;
    for (const std::string& mark : world.marks) {
      if (output.find(mark) != std::string_view::npos || message.find(mark) != std::string_view::npos) {
        Note(Suspicion::kLeak, data);
        return;
      }
    }
  }

  void Note(Suspicion suspicion, std::string_view data) {
    const uint64_t size = sizeof(SuspectRecord) + ((data.size() + 7) & ~uint64_t{7}), used = report_->used;
    if (noted_[{suspicion, meaning_.world, meaning_.call}]++ >= kEach || sizeof(ReportHead) + used + size > kReportSize) {
      ++report_->dropped;
      return;
    }
    char* at = reinterpret_cast<char*>(report_ + 1) + used;
    const SuspectRecord record{static_cast<uint32_t>(suspicion), static_cast<uint32_t>(data.size())};
    std::memcpy(at, &record, sizeof record);
    data.copy(at + sizeof record, data.size());
    report_->used = used + size;  // only now, so that what is read is whole
  }

  ReportHead* report_ = nullptr;
  std::vector<World> worlds_;
  Target target_;
  bool writes_ = false, falls_back_ = false;
  StandingWorlds standing_;
  Meaning meaning_ = {};
  std::string request_;
  Message reply_;
  std::map<std::tuple<Suspicion, uint32_t, uint32_t>, int> noted_;
};

Fuzzed& fuzzed() {
  static Fuzzed& one = *new Fuzzed;  // never destroyed: the process ends in the midst of a call
  return one;
}

}  // namespace
}  // namespace epctx

const char* epctx_fuzz_start(const char* target, const char* ort, const char* set, int plan, int report) {
  static std::string wrong;
  wrong = epctx::fuzzed().Start(target, ort, set, plan, report);
  return wrong.empty() ? nullptr : wrong.c_str();
}

int epctx_fuzz_one(const uint8_t* data, size_t size) {
  return epctx::fuzzed().One({reinterpret_cast<const char*>(data), size}) ? 1 : 0;
}
