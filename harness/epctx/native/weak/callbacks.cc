// Weaknesses in when the application's callbacks are asked, what they are given, and what becomes of their answer.

#include <chrono>
#include <thread>

#include "weak/behaviour.h"

namespace epctx_weak {
namespace {

// --- the parts of the right form, to be put together wrongly ---------------------------------------------------------------

OrtReadNamedBufferFunc ReadFunc(const Call& call, void*& state) {
  OrtReadNamedBufferFunc callback = nullptr;
  OrtStatus* status =
      GetCallback(call.api, call.config, kOrtExperimental_OrtEpApi_EpContextConfig_GetEpContextDataReadFunc_SinceV28_FnName,
                  &OrtEpApi::EpContextConfigGetEpContextDataReadFunc, callback, state);
  if (status != nullptr) call.api.ReleaseStatus(status);
  return callback;
}

OrtWriteNamedBufferFunc WriteFunc(const Call& call, void*& state) {
  OrtWriteNamedBufferFunc callback = nullptr;
  OrtStatus* status =
      GetCallback(call.api, call.config, kOrtExperimental_OrtEpApi_EpContextConfig_GetEpContextDataWriteFunc_SinceV28_FnName,
                  &OrtEpApi::EpContextConfigGetEpContextDataWriteFunc, callback, state);
  if (status != nullptr) call.api.ReleaseStatus(status);
  return callback;
}

Call WithoutConfig(const Call& call) {
  Call without = call;
  without.config = nullptr;
  return without;
}

// What a read callback answered.
struct Answer {
  OrtAllocator* allocator = nullptr;
  OrtStatus* status = nullptr;
  void* buffer = nullptr;
  size_t size = 0;
};

OrtStatus* Take(const Call& call, const Answer& answer, EpctxOutput& output) {
  EpContextData data;
  data.Adopt(call.api, answer.allocator, answer.buffer, answer.size);
  if (answer.status != nullptr) return answer.status;
  if (answer.buffer == nullptr && answer.size != 0) return call.api.CreateStatus(ORT_FAIL, "a size without a buffer");
  output.data = std::move(data);
  return nullptr;
}

void Free(const Call& call, const Answer& answer) { static_cast<void>(call.api.AllocatorFree(answer.allocator, answer.buffer)); }

// Reads by a read callback that is asked with `state_of` its state, and whose answer `take` takes; all else in the right way.
template <typename StateOf, typename TakeAnswer>
OrtStatus* ReadAsking(const Behaviour& self, const Call& call, EpctxOutput& output, StateOf state_of, TakeAnswer take) {
  void* state = nullptr;
  const OrtReadNamedBufferFunc callback = ReadFunc(call, state);
  if (callback == nullptr || IsEmpty(call.name)) return Read(self, call, output);
  output.data.Reset();
  Answer answer;
  answer.allocator = call.allocator;
  if (answer.allocator == nullptr) static_cast<void>(call.api.GetAllocatorWithDefaultOptions(&answer.allocator));
  answer.status = callback(state_of(state), call.name, answer.allocator, &answer.buffer, &answer.size);
  return take(answer);
}

// Takes the answer of a read callback wrongly.
template <OrtStatus* (*take)(const Call& call, const Answer& answer, EpctxOutput& output)>
OrtStatus* ReadTaking(const Behaviour& self, const Call& call, EpctxOutput& output) {
  return ReadAsking(
      self, call, output, [](void* state) { return state; }, [&](const Answer& answer) { return take(call, answer, output); });
}

// Gives the callbacks another state.
template <typename Wrong>
OrtStatus* ReadWithState(const Behaviour& self, const Call& call, EpctxOutput& output, Wrong wrong) {
  return ReadAsking(self, call, output, wrong, [&](const Answer& answer) { return Take(call, answer, output); });
}
template <typename Wrong>
OrtStatus* WriteWithState(const Behaviour& self, const Call& call, Wrong wrong) {
  void* state = nullptr;
  const OrtWriteNamedBufferFunc callback = WriteFunc(call, state);
  if (callback == nullptr || IsEmpty(call.name) || (call.buffer == nullptr && call.size != 0)) return Write(self, call);
  return callback(wrong(state), call.name, call.buffer, call.size);
}

// The status of a callback with another code or text.
OrtStatus* Renewed(const OrtApi& api, OrtStatus* status, OrtErrorCode code, const char* text) {
  OrtStatus* renewed = api.CreateStatus(code, text != nullptr ? text : api.GetErrorMessage(status));
  api.ReleaseStatus(status);
  return renewed;
}
OrtStatus* InOwnWords(const OrtApi& api, OrtStatus* status) {
  return Renewed(api, status, api.GetErrorCode(status), "The application's callback failed");
}
OrtStatus* AsFail(const OrtApi& api, OrtStatus* status) { return Renewed(api, status, ORT_FAIL, nullptr); }

// Passes on a callback's error as `change` makes it.
template <OrtStatus* (*change)(const OrtApi& api, OrtStatus* status)>
void ChangeErrors(Behaviour& b) {
  b.read = [](const Behaviour& self, const Call& call, EpctxOutput& output) {
    const auto take = [&](const Answer& answer) {
      Answer changed = answer;
      if (answer.status != nullptr) changed.status = change(call.api, answer.status);
      return Take(call, changed, output);
    };
    return ReadAsking(self, call, output, [](void* state) { return state; }, take);
  };
  b.write = [](const Behaviour& self, const Call& call) {
    OrtStatus* status = Write(self, call);
    const bool called = HasWriteCallback(call) && !IsEmpty(call.name) && (call.buffer != nullptr || call.size == 0);
    return status != nullptr && called ? change(call.api, status) : status;
  };
}

// --- names -----------------------------------------------------------------------------------------------------------------

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

// Refuses a model's name that would not do as a path, although it is none.
OrtStatus* RefuseAsPath(const Call& call) {
  if (call.graph == nullptr || IsEmpty(call.name)) return nullptr;
  const std::filesystem::path path = call.name;
  const bool climbs = std::find(path.begin(), path.end(), "..") != path.end();
  return path.is_absolute() || climbs ? call.api.CreateStatus(ORT_INVALID_ARGUMENT, "the name leads out") : nullptr;
}

// --- files -----------------------------------------------------------------------------------------------------------------

// Takes the file where there is one, and asks the callback only where there is none.
OrtStatus* ReadFileFirst(const Behaviour& self, const Call& call, EpctxOutput& output) {
  if (OrtStatus* status = Read(self, WithoutConfig(call), output)) {
    call.api.ReleaseStatus(status);
    return Read(self, call, output);
  }
  return nullptr;
}

// Asks the callback, and the file where that fails.
OrtStatus* ReadFileAfter(const Behaviour& self, const Call& call, EpctxOutput& output) {
  OrtStatus* status = Read(self, call, output);
  if (status == nullptr || !HasReadCallback(call)) return status;
  if (OrtStatus* again = Read(self, WithoutConfig(call), output)) {
    call.api.ReleaseStatus(again);
    return status;
  }
  call.api.ReleaseStatus(status);
  return nullptr;
}
OrtStatus* LoadFileAfter(const Behaviour& self, const Call& call, EpctxNameSink sink, void* sink_state) {
  OrtStatus* status = Load(self, call, sink, sink_state);
  if (status == nullptr || !HasReadCallback(call)) return status;
  if (OrtStatus* again = Load(self, WithoutConfig(call), sink, sink_state)) {
    call.api.ReleaseStatus(again);
    return status;
  }
  call.api.ReleaseStatus(status);
  return nullptr;
}
OrtStatus* WriteFileAfter(const Behaviour& self, const Call& call) {
  OrtStatus* status = Write(self, call);
  if (status == nullptr || !HasWriteCallback(call)) return status;
  if (OrtStatus* again = Write(self, WithoutConfig(call))) {
    call.api.ReleaseStatus(again);
    return status;
  }
  call.api.ReleaseStatus(status);
  return nullptr;
}

// Does with the file what the callback is there for, and then asks the callback all the same.
OrtStatus* ReadBoth(const Behaviour& self, const Call& call, EpctxOutput& output) {
  EpctxOutput unused;
  if (HasReadCallback(call)) {
    if (OrtStatus* status = Read(self, WithoutConfig(call), unused)) call.api.ReleaseStatus(status);
  }
  return Read(self, call, output);
}
OrtStatus* WriteBoth(const Behaviour& self, const Call& call) {
  if (HasWriteCallback(call)) {
    if (OrtStatus* status = Write(self, WithoutConfig(call))) call.api.ReleaseStatus(status);
  }
  return Write(self, call);
}

// Takes no file where there is a config.
template <bool only_with_other_callback>
void RefuseFiles(Behaviour& b) {
  b.read = [](const Behaviour& self, const Call& call, EpctxOutput& output) {
    const bool refused =
        call.config != nullptr && !HasReadCallback(call) && (!only_with_other_callback || HasWriteCallback(call));
    if (!refused || IsEmpty(call.name)) return Read(self, call, output);
    output.data.Reset();
    return call.api.CreateStatus(ORT_FAIL, "the config has no read callback");
  };
  b.write = [](const Behaviour& self, const Call& call) {
    const bool refused =
        call.config != nullptr && !HasWriteCallback(call) && (!only_with_other_callback || HasReadCallback(call));
    return refused && !IsEmpty(call.name) ? call.api.CreateStatus(ORT_FAIL, "the config has no write callback")
                                          : Write(self, call);
  };
}

// --- answers ---------------------------------------------------------------------------------------------------------------

OrtStatus* TakeNullWithSize(const Call& call, const Answer& answer, EpctxOutput& output) {
  Answer changed = answer;
  if (answer.status == nullptr && answer.buffer == nullptr) changed.size = 0;
  return Take(call, changed, output);
}

OrtStatus* RefuseEmpty(const Call& call, const Answer& answer, EpctxOutput& output) {
  Answer changed = answer;
  if (answer.status == nullptr && answer.size == 0) changed.status = call.api.CreateStatus(ORT_FAIL, "no data");
  return Take(call, changed, output);
}

OrtStatus* LeaveEmptyBuffer(const Call& call, const Answer& answer, EpctxOutput& output) {
  Answer changed = answer;
  if (answer.status == nullptr && answer.size == 0) changed.buffer = nullptr;
  return Take(call, changed, output);
}

OrtStatus* LeaveBufferOfError(const Call& call, const Answer& answer, EpctxOutput& output) {
  return answer.status != nullptr ? answer.status : Take(call, answer, output);
}

OrtStatus* FreeBufferOfErrorTwice(const Call& call, const Answer& answer, EpctxOutput& output) {
  if (answer.status != nullptr && answer.buffer != nullptr) Free(call, answer);
  return Take(call, answer, output);
}

OrtStatus* KeepSizeOfError(const Call& call, const Answer& answer, EpctxOutput& output) {
  OrtStatus* status = Take(call, answer, output);
  if (answer.status != nullptr) output.data.Adopt(call.api, answer.allocator, nullptr, answer.size);
  return status;
}

// Asks once more where the callback fails.
OrtStatus* ReadRetrying(const Behaviour& self, const Call& call, EpctxOutput& output) {
  OrtStatus* status = Read(self, call, output);
  if (status == nullptr || !HasReadCallback(call) || IsEmpty(call.name)) return status;
  call.api.ReleaseStatus(status);
  return Read(self, call, output);
}
OrtStatus* WriteRetrying(const Behaviour& self, const Call& call) {
  OrtStatus* status = Write(self, call);
  if (status == nullptr || !HasWriteCallback(call) || IsEmpty(call.name)) return status;
  call.api.ReleaseStatus(status);
  return Write(self, call);
}

// --- the time of the call --------------------------------------------------------------------------------------------------

constexpr auto kLater = std::chrono::milliseconds(25);

// Asks once more some time after the call has returned: to fill a cache, as it were.
OrtStatus* ReadAgainLater(const Behaviour& self, const Call& call, EpctxOutput& output) {
  OrtStatus* status = Read(self, call, output);
  void* state = nullptr;
  if (const OrtReadNamedBufferFunc callback = ReadFunc(call, state); callback != nullptr && !IsEmpty(call.name)) {
    std::thread([callback, state, name = std::string(call.name)] {
      std::this_thread::sleep_for(kLater);
      void* buffer = nullptr;
      size_t size = 0;
      static_cast<void>(callback(state, name.c_str(), nullptr, &buffer, &size));
    }).detach();
  }
  return status;
}

// The same for a write: to make sure, as it were.
OrtStatus* WriteAgainLater(const Behaviour& self, const Call& call) {
  OrtStatus* status = Write(self, call);
  void* state = nullptr;
  const OrtWriteNamedBufferFunc callback = WriteFunc(call, state);
  if (status != nullptr || callback == nullptr || call.buffer == nullptr) return status;
  std::thread([callback, state, name = std::string(call.name),
               copy = std::string(static_cast<const char*>(call.buffer), call.size)] {
    std::this_thread::sleep_for(kLater);
    static_cast<void>(callback(state, name.c_str(), copy.data(), copy.size()));
  }).detach();
  return status;
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
  table["name-checked-with-callback"] = [](Behaviour& b) {
    b.read = [](const Behaviour& self, const Call& call, EpctxOutput& output) {
      OrtStatus* refused = HasReadCallback(call) ? RefuseAsPath(call) : nullptr;
      if (refused == nullptr) return Read(self, call, output);
      output.data.Reset();
      return refused;
    };
    b.write = [](const Behaviour& self, const Call& call) {
      OrtStatus* refused = HasWriteCallback(call) ? RefuseAsPath(call) : nullptr;
      return refused != nullptr ? refused : Write(self, call);
    };
  };
  table["null-state"] = [](Behaviour& b) {
    b.read = [](const Behaviour& self, const Call& call, EpctxOutput& output) {
      return ReadWithState(self, call, output, [](void*) -> void* { return nullptr; });
    };
    b.write = [](const Behaviour& self, const Call& call) {
      return WriteWithState(self, call, [](void*) -> void* { return nullptr; });
    };
  };
  table["pointer-to-state"] = [](Behaviour& b) {
    b.read = [](const Behaviour& self, const Call& call, EpctxOutput& output) {
      return ReadWithState(self, call, output, [](void*& state) -> void* { return &state; });
    };
    b.write = [](const Behaviour& self, const Call& call) {
      return WriteWithState(self, call, [](void*& state) -> void* { return &state; });
    };
  };
  table["state-of-other-callback"] = [](Behaviour& b) {
    b.read = [](const Behaviour& self, const Call& call, EpctxOutput& output) {
      void* other = nullptr;
      static_cast<void>(WriteFunc(call, other));
      return ReadWithState(self, call, output, [other](void* state) { return other != nullptr ? other : state; });
    };
    b.write = [](const Behaviour& self, const Call& call) {
      void* other = nullptr;
      static_cast<void>(ReadFunc(call, other));
      return WriteWithState(self, call, [other](void* state) { return other != nullptr ? other : state; });
    };
  };
  table["null-state-is-no-callback"] = [](Behaviour& b) {
    b.read = [](const Behaviour& self, const Call& call, EpctxOutput& output) {
      void* state = nullptr;
      const bool ignored = ReadFunc(call, state) != nullptr && state == nullptr;
      return Read(self, ignored ? WithoutConfig(call) : call, output);
    };
    b.write = [](const Behaviour& self, const Call& call) {
      void* state = nullptr;
      const bool ignored = WriteFunc(call, state) != nullptr && state == nullptr;
      return Write(self, ignored ? WithoutConfig(call) : call);
    };
  };
  table["file-before-callback"] = [](Behaviour& b) { b.read = ReadFileFirst; };
  table["file-when-callback-fails"] = [](Behaviour& b) {
    b.read = ReadFileAfter;
    b.load = LoadFileAfter;
  };
  table["file-when-write-callback-fails"] = [](Behaviour& b) { b.write = WriteFileAfter; };
  table["file-beside-callback"] = [](Behaviour& b) {
    b.read = ReadBoth;
    b.write = WriteBoth;
  };
  table["file-refused-with-config"] = RefuseFiles<false>;
  table["file-refused-with-other-callback"] = RefuseFiles<true>;
  table["calls-null-callback"] = [](Behaviour& b) {
    b.read = [](const Behaviour& self, const Call& call, EpctxOutput& output) {
      void* state = nullptr;
      void* other = nullptr;
      const OrtReadNamedBufferFunc callback = ReadFunc(call, state);
      if (call.config == nullptr || callback != nullptr || WriteFunc(call, other) != nullptr) return Read(self, call, output);
      void* buffer = nullptr;
      size_t size = 0;
      return callback(state, call.name, call.allocator, &buffer, &size);
    };
  };
  table["callback-error-in-own-words"] = ChangeErrors<InOwnWords>;
  table["callback-error-is-fail"] = ChangeErrors<AsFail>;
  table["retries-callback"] = [](Behaviour& b) {
    b.read = ReadRetrying;
    b.write = WriteRetrying;
  };
  table["null-with-size-is-empty"] = [](Behaviour& b) { b.read = ReadTaking<TakeNullWithSize>; };
  table["empty-payload-refused"] = [](Behaviour& b) { b.read = ReadTaking<RefuseEmpty>; };
  table["leaks-empty-buffer"] = [](Behaviour& b) { b.read = ReadTaking<LeaveEmptyBuffer>; };
  table["leaks-buffer-of-failing-callback"] = [](Behaviour& b) { b.read = ReadTaking<LeaveBufferOfError>; };
  table["frees-buffer-of-failing-callback-twice"] = [](Behaviour& b) { b.read = ReadTaking<FreeBufferOfErrorTwice>; };
  table["size-kept-after-error"] = [](Behaviour& b) { b.read = ReadTaking<KeepSizeOfError>; };
  table["null-payload-with-size-passed-on"] = [](Behaviour& b) {
    b.write = [](const Behaviour& self, const Call& call) {
      void* state = nullptr;
      const OrtWriteNamedBufferFunc callback = WriteFunc(call, state);
      if (callback == nullptr || IsEmpty(call.name) || call.buffer != nullptr) return Write(self, call);
      return callback(state, call.name, call.buffer, call.size);
    };
  };
  table["null-payload-refused"] = [](Behaviour& b) {
    b.write = [](const Behaviour& self, const Call& call) {
      if (call.buffer != nullptr || IsEmpty(call.name) || !HasWriteCallback(call)) return Write(self, call);
      return call.api.CreateStatus(ORT_INVALID_ARGUMENT, "there is no payload");
    };
  };
  table["calls-back-later"] = [](Behaviour& b) {
    b.read = ReadAgainLater;
    b.write = WriteAgainLater;
  };
}

bool HasReadCallback(const Call& call) {
  void* state = nullptr;
  return ReadFunc(call, state) != nullptr;
}

bool HasWriteCallback(const Call& call) {
  void* state = nullptr;
  return WriteFunc(call, state) != nullptr;
}

}  // namespace epctx_weak
