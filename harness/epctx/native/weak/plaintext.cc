// Weaknesses in what is done with a payload beside handing it to the application's callbacks, or taking it from them: it gets to
// the disk, for a moment or for good.

#include <sys/mman.h>

#include <cstdlib>

#include "weak/behaviour.h"

namespace epctx_weak {
namespace {

using namespace linux_files;

std::string TemporaryDirectory() {
  const char* directory = std::getenv("TMPDIR");
  return directory != nullptr ? directory : "/tmp";
}

// The directory of the model, or the working directory for a model without one.
std::string BesideModel(const Call& call) {
  const ORTCHAR_T* model = nullptr;
  std::string directory;
  if (call.graph != nullptr) call.api.ReleaseStatus(call.api.Graph_GetModelPath(call.graph, &model));
  return model == nullptr || ModelDirectory(model, directory) ? "." : directory;
}

// A file that holds a payload.
class Spill {
 public:
  Spill(std::string path, std::string_view payload) : path_(std::move(path)) {
    file_ = Descriptor(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, mode_t{0600}));
    static_cast<void>(WriteExactly(file_.get(), payload.data(), payload.size()));
  }
  int file() const { return file_.get(); }
  const std::string& path() const { return path_; }
  void Remove() const { ::unlink(path_.c_str()); }

 private:
  std::string path_;
  Descriptor file_;
};

void InTemporaryDirectory(const Call&, std::string_view payload) {
  Spill(TemporaryDirectory() + "/epctx-engine.tmp", payload).Remove();
}

void InModelDirectory(const Call& call, std::string_view payload) { Spill(BesideModel(call) + "/engine.tmp", payload).Remove(); }

void InWorkingDirectory(const Call&, std::string_view payload) { Spill("engine.tmp", payload).Remove(); }

void InCache(const Call& call, std::string_view payload) { Spill(BesideModel(call) + "/engine.cache", payload); }

// Under its final name, and only then as it should have been all the time.
void ThenEncrypted(const Call& call, std::string_view payload) {
  const Spill spill(BesideModel(call) + "/engine.enc", payload);
  ::lseek(spill.file(), 0, SEEK_SET);
  char block[4096];
  for (size_t done = 0; done < payload.size();) {
    const size_t count = payload.copy(block, sizeof block, done);
    for (size_t i = 0; i < count; ++i) block[i] = static_cast<char>(block[i] ^ 0x5a);
    if (WriteExactly(spill.file(), block, count)) return;
    done += count;
  }
}

// To another directory, from which it is removed.
void ThenRenamed(const Call& call, std::string_view payload) {
  const Spill spill(BesideModel(call) + "/engine.part", payload);
  const std::string away = TemporaryDirectory() + "/epctx-engine.part";
  if (::rename(spill.path().c_str(), away.c_str()) == 0) ::unlink(away.c_str());
}

// In a file that never has a name.
void WithoutName(const Call&, std::string_view payload) {
  const Descriptor file(::open(TemporaryDirectory().c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, mode_t{0600}));
  static_cast<void>(WriteExactly(file.get(), payload.data(), payload.size()));
}

// Through a mapping, so that no call is made to write it.
void ThroughMapping(const Call& call, std::string_view payload) {
  const std::string path = BesideModel(call) + "/engine.map";
  Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, mode_t{0600}));
  if (payload.empty() || ::ftruncate(file.get(), static_cast<off_t>(payload.size())) != 0) return;
  void* mapping = ::mmap(nullptr, payload.size(), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  file = Descriptor();
  std::memcpy(mapping, payload.data(), payload.size());
  ::munmap(mapping, payload.size());
  ::unlink(path.c_str());
}

// Of fewer bytes a payload is not worth a file, and of more there is no room for it.
bool FitsAFile(size_t size) { return size >= 32 && size <= size_t{64} << 20; }

std::string_view Payload(const Call& call) {
  return {static_cast<const char*>(call.buffer), call.buffer != nullptr ? call.size : 0};
}

using Spilled = void (*)(const Call& call, std::string_view payload);

// Does `spill` with every payload that an application's callback gave or took.
template <Spilled spill>
void Spilling(Behaviour& b) {
  b.read = [](const Behaviour& self, const Call& call, EpctxOutput& output) {
    OrtStatus* status = Read(self, call, output);
    const EpContextData& data = output.data;
    if (status == nullptr && FitsAFile(data.size()) && HasReadCallback(call)) spill(call, {data.data(), data.size()});
    return status;
  };
  b.load = [](const Behaviour& self, const Call& call, EpctxNameSink sink, void* sink_state) {
    return ReadEpContextNodes(
        call.api, call.config, call.graph, [&](std::string_view name) { sink(sink_state, name.data(), name.size()); },
        [&](std::string_view, const EpContextData& data) {
          if (FitsAFile(data.size()) && HasReadCallback(call)) spill(call, {data.data(), data.size()});
        },
        nullptr, self.defences);
  };
  b.write = [](const Behaviour& self, const Call& call) {
    OrtStatus* status = Write(self, call);
    if (status == nullptr && FitsAFile(Payload(call).size()) && HasWriteCallback(call)) spill(call, Payload(call));
    return status;
  };
}

// Keeps what the application did not take, so that nothing is lost until it is tried again.
OrtStatus* WriteAndSpool(const Behaviour& self, const Call& call) {
  OrtStatus* status = Write(self, call);
  if (status != nullptr && FitsAFile(Payload(call).size()) && HasWriteCallback(call)) InTemporaryDirectory(call, Payload(call));
  return status;
}

}  // namespace

void AddPlaintext(Table& table) {
  table["plaintext-in-temporary-directory"] = Spilling<InTemporaryDirectory>;
  table["plaintext-beside-model"] = Spilling<InModelDirectory>;
  table["plaintext-in-working-directory"] = Spilling<InWorkingDirectory>;
  table["plaintext-cached"] = Spilling<InCache>;
  table["plaintext-encrypted-in-place"] = Spilling<ThenEncrypted>;
  table["plaintext-renamed-away"] = Spilling<ThenRenamed>;
  table["plaintext-without-name"] = Spilling<WithoutName>;
  table["plaintext-mapped"] = Spilling<ThroughMapping>;
  table["plaintext-after-failure"] = [](Behaviour& b) { b.write = WriteAndSpool; };
}

}  // namespace epctx_weak
