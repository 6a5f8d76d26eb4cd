// Weaknesses in when the application's callbacks are asked, and what happens beside them.

#include "weak/behaviour.h"

namespace epctx_weak {
namespace {

std::string Normal(const char* name) { return std::filesystem::path(name).lexically_normal().string(); }

// Hands a callback a name that was tidied up.
template <typename Use>
OrtStatus* WithNormalName(const Call& call, Use use) {
  Call changed = call;
  std::string normal;
  if (call.config != nullptr && !IsEmpty(call.name)) {
    normal = Normal(call.name);
    changed.name = normal.c_str();
  }
  return use(changed);
}

// Takes the file where there is one, and asks the callback only where there is none.
OrtStatus* ReadFileFirst(const Behaviour& self, const Call& call, EpctxOutput& output) {
  Call without = call;
  without.config = nullptr;
  if (OrtStatus* status = Read(self, without, output)) {
    call.api.ReleaseStatus(status);
    return Read(self, call, output);
  }
  return nullptr;
}

OrtStatus* WriteInHalves(const Behaviour& self, const Call& call) {
  if (call.config == nullptr || call.size < 2) return Write(self, call);
  Call half = call;
  half.size = call.size / 2;
  if (OrtStatus* status = Write(self, half)) return status;
  half.buffer = static_cast<const char*>(call.buffer) + half.size;
  half.size = call.size - half.size;
  return Write(self, half);
}

}  // namespace

void AddCallbacks(Table& table) {
  table["name-normalised-for-callback"] = [](Behaviour& b) {
    b.read = [](const Behaviour& self, const Call& call, EpctxOutput& output) {
      return WithNormalName(call, [&](const Call& changed) { return Read(self, changed, output); });
    };
    b.write = [](const Behaviour& self, const Call& call) {
      return WithNormalName(call, [&](const Call& changed) { return Write(self, changed); });
    };
  };
  table["file-before-callback"] = [](Behaviour& b) { b.read = ReadFileFirst; };
  table["writes-in-halves"] = [](Behaviour& b) { b.write = WriteInHalves; };
}

}  // namespace epctx_weak
