// Weaknesses in what is read and written, and how.

#include <cstdlib>

#include "weak/behaviour.h"

namespace epctx_weak {
namespace {

namespace fs = std::filesystem;
using namespace linux_files;

Error AnyType(const struct stat&) { return {}; }

// What a request leads to, or nothing.
struct stat Found(const FileRequest& request) {
  Descriptor object;
  struct stat info = {};
  if (!FindForRead(request, object)) ::fstat(object.get(), &info);
  return info;
}

// Puts bytes into the output, allocated in the right way.
Error Give(const FileRequest& request, const Memory& memory, std::string_view bytes, EpContextData& out) {
  if (bytes.empty()) return {};
  void* buffer = nullptr;
  if (Error error = request.defences.allocate(memory, bytes.size(), buffer)) return error;
  std::memcpy(buffer, bytes.data(), bytes.size());
  out.Adopt(memory.api, memory.allocator, buffer, bytes.size());
  return {};
}

// Opens without O_NONBLOCK whatever there is, and reads to its end.
Error ReadWhateverThereIs(const FileRequest& request, const Memory& memory, EpContextData& out) {
  Descriptor object;
  if (Error error = FindForRead(request, object)) return error;
  if (S_ISDIR(Found(request).st_mode)) return Refused("is a directory");
  const Descriptor file(::open(("/proc/self/fd/" + std::to_string(object.get())).c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return Failed("cannot be opened");
  std::string bytes;
  char chunk[65536];
  for (ssize_t count; (count = ::read(file.get(), chunk, sizeof chunk)) > 0;) {
    bytes.append(chunk, static_cast<size_t>(count));
  }
  return Give(request, memory, bytes, out);
}

// Reads in the right way, then changes what was read.
template <std::string (*change)(std::string_view bytes)>
Error ReadChanged(const FileRequest& request, const Memory& memory, EpContextData& out) {
  EpContextData data;
  if (Error error = ReadFile(request, memory, data)) return error;
  const std::string changed = change({data.data(), data.size()});
  data.Reset();
  return Give(request, memory, changed, out);
}

std::string FirstPart(std::string_view bytes) { return std::string(bytes.substr(0, 4096)); }
std::string WithTerminator(std::string_view bytes) { return bytes.empty() ? std::string() : std::string(bytes) + '\0'; }
std::string UpToNul(std::string_view bytes) { return std::string(bytes.substr(0, bytes.find('\0'))); }

Error ReadUpToEnd(int file, const struct stat& before, void* data) {
  const auto size = static_cast<size_t>(before.st_size);
  size_t done = 0;
  for (ssize_t count; done < size && (count = ::read(file, static_cast<char*>(data) + done, size - done)) > 0;) {
    done += static_cast<size_t>(count);
  }
  return {};
}

// Opens the file itself for writing, by flags.
Error OpenInPlace(const Place& place, int flags, Descriptor& file) {
  file = Descriptor(::openat(place.directory.get(), place.leaf.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | flags, mode_t{0666}));
  if (!file) return Failed("cannot be opened: " + Reason(errno));
  return {};
}

template <int flags>
Error WriteInPlace(const Place& place, const void* data, size_t size) {
  Descriptor file;
  if (Error error = OpenInPlace(place, flags, file)) return error;
  return WriteExactly(file.get(), data, size);
}

// Replaces by rename, and takes no notice of what the writes say.
Error ReplaceUnchecked(const Place& place, const void* data, size_t size) {
  const std::string name = ".unchecked.tmp";
  {
    const Descriptor file(::openat(place.directory.get(), name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode_t{0666}));
    if (!file) return Failed("cannot be created: " + Reason(errno));
    static_cast<void>(WriteExactly(file.get(), data, size));
  }
  if (::renameat(place.directory.get(), name.c_str(), place.directory.get(), place.leaf.c_str()) == 0) return {};
  return Failed("cannot be replaced: " + Reason(errno));
}

// Replaces whatever has the name.
Error ReplaceAnything(const Place& place, const void* data, size_t size) {
  Place absent;
  absent.leaf = place.leaf;
  if (Error error = Look(place.directory.get(), ".", O_DIRECTORY, absent.directory)) return error;
  return Replace(absent, data, size);
}

Error OnlyDirectoriesRefused(const FileRequest& request, const Place& place) {
  const bool special = place.object && !S_ISREG(place.info.st_mode) && !S_ISDIR(place.info.st_mode);
  return special ? Error() : RefuseWriteTarget(request, place);
}

// Writes to a temporary file, moves that into place, and leaves it where that fails.
Error ReplaceAndForget(const Place& place, const void* data, size_t size) {
  {
    Descriptor file;
    Place temporary;
    temporary.leaf = place.leaf.substr(0, 200) + ".part";
    if (Error error = Look(place.directory.get(), ".", O_DIRECTORY, temporary.directory)) return error;
    if (Error error = OpenInPlace(temporary, O_TRUNC, file)) return error;
    if (Error error = WriteExactly(file.get(), data, size)) return error;
    if (::renameat(place.directory.get(), temporary.leaf.c_str(), place.directory.get(), place.leaf.c_str()) == 0) return {};
  }
  return Failed("cannot be replaced: " + Reason(errno));
}

struct NotAnException {};  // and so nothing that the helper would catch

}  // namespace

void AddFiles(Table& table) {
  table["no-type-gate-read"] = [](Behaviour& b) { b.defences.refuse_read_type = AnyType; };
  table["blocks-on-fifo"] = [](Behaviour& b) { b.defences.read_file = ReadWhateverThereIs; };
  table["directory-is-empty"] = [](Behaviour& b) {
    b.defences.read_file = [](const FileRequest& request, const Memory& memory, EpContextData& out) {
      return S_ISDIR(Found(request).st_mode) ? Error() : ReadFile(request, memory, out);
    };
  };
  table["throws-on-directory"] = [](Behaviour& b) {
    b.defences.read_file = [](const FileRequest& request, const Memory& memory, EpContextData& out) {
      if (S_ISDIR(Found(request).st_mode)) throw NotAnException();
      return ReadFile(request, memory, out);
    };
  };
  table["missing-is-empty"] = [](Behaviour& b) {
    b.defences.read_file = [](const FileRequest& request, const Memory& memory, EpContextData& out) {
      const Error error = ReadFile(request, memory, out);
      return error.code == ORT_FAIL && Found(request).st_mode == 0 ? Error() : error;
    };
  };

  table["reads-first-page"] = [](Behaviour& b) { b.defences.read_file = ReadChanged<FirstPart>; };
  table["adds-terminator"] = [](Behaviour& b) { b.defences.read_file = ReadChanged<WithTerminator>; };
  table["stops-at-nul"] = [](Behaviour& b) { b.defences.read_file = ReadChanged<UpToNul>; };
  table["empty-file-is-error"] = [](Behaviour& b) {
    b.defences.read_file = [](const FileRequest& request, const Memory& memory, EpContextData& out) {
      const Error error = ReadFile(request, memory, out);
      return !error && out.empty() ? Failed("is empty") : error;
    };
  };
  table["no-size-cap"] = [](Behaviour& b) { b.defences.size_cap = std::numeric_limits<uint64_t>::max(); };
  table["allocates-without-end"] = [](Behaviour& b) {
    b.defences.size_cap = std::numeric_limits<uint64_t>::max();
    b.defences.allocate = [](const Memory& memory, size_t size, void*& data) {
      const Error error = Allocate(memory, size, data);
      while (error && size >= size_t{64} << 30) {  // tries smaller pieces, and more of them
        void* piece = nullptr;
        if (Allocate(memory, size_t{64} << 20, piece)) std::abort();
      }
      return error;
    };
  };
  table["unread-tail"] = [](Behaviour& b) { b.defences.read_exactly = ReadUpToEnd; };

  table["special-file-replaced"] = [](Behaviour& b) {
    b.defences.refuse_write_target = OnlyDirectoriesRefused;
    b.defences.replace = ReplaceAnything;
  };
  table["writes-to-special-file"] = [](Behaviour& b) {
    b.defences.refuse_write_target = OnlyDirectoriesRefused;
    b.defences.replace = [](const Place& place, const void* data, size_t size) {
      const bool special = place.object && !S_ISREG(place.info.st_mode);
      return special ? WriteInPlace<O_TRUNC>(place, data, size) : Replace(place, data, size);
    };
  };
  table["makes-directories"] = [](Behaviour& b) {
    b.defences.write_file = [](const FileRequest& request, const void* data, size_t size) {
      Place place;
      const Error error = FindForWrite(request, place);
      if (!request.trusted && !error && place.no_parent && request.name.find("..") == std::string::npos) {
        std::error_code failed;
        fs::create_directories((fs::path(request.base) / request.name).parent_path(), failed);
      }
      return WriteFile(request, data, size);
    };
  };
  table["appends"] = [](Behaviour& b) { b.defences.replace = WriteInPlace<O_APPEND>; };
  table["keeps-old-tail"] = [](Behaviour& b) { b.defences.replace = WriteInPlace<0>; };
  table["writes-in-place"] = [](Behaviour& b) { b.defences.replace = WriteInPlace<O_TRUNC>; };
  table["short-write-unchecked"] = [](Behaviour& b) { b.defences.replace = ReplaceUnchecked; };
  table["leaves-temporary-file"] = [](Behaviour& b) { b.defences.replace = ReplaceAndForget; };
}

}  // namespace epctx_weak
