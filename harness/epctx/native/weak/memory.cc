// Weaknesses in the ownership of outputs, buffers, statuses and allocators.

#include "weak/behaviour.h"

namespace epctx_weak {
namespace {

// How the last output was allocated: what a wrong form needs to free it once more.
struct Last {
  const OrtApi* api = nullptr;
  OrtAllocator* allocator = nullptr;
};
Last g_last;

OrtAllocator* AllocatorOf(const Call& call) {
  OrtAllocator* allocator = call.allocator;
  if (allocator == nullptr) static_cast<void>(call.api.GetAllocatorWithDefaultOptions(&allocator));
  return allocator;
}

OrtStatus* ReadAndRemember(const Behaviour& self, const Call& call, EpctxOutput& output) {
  g_last = {&call.api, AllocatorOf(call)};
  return Read(self, call, output);
}

// A copy of the output in memory of its own, made while the first one is still there.
OrtStatus* ReadAndCopy(const Behaviour& self, const Call& call, EpctxOutput& output) {
  OrtStatus* status = Read(self, call, output);
  if (status != nullptr || output.data.empty()) return status;
  void* buffer = nullptr;
  if (OrtStatus* failed = call.api.AllocatorAlloc(AllocatorOf(call), output.data.size(), &buffer)) return failed;
  if (buffer == nullptr) return call.api.CreateStatus(ORT_FAIL, "no memory for a copy");
  std::memcpy(buffer, output.data.data(), output.data.size());
  output.data.Adopt(call.api, AllocatorOf(call), buffer, output.data.size());
  return nullptr;
}

// Does something when a read failed.
template <void (*then)(const Call& call, OrtStatus* status)>
OrtStatus* ReadThen(const Behaviour& self, const Call& call, EpctxOutput& output) {
  OrtStatus* status = Read(self, call, output);
  if (status != nullptr) then(call, status);
  return status;
}

void LeakStatus(const Call& call, OrtStatus*) { call.api.CreateStatus(ORT_FAIL, "a status that nobody releases"); }

}  // namespace

void AddMemory(Table& table) {
  table["stale-output"] = [](Behaviour& b) {
    b.read = [](const Behaviour& self, const Call& call, EpctxOutput& output) {
      EpctxOutput fresh;
      OrtStatus* status = Read(self, call, fresh);
      if (status == nullptr) output = std::move(fresh);
      return status;
    };
  };
  table["leaks-buffer"] = [](Behaviour& b) {
    b.defences.allocate = [](const Memory& memory, size_t size, void*& data) {
      if (Error error = Allocate(memory, size, data)) return error;
      return Allocate(memory, size, data);
    };
  };
  table["leaks-status"] = [](Behaviour& b) { b.read = ReadThen<LeakStatus>; };
  table["releases-status-twice"] = [](Behaviour& b) {
    b.read = [](const Behaviour& self, const Call& call, EpctxOutput& output) -> OrtStatus* {
      OrtStatus* status = Read(self, call, output);
      if (status == nullptr) return nullptr;
      OrtStatus* copy = call.api.CreateStatus(call.api.GetErrorCode(status), call.api.GetErrorMessage(status));
      call.api.ReleaseStatus(status);
      call.api.ReleaseStatus(status);
      return copy;
    };
  };
  table["frees-output-twice"] = [](Behaviour& b) {
    b.read = ReadAndRemember;
    b.delete_output = [](EpctxOutput* output) {
      void* data = const_cast<char*>(output->data.data());
      delete output;
      if (data != nullptr) static_cast<void>(g_last.api->AllocatorFree(g_last.allocator, data));
    };
  };
  table["moved-from-keeps-data"] = [](Behaviour& b) {
    b.read = ReadAndRemember;
    b.move = [](EpctxOutput& to, EpctxOutput& from) {
      if (&to == &from || from.data.data() == nullptr) return Move(to, from);
      to.data.Adopt(*g_last.api, g_last.allocator, const_cast<char*>(from.data.data()), from.data.size());
    };
  };
  table["ignores-caller-allocator"] = [](Behaviour& b) {
    b.read = [](const Behaviour& self, const Call& call, EpctxOutput& output) {
      Call changed = call;
      changed.allocator = nullptr;
      return Read(self, changed, output);
    };
  };
  table["releases-caller-allocator"] = [](Behaviour& b) {
    b.read = [](const Behaviour& self, const Call& call, EpctxOutput& output) {
      OrtStatus* status = Read(self, call, output);
      if (call.allocator != nullptr) call.api.ReleaseAllocator(call.allocator);
      return status;
    };
  };
  table["frees-by-other-allocator"] = [](Behaviour& b) {
    b.read = [](const Behaviour& self, const Call& call, EpctxOutput& output) {
      EpctxOutput right;
      OrtStatus* status = Read(self, call, right);
      Call other = call;
      other.allocator = nullptr;
      output.data.Reset();
      if (status != nullptr || right.data.empty()) return status;
      output.data.Adopt(call.api, AllocatorOf(other), const_cast<char*>(right.data.data()), right.data.size());
      new EpContextData(std::move(right.data));  // whose bytes the output frees now
      return status;
    };
  };
  table["ignores-allocation-failure"] = [](Behaviour& b) {
    b.defences.allocate = [](const Memory& memory, size_t size, void*& data) {
      static_cast<void>(Allocate(memory, size, data));
      static_cast<volatile char*>(data)[0] = 0;
      return Error();
    };
  };
  table["allocation-failure-is-empty"] = [](Behaviour& b) {
    b.defences.read_file = [](const FileRequest& request, const Memory& memory, EpContextData& out) {
      void* probe = nullptr;
      if (Allocate(memory, 1, probe)) return Error();
      static_cast<void>(memory.api.AllocatorFree(memory.allocator, probe));
      return native::ReadFile(request, memory, out);
    };
  };
  table["copies-file"] = [](Behaviour& b) {
    b.read = [](const Behaviour& self, const Call& call, EpctxOutput& output) {
      return call.config == nullptr ? ReadAndCopy(self, call, output) : Read(self, call, output);
    };
  };
  table["copies-callback-buffer"] = [](Behaviour& b) {
    b.read = [](const Behaviour& self, const Call& call, EpctxOutput& output) {
      return call.config != nullptr ? ReadAndCopy(self, call, output) : Read(self, call, output);
    };
  };
}

}  // namespace epctx_weak
