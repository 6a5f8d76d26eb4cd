// Reads and writes EPContext binary data for an execution provider: through the application's callback where there is one,
// else in a file of the model directory. To be copied into an EP; C++17, header only, MIT licensed like the project it is
// from.
//
//   EpContextData data;
//   RETURN_IF_ERROR(epctx_reference::ReadEpContextData(api, config, name, graph, data));
//   engine = Deserialize(data.data(), data.size());
//
// What a name may do depends on where it is from. From a model (graph is not NULL) it is what an attacker chose: it must be
// relative, and the file that it leads to, links followed, must lie in the directory of the model. From the EP itself (graph
// is NULL) it is a path like any other. In both cases only regular files are read or replaced.
//
// On Linux nothing is checked by path and then opened by path. A file is first opened with O_PATH, which neither reads nor
// blocks; that descriptor is checked, and then opened for reading through /proc/self/fd. A write goes to a temporary file in a
// directory that was checked the same way, and is moved into place once it is whole. Elsewhere the checks are those of
// std::filesystem, which another process can outrun (see namespace portable).
//
// Each defence is a member of `Defences`, with the right one as its default. An EP may want to change `size_cap`.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <limits>
#include <new>
#include <random>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#if __has_include(<linux/openat2.h>)
#include <linux/openat2.h>
#endif
#endif

#include "onnxruntime_c_api.h"
#include "onnxruntime_experimental_c_api.h"

namespace epctx_reference {

// --- errors and texts ------------------------------------------------------------------------------------------------------

// What went wrong; false stands for success.
struct [[nodiscard]] Error {
  OrtErrorCode code = ORT_OK;
  std::string text;
  explicit operator bool() const noexcept { return code != ORT_OK; }
};

inline Error Refused(std::string why) { return {ORT_INVALID_ARGUMENT, std::move(why)}; }
inline Error Failed(std::string why) { return {ORT_FAIL, std::move(why)}; }

// A name as it may stand in a log: what is not printable ASCII is escaped, and what is long is cut.
inline std::string Printable(std::string_view name) {
  constexpr size_t kShown = 200;
  constexpr char kHex[] = "0123456789abcdef";
  std::string text = "'";
  for (const char c : name.substr(0, kShown)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte > 0x7e) {
      text += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    } else {
      if (c == '\\' || c == '\'') text += '\\';
      text += c;
    }
  }
  return text + (name.size() > kShown ? "'..." : "'");
}

// --- the output ------------------------------------------------------------------------------------------------------------

// Owns the bytes of a read and frees them through the allocator that they are from, which must live longer.
class EpContextData {
 public:
  EpContextData() = default;
  EpContextData(EpContextData&& other) noexcept { Take(other); }
  EpContextData& operator=(EpContextData&& other) noexcept {
    if (this != &other) {
      Reset();
      Take(other);
    }
    return *this;
  }
  EpContextData(const EpContextData&) = delete;
  EpContextData& operator=(const EpContextData&) = delete;
  ~EpContextData() { Reset(); }

  const char* data() const noexcept { return static_cast<const char*>(data_); }  // may be null when empty
  size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }

  // Frees what it owns.
  void Reset() noexcept {
    if (data_ != nullptr) {
      if (OrtStatus* status = api_->AllocatorFree(allocator_, data_)) api_->ReleaseStatus(status);
    }
    api_ = nullptr;
    allocator_ = nullptr;
    data_ = nullptr;
    size_ = 0;
  }

  // Owns `data` from now on, instead of what it owned before.
  void Adopt(const OrtApi& api, OrtAllocator* allocator, void* data, size_t size) noexcept {
    Reset();
    api_ = &api;
    allocator_ = allocator;
    data_ = data;
    size_ = size;
  }

 private:
  void Take(EpContextData& other) noexcept {
    api_ = std::exchange(other.api_, nullptr);
    allocator_ = std::exchange(other.allocator_, nullptr);
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
  }

  const OrtApi* api_ = nullptr;
  OrtAllocator* allocator_ = nullptr;
  void* data_ = nullptr;
  size_t size_ = 0;
};

// --- the defences ----------------------------------------------------------------------------------------------------------

enum class Platform { kPosix, kWindows };

#if defined(_WIN32)
inline constexpr Platform kPlatform = Platform::kWindows;
#else
inline constexpr Platform kPlatform = Platform::kPosix;
#endif

struct Defences;

// A file as it was asked for: a name of a model, relative to the directory `base`; or of a trusted caller, as it is.
struct FileRequest {
  const Defences& defences;
  const std::string& base;
  const std::string& name;
  bool trusted;
};

// Where the output is allocated.
struct Memory {
  const OrtApi& api;
  OrtAllocator* allocator;
};

Error RefuseRooted(std::string_view name, Platform platform);
Error RefuseEncoding(std::string_view name, Platform platform);
Error RefuseReserved(std::string_view name, Platform platform);
std::string Literal(std::string_view name);
Error ModelDirectory(std::string_view model_path, std::string& directory);
Error Allocate(const Memory& memory, size_t size, void*& data);

namespace portable {
Error ReadFile(const FileRequest& request, const Memory& memory, EpContextData& out);
Error WriteFile(const FileRequest& request, const void* data, size_t size);
}  // namespace portable

#if defined(__linux__)
namespace linux_files {
struct Place;
Error ReadFile(const FileRequest& request, const Memory& memory, EpContextData& out);
Error WriteFile(const FileRequest& request, const void* data, size_t size);
bool Contained(const FileRequest& request, int base, int descriptor);
bool SameMount(int base, int descriptor);
Error RefuseReadType(const struct stat& info);
Error RefuseWriteTarget(const FileRequest& request, const Place& place);
Error ReadExactly(int file, const struct stat& before, void* data);
Error Replace(const Place& place, const void* data, size_t size);
}  // namespace linux_files
namespace native = linux_files;
#else
namespace native = portable;
#endif

struct Defences {
  // The rules by which names are judged and split.
  Platform platform = kPlatform;

  // Refuses names of a model that are absolute or start at a root, also at a drive or a share on Windows.
  Error (*refuse_rooted)(std::string_view name, Platform platform) = RefuseRooted;

  // Windows: refuses names that are not UTF-8.
  Error (*refuse_encoding)(std::string_view name, Platform platform) = RefuseEncoding;

  // Windows: refuses devices, streams, and components that end in a dot or a space.
  Error (*refuse_reserved)(std::string_view name, Platform platform) = RefuseReserved;

  // What a name means: itself. Nothing is expanded, decoded, trimmed or folded.
  std::string (*meaning)(std::string_view name) = Literal;

  // The directory that a model's names are confined to. A model from memory has none.
  Error (*model_directory)(std::string_view model_path, std::string& directory) = ModelDirectory;

  // A larger file is refused before memory is allocated for it.
  uint64_t size_cap = uint64_t{16} << 30;

  // Allocates the output, and takes neither an error nor a NULL for memory.
  Error (*allocate)(const Memory& memory, size_t size, void*& data) = Allocate;

  // How a name appears in an error text.
  std::string (*printable)(std::string_view name) = Printable;

  // How files are read and written: checked by descriptor on Linux, by path elsewhere.
  Error (*read_file)(const FileRequest& request, const Memory& memory, EpContextData& out) = native::ReadFile;
  Error (*write_file)(const FileRequest& request, const void* data, size_t size) = native::WriteFile;

#if defined(__linux__)
  // The steps of native::ReadFile and native::WriteFile.

  // Whether a descriptor's own path lies in that of the base, compared by components.
  bool (*contained)(const FileRequest& request, int base, int descriptor) = linux_files::Contained;

  // Whether a descriptor is on the base's mount: a bind mount inside the directory shows files from outside it.
  bool (*same_mount)(int base, int descriptor) = linux_files::SameMount;

  // Refuses to read what is not a regular file, before it is opened.
  Error (*refuse_read_type)(const struct stat& info) = linux_files::RefuseReadType;

  // Refuses to write where no regular file is or can be: special files, directories, links that lead nowhere.
  Error (*refuse_write_target)(const FileRequest& request, const linux_files::Place& place) = linux_files::RefuseWriteTarget;

  // Reads the whole file, or fails: also where it changes while it is read.
  Error (*read_exactly)(int file, const struct stat& before, void* data) = linux_files::ReadExactly;

  // Puts a new file in the place of the old one in one step, or leaves the old one whole.
  Error (*replace)(const linux_files::Place& place, const void* data, size_t size) = linux_files::Replace;
#endif
};

inline const Defences kDefences;

// --- the entry points ------------------------------------------------------------------------------------------------------

// Reads the data `file_name` into `out`, which is emptied first and stays empty on an error.
//
// With a read callback in `config` the name goes to it as it is, and `out` adopts the buffer that it allocated. Otherwise the
// file is read. `allocator` is for both; NULL is the default one of ONNX Runtime. It is not owned, and must outlive `out`.
OrtStatus* ReadEpContextData(const OrtApi& api, const OrtEpContextConfig* config, const char* file_name, const OrtGraph* graph,
                             EpContextData& out, OrtAllocator* allocator = nullptr, const Defences& defences = kDefences);

// Writes `buffer` under the name `file_name`: through the write callback in `config`, in one call, else to a file.
OrtStatus* WriteEpContextDataWithFileFallback(const OrtApi& api, const OrtEpContextConfig* config, const char* file_name,
                                              const OrtGraph* graph, const void* buffer, size_t buffer_size,
                                              const Defences& defences = kDefences);

// The same with a name for the file that differs from the one for the callback; each is looked at only where it is used.
OrtStatus* WriteEpContextDataWithFileFallback(const OrtApi& api, const OrtEpContextConfig* config, const char* file_name,
                                              const char* fallback_file_name, const OrtGraph* graph, const void* buffer,
                                              size_t buffer_size, const Defences& defences = kDefences);

// --- names -----------------------------------------------------------------------------------------------------------------

inline std::string Literal(std::string_view name) { return std::string(name); }

inline bool IsSeparator(char c, Platform platform) { return c == '/' || (c == '\\' && platform == Platform::kWindows); }

inline Error RefuseRooted(std::string_view name, Platform platform) {
  if (!name.empty() && IsSeparator(name[0], platform)) return Refused("is absolute");
  if (platform == Platform::kWindows && name.size() > 1 && name[1] == ':') return Refused("names a drive");
  return {};
}

// Whether `text` is well-formed UTF-8: shortest forms only, no surrogates, nothing above U+10FFFF.
inline bool IsUtf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i++]);
    if (lead < 0x80) continue;
    const int more = lead < 0xc2 ? -1 : lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : lead < 0xf5 ? 3 : -1;
    if (more < 0 || text.size() - i < static_cast<size_t>(more)) return false;
    const auto next = static_cast<unsigned char>(text[i]);
    if ((lead == 0xe0 && next < 0xa0) || (lead == 0xed && next > 0x9f)) return false;
    if ((lead == 0xf0 && next < 0x90) || (lead == 0xf4 && next > 0x8f)) return false;
    for (int k = 0; k < more; ++k) {
      if ((static_cast<unsigned char>(text[i++]) & 0xc0) != 0x80) return false;
    }
  }
  return true;
}

inline Error RefuseEncoding(std::string_view name, Platform platform) {
  if (platform == Platform::kWindows && !IsUtf8(name)) return Refused("is not valid UTF-8");
  return {};
}

// Whether a component stands for a device on Windows, whatever extension it has: "NUL", "con.txt", "LPT\u00b9".
inline bool IsWindowsDevice(std::string_view component) {
  std::string stem(component.substr(0, component.find('.')));
  while (!stem.empty() && stem.back() == ' ') stem.pop_back();
  for (char& c : stem) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  for (const std::string_view device : {"CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"}) {
    if (stem == device) return true;
  }
  const std::string_view kind = std::string_view(stem).substr(0, 3), number = std::string_view(stem).substr(kind.size());
  if (kind != "COM" && kind != "LPT") return false;
  return (number.size() == 1 && number[0] >= '0' && number[0] <= '9') || number == "\xc2\xb9" || number == "\xc2\xb2" ||
         number == "\xc2\xb3";
}

inline Error RefuseReserved(std::string_view name, Platform platform) {
  if (platform != Platform::kWindows) return {};
  while (!name.empty()) {
    const std::string_view component = name.substr(0, name.find_first_of("/\\"));
    name.remove_prefix(std::min(name.size(), component.size() + 1));
    if (component.empty() || component == "." || component == "..") continue;
    if (component.find(':') != std::string_view::npos) return Refused("names a stream or a drive");
    if (component.back() == '.' || component.back() == ' ') return Refused("has a component that ends in a dot or a space");
    if (IsWindowsDevice(component)) return Refused("names a device");
  }
  return {};
}

// A name as Windows opens it: `\` separates, and `.` and `..` are undone as text, before any link is followed.
inline std::string WindowsNormal(std::string_view name) {
  std::vector<std::string_view> kept;
  bool directory = !name.empty() && IsSeparator(name.back(), Platform::kWindows);
  while (!name.empty()) {
    const std::string_view component = name.substr(0, name.find_first_of("/\\"));
    name.remove_prefix(std::min(name.size(), component.size() + 1));
    directory |= component == "." && name.empty();
    if (component.empty() || component == ".") continue;
    if (component == ".." && !kept.empty() && kept.back() != "..") {
      kept.pop_back();
    } else {
      kept.push_back(component);
    }
  }
  std::string normal;
  for (const std::string_view component : kept) normal.append(normal.empty() ? "" : "/").append(component);
  return normal.empty() ? "." : directory ? normal + '/' : normal;
}

inline Error ModelDirectory(std::string_view model_path, std::string& directory) {
  if (model_path.empty()) return Refused("cannot be a file, because the model was not loaded from one");
  const size_t slash = model_path.find_last_of(kPlatform == Platform::kWindows ? "/\\" : "/");
  directory = slash == std::string_view::npos ? "." : slash == 0 ? "/" : std::string(model_path.substr(0, slash));
  return {};
}

inline Error Allocate(const Memory& memory, size_t size, void*& data) {
  data = nullptr;
  if (OrtStatus* status = memory.api.AllocatorAlloc(memory.allocator, size, &data)) {
    Error error{memory.api.GetErrorCode(status), std::string("needs memory: ") + memory.api.GetErrorMessage(status)};
    memory.api.ReleaseStatus(status);
    return error.code == ORT_OK ? Failed(std::move(error.text)) : error;
  }
  if (data == nullptr) return Failed("needs more memory than the allocator gives");
  return {};
}

// --- files by path: macOS, Windows, and every other system -----------------------------------------------------------------

namespace portable {

namespace fs = std::filesystem;

inline fs::path ToPath(const std::string& utf8) {
#if defined(_WIN32)
  return fs::u8path(utf8);
#else
  return fs::path(utf8);
#endif
}

// Whether the components of `path` begin with those of `base`.
inline bool Within(const fs::path& base, const fs::path& path) {
  return std::mismatch(base.begin(), base.end(), path.begin(), path.end()).first == base.end();
}

// The path that a request leads to, links and dots resolved; for a trusted caller the name as it is.
inline Error Resolve(const FileRequest& request, fs::path& resolved) {
  if (request.trusted) {
    resolved = ToPath(request.name);
    return {};
  }
  std::error_code failed;
  const fs::path base = fs::canonical(ToPath(request.base), failed);
  if (failed) return Failed("is beside a model whose directory cannot be opened: " + failed.message());
  // A missing component makes weakly_canonical treat the rest as text, links included: resolve until nothing changes.
  resolved = base / ToPath(request.name);
  for (fs::path before; before != resolved;) {
    before = resolved;
    resolved = fs::weakly_canonical(before, failed);
    if (failed == std::errc::filename_too_long) return Failed("is too long");
    if (failed) return Refused("cannot be resolved: " + failed.message());
  }
  if (!Within(base, resolved)) return Refused("leads out of the model directory");
  return {};
}

inline Error ReadFile(const FileRequest& request, const Memory& memory, EpContextData& out) {
  fs::path path;
  if (Error error = Resolve(request, path)) return error;
  std::error_code failed;
  const fs::file_status status = fs::status(path, failed);
  if (!fs::exists(status)) return Failed("cannot be opened: " + failed.message());
  if (!fs::is_regular_file(status)) return Refused("is not a regular file");

  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::streamoff end = file ? static_cast<std::streamoff>(file.tellg()) : -1;
  if (end < 0) return Failed("cannot be opened");
  const auto size = static_cast<uint64_t>(end);
  if (size > request.defences.size_cap || size > std::numeric_limits<size_t>::max()) return Refused("is larger than allowed");
  if (size == 0) return {};
  void* buffer = nullptr;
  if (Error error = request.defences.allocate(memory, static_cast<size_t>(size), buffer)) return error;
  EpContextData data;
  data.Adopt(memory.api, memory.allocator, buffer, static_cast<size_t>(size));
  file.seekg(0);
  file.read(static_cast<char*>(buffer), end);
  if (file.gcount() != end) return Failed("changed while it was read");
  out = std::move(data);
  return {};
}

inline Error WriteFile(const FileRequest& request, const void* data, size_t size) {
  fs::path path;
  if (Error error = Resolve(request, path)) return error;
  if (!path.has_filename()) return Refused("names a directory");
  std::error_code failed;
  const fs::file_status link = fs::symlink_status(path, failed), status = fs::status(path, failed);
  if (fs::is_symlink(link)) return Refused("is a link that must not be followed");
  if (fs::exists(link) && !fs::is_regular_file(status)) return Refused("is not a regular file");
  if (fs::exists(link) && !std::fstream(path, std::ios::binary | std::ios::in | std::ios::out)) {
    return Failed("may not be written");
  }

  // The new bytes go to a file beside the old one, which stays whole until they are complete.
  std::random_device random;
  const fs::path temporary = path.parent_path() / (".epctx-" + std::to_string(random()) + std::to_string(random()) + ".tmp");
  std::ofstream file(temporary, std::ios::binary);
  if (!file) return Failed("cannot be created");
  file.write(static_cast<const char*>(data), static_cast<std::streamsize>(size));
  file.close();  // flushes: most failures show only here
  if (file && fs::exists(link)) fs::permissions(temporary, status.permissions(), failed);
  if (file) fs::rename(temporary, path, failed);
  if (file && !failed) return {};
  const std::string why = file ? failed.message() : "not every byte could be written";
  fs::remove(temporary, failed);
  return Failed("cannot be written: " + why);
}

}  // namespace portable

// --- files by descriptor: Linux --------------------------------------------------------------------------------------------

#if defined(__linux__)
namespace linux_files {

// Owns a file descriptor.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) noexcept : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  explicit operator bool() const noexcept { return number_ >= 0; }
  int get() const noexcept { return number_; }
  int release() noexcept { return std::exchange(number_, -1); }

 private:
  int number_ = -1;
};

// Where a name leads to. A link is never a place: its target is.
struct Place {
  Descriptor directory;       // holds the file, or would hold it (O_PATH)
  std::string leaf;           // the file's name in there; empty where the name ended in
                              // `.`, `..` or a slash
  Descriptor object;          // what is there (O_PATH); none if nothing is
  struct stat info = {};      // of the object
  Descriptor obstacle;        // a file on the way that the name uses as a directory, and that no `..` undoes
  bool through_link = false;  // the last component of the name was a link
  bool no_parent = false;     // not only the file is missing: `directory` is the
                              // last one on the way that exists
};

inline std::string Reason(int number) { return std::generic_category().message(number); }

// O_PATH: a handle for looking. Nothing is read, nothing blocks, and no device notices.
constexpr int kLook = O_PATH | O_CLOEXEC;

inline Error Look(int directory, const char* path, int flags, Descriptor& found) {
  found = Descriptor(::openat(directory, path, kLook | flags));
  if (!found) return Failed("cannot be opened: " + Reason(errno));
  return {};
}

// Opens for reading or writing what a descriptor from Look stands for: the very same file, whatever its path leads to by now.
inline Error Open(const Descriptor& looked, int flags, Descriptor& opened) {
  char path[32];
  std::snprintf(path, sizeof path, "/proc/self/fd/%d", looked.get());
  opened = Descriptor(::open(path, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!opened) return Failed("cannot be opened: " + Reason(errno));
  return {};
}

// The path of what a descriptor stands for, or "" if it cannot be told.
inline std::string PathOf(int descriptor) {
  char link[32], path[PATH_MAX];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t size = ::readlink(link, path, sizeof path);
  return size > 0 && static_cast<size_t>(size) < sizeof path ? std::string(path, static_cast<size_t>(size)) : std::string();
}

inline bool Contained(const FileRequest&, int base, int descriptor) {
  const std::string outer = PathOf(base), inner = PathOf(descriptor);
  if (outer.empty() || inner.compare(0, outer.size(), outer) != 0) return false;
  return outer == "/" || inner.size() == outer.size() || inner[outer.size()] == '/';
}

inline bool SameMount(int base, int descriptor) {
#if defined(STATX_MNT_ID)
  struct statx a = {}, b = {};
  if (::statx(base, "", AT_EMPTY_PATH, STATX_MNT_ID, &a) == 0 && ::statx(descriptor, "", AT_EMPTY_PATH, STATX_MNT_ID, &b) == 0 &&
      (a.stx_mask & b.stx_mask & STATX_MNT_ID) != 0) {
    return a.stx_mnt_id == b.stx_mnt_id;
  }
#endif
  struct stat c = {}, d = {};  // kernels before 5.8
  return ::fstat(base, &c) == 0 && ::fstat(descriptor, &d) == 0 && c.st_dev == d.st_dev;
}

inline Error RefuseReadType(const struct stat& info) {
  if (!S_ISREG(info.st_mode)) return Refused("is not a regular file");
  return {};
}

// Walks a path, one component at a time, as the kernel would, with one difference: in a name, though not in the text of a link, a
// component that is missing, dangling or not a directory is undone by a following `..`, as std::filesystem::weakly_canonical has
// it.
class Walk {
 public:
  Error From(int start, std::string_view path, Place& place, bool of_link = false) {
    place = Place();
    Descriptor here;
    if (Error error = Look(start, !path.empty() && path[0] == '/' ? "/" : ".", O_DIRECTORY, here)) return error;
    std::string name;    // of the component at hand
    size_t missing = 0;  // components below `here` that lead nowhere
    Descriptor obstacle;
    for (size_t at = 0; at < path.size();) {
      const size_t end = std::min(path.find('/', at), path.size());
      name.assign(path.substr(at, end - at));
      const bool last = end == path.size();
      at = end + 1;
      if (name.empty() || name == ".") continue;
      if (name == "..") {
        if (missing > 0) {
          if (of_link) {  // it dangles
            place = Place();
            return {};
          }
          if (--missing == 0) obstacle = Descriptor();
        } else if (Error error = Look(here.get(), "..", O_DIRECTORY, here)) {
          return error;
        }
        continue;
      }
      Place next;
      if (missing == 0) {
        if (Error error = Step(here.get(), name, next)) return error;
      }
      if (last) {
        place = std::move(next);
        if (!place.directory) {
          place.directory = std::move(here);
          place.leaf = std::move(name);
        }
        place.obstacle = std::move(obstacle);
        place.no_parent = missing > 0;
        return {};
      }
      if (next.object && S_ISDIR(next.info.st_mode)) {
        here = std::move(next.object);
      } else {
        if (missing++ == 0) {
          obstacle = std::move(next.object);
          if (next.directory) here = std::move(next.directory);  // behind a link to a file, `..` is that file's directory
        }
      }
    }
    place.obstacle = std::move(obstacle);
    place.no_parent = missing > 0;
    if (missing == 0) {
      if (Error error = Look(here.get(), ".", 0, place.object)) return error;
      ::fstat(place.object.get(), &place.info);
    }
    place.directory = std::move(here);
    return {};
  }

 private:
  // One component: what it is, links followed. `place.directory` is set only where a link led elsewhere.
  Error Step(int here, const std::string& name, Place& place) {
    place.object = Descriptor(::openat(here, name.c_str(), kLook | O_NOFOLLOW));
    if (!place.object) return errno == ENOENT ? Error() : Failed("cannot be opened: " + Reason(errno));
    ::fstat(place.object.get(), &place.info);
    if (!S_ISLNK(place.info.st_mode)) return {};

    if (links_left_-- == 0) return Refused("goes through too many links");
    char text[PATH_MAX];
    const ssize_t size = ::readlinkat(place.object.get(), "", text, sizeof text);
    if (size < 0) return Failed("cannot be resolved: " + Reason(errno));
    Place target;
    if (Error error = From(here, std::string_view(text, static_cast<size_t>(size)), target, true)) return error;
    if (!target.object) target = Place();  // a dangling link is a missing component, in the directory where the link is
    place = std::move(target);
    place.through_link = true;
    return {};
  }

  int links_left_ = 40;  // as many as the kernel follows
};

// Looks up a path inside the base and nowhere else, in one step, where the kernel can (Linux 5.6). It is stricter than the
// rules: a path that leaves the directory and comes back is not found. None then.
inline Descriptor LookBeneath([[maybe_unused]] int base, [[maybe_unused]] const std::string& name) {
#if defined(SYS_openat2) && defined(RESOLVE_BENEATH)
  struct open_how how = {};
  how.flags = kLook;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV;
  return Descriptor(static_cast<int>(::syscall(SYS_openat2, base, name.c_str(), &how, sizeof how)));
#else
  return Descriptor();
#endif
}

inline Error TooLong(const std::string& name) { return name.size() < PATH_MAX ? Error() : Failed("is too long"); }

// Opens the base of a model's names for looking.
inline Error LookAtBase(const FileRequest& request, Descriptor& base) {
  if (Error error = Look(AT_FDCWD, request.base.c_str(), O_DIRECTORY, base)) {
    return {error.code, "is beside a model whose directory " + error.text};
  }
  return {};
}

// Walks to where a model's name leads, and checks that all of that is inside.
inline Error WalkInside(const FileRequest& request, int base, Place& place) {
  if (Error error = Walk().From(base, request.name, place)) return error;
  for (const Descriptor* descriptor : {&place.object, &place.directory, &place.obstacle}) {
    if (!*descriptor) continue;
    if (!request.defences.contained(request, base, descriptor->get())) return Refused("leads out of the model directory");
    if (!request.defences.same_mount(base, descriptor->get())) return Refused("leads into another file system");
  }
  return {};
}

// Finds the file to read.
inline Error FindForRead(const FileRequest& request, Descriptor& object) {
  if (Error error = TooLong(request.name)) return error;
  if (request.trusted) return Look(AT_FDCWD, request.name.c_str(), 0, object);
  Descriptor base;
  if (Error error = LookAtBase(request, base)) return error;
  object = LookBeneath(base.get(), request.name);
  if (object) return {};
  Place place;
  if (Error error = WalkInside(request, base.get(), place)) return error;
  if (!place.object) return Failed("does not exist");
  object = std::move(place.object);
  return {};
}

// Finds the place to write to.
inline Error FindForWrite(const FileRequest& request, Place& place) {
  if (Error error = TooLong(request.name)) return error;
  if (!request.trusted) {
    Descriptor base;
    if (Error error = LookAtBase(request, base)) return error;
    return WalkInside(request, base.get(), place);
  }
  const size_t slash = request.name.rfind('/');
  const std::string parent = slash == std::string::npos ? "." : request.name.substr(0, slash + 1);
  place.leaf = request.name.substr(slash == std::string::npos ? 0 : slash + 1);
  if (Error error = Look(AT_FDCWD, parent.c_str(), O_DIRECTORY, place.directory)) return error;
  place.object = Descriptor(::openat(place.directory.get(), place.leaf.empty() ? "." : place.leaf.c_str(), kLook | O_NOFOLLOW));
  if (!place.object) return errno == ENOENT ? Error() : Failed("cannot be opened: " + Reason(errno));
  ::fstat(place.object.get(), &place.info);
  place.through_link = S_ISLNK(place.info.st_mode);
  return {};
}

inline Error RefuseWriteTarget(const FileRequest& request, const Place& place) {
  if (place.no_parent) return Failed("is in a directory that does not exist");
  if (place.through_link && (request.trusted || !place.object)) return Refused("is a link that must not be followed");
  if (place.object && !S_ISREG(place.info.st_mode)) return Refused("is not a regular file");
  if (!place.object && place.leaf.empty()) return Failed("does not exist");
  return {};
}

inline Error ReadExactly(int file, const struct stat& before, void* data) {
  const auto size = static_cast<size_t>(before.st_size);
  for (size_t done = 0; done < size;) {
    const ssize_t count = ::read(file, static_cast<char*>(data) + done, size - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Failed("cannot be read: " + Reason(errno));
    if (count == 0) return Failed("was cut while it was read");
    done += static_cast<size_t>(count);
  }
  struct stat after = {};
  if (::fstat(file, &after) != 0 || after.st_size != before.st_size || after.st_mtim.tv_sec != before.st_mtim.tv_sec ||
      after.st_mtim.tv_nsec != before.st_mtim.tv_nsec) {
    return Failed("changed while it was read");
  }
  return {};
}

inline Error WriteExactly(int file, const void* data, size_t size) {
  for (size_t done = 0; done < size;) {
    const ssize_t count = ::write(file, static_cast<const char*>(data) + done, size - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return Failed("cannot be written: " + Reason(count < 0 ? errno : ENOSPC));
    done += static_cast<size_t>(count);
  }
  return {};
}

inline Error Replace(const Place& place, const void* data, size_t size) {
  if (place.object) {  // a file that may not be written is not replaced either
    Descriptor old;
    if (Error error = Open(place.object, O_WRONLY, old)) return error;
  }
  // A new file beside the old one. O_EXCL: it is ours alone, and no link is followed.
  std::random_device random;
  Descriptor file;
  char name[40];
  do {
    std::snprintf(name, sizeof name, ".epctx-%08x%08x.tmp", random(), random());
    file = Descriptor(::openat(place.directory.get(), name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode_t{0666}));
  } while (!file && errno == EEXIST);
  if (!file) return Failed("cannot be created: " + Reason(errno));

  Error error = WriteExactly(file.get(), data, size);
  if (!error && place.object && ::fchmod(file.get(), place.info.st_mode & 07777u) != 0) {
    error = Failed("cannot keep its mode: " + Reason(errno));
  }
  if (!error && ::fsync(file.get()) != 0) error = Failed("cannot be written: " + Reason(errno));
  if (::close(file.release()) != 0 && !error) error = Failed("cannot be written: " + Reason(errno));
  // A rename replaces what has that name, and follows nothing.
  if (!error && ::renameat(place.directory.get(), name, place.directory.get(), place.leaf.c_str()) != 0) {
    error = Failed("cannot be replaced: " + Reason(errno));
  }
  if (error) ::unlinkat(place.directory.get(), name, 0);
  return error;
}

inline Error ReadFile(const FileRequest& request, const Memory& memory, EpContextData& out) {
  const Defences& defences = request.defences;
  Descriptor object, file;
  struct stat info = {};
  if (Error error = FindForRead(request, object)) return error;
  if (::fstat(object.get(), &info) != 0) return Failed("cannot be opened: " + Reason(errno));
  if (Error error = defences.refuse_read_type(info)) return error;
  if (Error error = Open(object, O_RDONLY, file)) return error;
  if (static_cast<uint64_t>(info.st_size) > defences.size_cap) return Refused("is larger than allowed");
  if (info.st_size == 0) return {};

  const auto size = static_cast<size_t>(info.st_size);
  void* buffer = nullptr;
  if (Error error = defences.allocate(memory, size, buffer)) return error;
  EpContextData data;
  data.Adopt(memory.api, memory.allocator, buffer, size);
  if (Error error = defences.read_exactly(file.get(), info, buffer)) return error;
  out = std::move(data);
  return {};
}

inline Error WriteFile(const FileRequest& request, const void* data, size_t size) {
  Place place;
  if (Error error = FindForWrite(request, place)) return error;
  if (Error error = request.defences.refuse_write_target(request, place)) return error;
  return request.defences.replace(place, data, size);
}

}  // namespace linux_files
#endif

// --- putting it together ---------------------------------------------------------------------------------------------------

// Decides where a name leads to, and gives `use` the request for that file. Exceptions, which only a lack of memory can cause
// here, end here too.
template <typename Use>
OrtStatus* WithFile(const OrtApi& api, const char* name, const OrtGraph* graph, const Defences& defences, Use use) {
  try {
    const auto judge = [&]() -> Error {
      std::string base, meaning = defences.meaning(name);
      if (Error error = defences.refuse_encoding(meaning, defences.platform)) return error;
      if (graph != nullptr) {
        if (Error error = defences.refuse_rooted(meaning, defences.platform)) return error;
        if (Error error = defences.refuse_reserved(meaning, defences.platform)) return error;
        if (defences.platform == Platform::kWindows) meaning = WindowsNormal(meaning);
        const ORTCHAR_T* model_path = nullptr;
        if (OrtStatus* status = api.Graph_GetModelPath(graph, &model_path)) {
          Error error{api.GetErrorCode(status), api.GetErrorMessage(status)};
          api.ReleaseStatus(status);
          return error;
        }
#if defined(_WIN32)
        const auto utf8 = std::filesystem::path(model_path != nullptr ? model_path : L"").u8string();
        const std::string path(utf8.begin(), utf8.end());
#else
        const std::string_view path = model_path != nullptr ? model_path : "";
#endif
        if (Error error = defences.model_directory(path, base)) return error;
      }
      return use(FileRequest{defences, base, meaning, graph == nullptr});
    };
    const Error error = judge();
    if (!error) return nullptr;
    return api.CreateStatus(error.code, ("EPContext data file " + defences.printable(name) + ' ' + error.text).c_str());
  } catch (const std::exception& e) {
    return api.CreateStatus(ORT_FAIL, (std::string("EPContext data file: ") + e.what()).c_str());
  }
}

inline bool IsEmpty(const char* name) { return name == nullptr || name[0] == '\0'; }

inline OrtStatus* EmptyName(const OrtApi& api) {
  return api.CreateStatus(ORT_INVALID_ARGUMENT, "The name of EPContext data must not be empty");
}

// Gets a callback and its state out of a config: by its experimental name (ONNX Runtime 1.28 to 1.30), else from the stable
// table, which has it from 1.31 on. A config whose callback cannot be had is an error, and never a reason to use a file.
template <typename Callback, typename Getter>
OrtStatus* GetCallback(const OrtApi& api, const OrtEpContextConfig* config, const char* experimental_name,
                       Getter OrtEpApi::* stable, Callback& callback, void*& state) {
  callback = nullptr;
  state = nullptr;
  if (config == nullptr) return nullptr;
  auto getter = reinterpret_cast<Getter>(api.GetExperimentalFunction(experimental_name));
  if (getter == nullptr) {
    const OrtEpApi* ep_api = api.GetEpApi();
    getter = ep_api != nullptr ? ep_api->*stable : nullptr;
  }
  if (getter == nullptr) {
    return api.CreateStatus(ORT_NOT_IMPLEMENTED, "This ONNX Runtime cannot give the callbacks of an OrtEpContextConfig");
  }
  return getter(config, &callback, &state);
}

inline OrtStatus* ReadEpContextData(const OrtApi& api, const OrtEpContextConfig* config, const char* file_name,
                                    const OrtGraph* graph, EpContextData& out, OrtAllocator* allocator,
                                    const Defences& defences) {
  out.Reset();
  if (IsEmpty(file_name)) return EmptyName(api);
  OrtReadNamedBufferFunc callback = nullptr;
  void* state = nullptr;
  if (OrtStatus* status =
          GetCallback(api, config, kOrtExperimental_OrtEpApi_EpContextConfig_GetEpContextDataReadFunc_SinceV28_FnName,
                      &OrtEpApi::EpContextConfigGetEpContextDataReadFunc, callback, state)) {
    return status;
  }
  if (allocator == nullptr) {
    if (OrtStatus* status = api.GetAllocatorWithDefaultOptions(&allocator)) return status;
  }
  if (callback == nullptr) {
    return WithFile(api, file_name, graph, defences,
                    [&](const FileRequest& request) { return defences.read_file(request, Memory{api, allocator}, out); });
  }

  void* buffer = nullptr;
  size_t size = 0;
  OrtStatus* status = callback(state, file_name, allocator, &buffer, &size);
  EpContextData data;  // frees what a failing callback leaves behind
  data.Adopt(api, allocator, buffer, size);
  if (status != nullptr) return status;
  if (buffer == nullptr && size != 0) {
    return api.CreateStatus(ORT_FAIL, "The callback for EPContext data returned a size but no buffer");
  }
  out = std::move(data);
  return nullptr;
}

inline OrtStatus* WriteEpContextDataWithFileFallback(const OrtApi& api, const OrtEpContextConfig* config, const char* file_name,
                                                     const char* fallback_file_name, const OrtGraph* graph, const void* buffer,
                                                     size_t buffer_size, const Defences& defences) {
  if (IsEmpty(file_name)) return EmptyName(api);
  if (buffer == nullptr && buffer_size != 0) {
    return api.CreateStatus(ORT_INVALID_ARGUMENT, "The buffer of EPContext data must not be NULL where its size is not 0");
  }
  OrtWriteNamedBufferFunc callback = nullptr;
  void* state = nullptr;
  if (OrtStatus* status =
          GetCallback(api, config, kOrtExperimental_OrtEpApi_EpContextConfig_GetEpContextDataWriteFunc_SinceV28_FnName,
                      &OrtEpApi::EpContextConfigGetEpContextDataWriteFunc, callback, state)) {
    return status;
  }
  if (callback != nullptr) return callback(state, file_name, buffer, buffer_size);
  if (IsEmpty(fallback_file_name)) return EmptyName(api);
  return WithFile(api, fallback_file_name, graph, defences,
                  [&](const FileRequest& request) { return defences.write_file(request, buffer, buffer_size); });
}

inline OrtStatus* WriteEpContextDataWithFileFallback(const OrtApi& api, const OrtEpContextConfig* config, const char* file_name,
                                                     const OrtGraph* graph, const void* buffer, size_t buffer_size,
                                                     const Defences& defences) {
  return WriteEpContextDataWithFileFallback(api, config, file_name, file_name, graph, buffer, buffer_size, defences);
}

}  // namespace epctx_reference
