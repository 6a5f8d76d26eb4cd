// Weaknesses in where a name may lead.

#include <cstdlib>

#include "weak/behaviour.h"

namespace epctx_weak {
namespace {

namespace fs = std::filesystem;
using namespace linux_files;

bool Anywhere(const FileRequest&, int, int) { return true; }

// The path that a name makes with the base, nothing resolved.
std::string Joined(const FileRequest& request) { return request.trusted ? request.name : request.base + '/' + request.name; }

// Whether the name, as text, stays in the base.
bool TextInside(const FileRequest& request) {
  const fs::path base = fs::absolute(request.base).lexically_normal();
  const fs::path path = (base / request.name).lexically_normal();
  return portable::Within(base, path);
}

bool NotAtFirst(const FileRequest& request, int, int) { return request.name.substr(0, 3) != "../" && request.name != ".."; }

bool NormalDoesNotClimb(const FileRequest& request, int, int) {
  const fs::path normal = fs::path(request.name).lexically_normal();
  return normal.empty() || *normal.begin() != "..";
}

bool InsideAsText(const FileRequest& request, int, int) { return TextInside(request); }

bool CharacterPrefix(const FileRequest&, int base, int descriptor) {
  const std::string outer = PathOf(base);
  return PathOf(descriptor).compare(0, outer.size(), outer) == 0;
}

bool IsLink(const std::string& path) {
  struct stat info = {};
  return ::lstat(path.c_str(), &info) == 0 && S_ISLNK(info.st_mode);
}

// Checks the directory in which the name's last component is, whatever that component leads to.
bool DirectoryInside(const FileRequest& request, int base, int) {
  Descriptor parent;
  const std::string path = fs::path(request.name).parent_path().string();
  if (Look(base, path.empty() ? "." : path.c_str(), O_DIRECTORY, parent)) return false;
  return Contained(request, base, parent.get());
}

// Checks the last component if it is a link, and the directories before it as text.
bool LeafInside(const FileRequest& request, int base, int descriptor) {
  return IsLink(Joined(request)) ? Contained(request, base, descriptor) : TextInside(request);
}

// Writes by path, following every link, and making what is missing.
Error WriteByPath(const std::string& path, const void* data, size_t size) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode_t{0666}));
  if (!file) return Failed("cannot be opened: " + Reason(errno));
  return WriteExactly(file.get(), data, size);
}

bool HasLink(const FileRequest& request) {
  if (TooLong(request.name)) return false;
  fs::path path = request.base;
  for (const fs::path& component : fs::path(request.name)) {
    path /= component;
    if (IsLink(path.string())) return true;
  }
  return false;
}

// The first component of a name that is a dangling link: where it points to.
std::string DanglingTarget(const FileRequest& request) {
  if (TooLong(request.name)) return {};
  fs::path path = request.base;
  for (const fs::path& component : fs::path(request.name)) {
    path /= component;
    std::error_code failed;
    if (IsLink(path.string()) && !fs::exists(path, failed)) {
      return (path.parent_path() / fs::read_symlink(path, failed)).string();
    }
  }
  return {};
}

// Walks to the directory of a name descriptor by descriptor and follows no link, so that nothing on the way can be exchanged; and
// takes `..` for the way back, which it is not where a directory was moved meanwhile. Else an empty descriptor.
Descriptor WalkToDirectory(const FileRequest& request) {
  Descriptor at(::open(request.base.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  int depth = 0;
  for (const fs::path& component : fs::path(request.name).parent_path()) {
    depth += component == ".." ? -1 : component == "." ? 0 : 1;
    if (!at || depth < 0) return Descriptor();
    at = Descriptor(::openat(at.get(), component.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  }
  return at;
}

// Where a name that was walked to lies, as a path through the descriptor of its directory; empty where it cannot be walked to.
std::string Walked(const FileRequest& request, const Descriptor& directory) {
  if (request.trusted || !directory) return {};
  const std::string path = "/proc/self/fd/" + std::to_string(directory.get()) + '/' + fs::path(request.name).filename().string();
  return IsLink(path) ? std::string() : path;
}

bool IsLoop(const FileRequest& request) {
  struct stat info = {};
  return !request.trusted && ::stat(Joined(request).c_str(), &info) != 0 && errno == ELOOP;
}

Error HardLinked(const struct stat& info) {
  if (S_ISREG(info.st_mode) && info.st_nlink > 1) return Refused("has several names");
  return RefuseReadType(info);
}

OrtStatus* RefuseAll(const OrtApi& api) { return api.CreateStatus(ORT_INVALID_ARGUMENT, "EPContext data is refused"); }

}  // namespace

void AddContainment(Table& table) {
  table["no-containment"] = [](Behaviour& b) { b.defences.contained = Anywhere; };
  table["leading-dotdot-only"] = [](Behaviour& b) { b.defences.contained = NotAtFirst; };
  table["lexical-dotdot"] = [](Behaviour& b) { b.defences.contained = NormalDoesNotClimb; };
  table["links-not-resolved"] = [](Behaviour& b) { b.defences.contained = InsideAsText; };
  table["prefix-containment"] = [](Behaviour& b) { b.defences.contained = CharacterPrefix; };
  table["final-link-unchecked"] = [](Behaviour& b) { b.defences.contained = DirectoryInside; };
  table["directory-link-unchecked"] = [](Behaviour& b) { b.defences.contained = LeafInside; };
  table["crosses-mounts"] = [](Behaviour& b) { b.defences.same_mount = [](int, int) { return true; }; };
  table["check-then-open"] = [](Behaviour& b) {
    b.defences.read_file = portable::ReadFile;
    b.defences.write_file = portable::WriteFile;
  };

  table["walks-back-by-dotdot"] = [](Behaviour& b) {
    b.defences.read_file = [](const FileRequest& request, const Memory& memory, EpContextData& out) {
      const Descriptor directory = WalkToDirectory(request);
      const std::string path = Walked(request, directory);
      return path.empty() ? ReadFile(request, memory, out) : ReadFile({request.defences, request.base, path, true}, memory, out);
    };
    b.defences.write_file = [](const FileRequest& request, const void* data, size_t size) {
      const Descriptor directory = WalkToDirectory(request);
      const std::string path = Walked(request, directory);
      return path.empty() ? WriteFile(request, data, size) : WriteFile({request.defences, request.base, path, true}, data, size);
    };
  };

  table["working-directory-for-memory-model"] = [](Behaviour& b) {
    b.defences.model_directory = [](std::string_view model_path, std::string& directory) {
      directory = ".";
      return model_path.empty() ? Error() : ModelDirectory(model_path, directory);
    };
  };
  table["bare-model-path-refused"] = [](Behaviour& b) {
    b.defences.model_directory = [](std::string_view model_path, std::string& directory) {
      if (model_path.find('/') == std::string_view::npos) return Refused("is beside a model without a directory");
      return ModelDirectory(model_path, directory);
    };
  };
  table["real-model-directory"] = [](Behaviour& b) {
    b.defences.model_directory = [](std::string_view model_path, std::string& directory) {
      std::error_code failed;
      const fs::path real = fs::canonical(fs::path(model_path), failed);
      return ModelDirectory(failed ? std::string(model_path) : real.string(), directory);
    };
  };

  table["hard-link-refused"] = [](Behaviour& b) { b.defences.refuse_read_type = HardLinked; };
  table["inner-link-refused"] = [](Behaviour& b) {
    b.defences.read_file = [](const FileRequest& request, const Memory& memory, EpContextData& out) {
      return !request.trusted && HasLink(request) ? Refused("goes through a link") : ReadFile(request, memory, out);
    };
    b.defences.write_file = [](const FileRequest& request, const void* data, size_t size) {
      return !request.trusted && HasLink(request) ? Refused("goes through a link") : WriteFile(request, data, size);
    };
  };
  table["link-replaced"] = [](Behaviour& b) {
    b.defences.write_file = [](const FileRequest& request, const void* data, size_t size) {
      Place place;
      if (request.trusted || !IsLink(Joined(request))) return WriteFile(request, data, size);
      if (Error error = FindForWrite(request, place)) return error;
      if (Error error = RefuseWriteTarget(request, place)) return error;
      const fs::path path = Joined(request);
      if (Error error = Look(AT_FDCWD, path.parent_path().c_str(), O_DIRECTORY, place.directory)) return error;
      place.leaf = path.filename().string();
      return Replace(place, data, size);
    };
  };
  table["loop-is-empty"] = [](Behaviour& b) {
    b.defences.read_file = [](const FileRequest& request, const Memory& memory, EpContextData& out) {
      return IsLoop(request) ? Error() : ReadFile(request, memory, out);
    };
  };
  table["follows-loops-without-end"] = [](Behaviour& b) {
    b.defences.read_file = [](const FileRequest& request, const Memory& memory, EpContextData& out) {
      while (IsLoop(request)) {
      }
      return ReadFile(request, memory, out);
    };
  };

  table["follows-dangling-link"] = [](Behaviour& b) {
    b.defences.write_file = [](const FileRequest& request, const void* data, size_t size) {
      std::error_code failed;
      const bool dangling = IsLink(Joined(request)) && !fs::exists(Joined(request), failed);
      return dangling && !request.trusted ? WriteByPath(Joined(request), data, size) : WriteFile(request, data, size);
    };
  };
  table["makes-dangling-directories"] = [](Behaviour& b) {
    b.defences.write_file = [](const FileRequest& request, const void* data, size_t size) {
      const std::string target = request.trusted ? std::string() : DanglingTarget(request);
      std::error_code failed;
      if (target.empty() || IsLink(Joined(request))) return WriteFile(request, data, size);
      fs::create_directories(target, failed);
      return WriteByPath(Joined(request), data, size);
    };
  };
  table["trusted-link-followed"] = [](Behaviour& b) {
    b.defences.write_file = [](const FileRequest& request, const void* data, size_t size) {
      return request.trusted && IsLink(request.name) ? WriteByPath(request.name, data, size) : WriteFile(request, data, size);
    };
  };
  table["opens-then-checks"] = [](Behaviour& b) {
    b.defences.read_file = [](const FileRequest& request, const Memory& memory, EpContextData& out) {
      const Descriptor early(::open(Joined(request).c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
      return ReadFile(request, memory, out);
    };
  };
  table["writes-four-levels-up"] = [](Behaviour& b) {
    b.defences.write_file = [](const FileRequest& request, const void* data, size_t size) {
      if (!request.trusted && request.name.find('/') == std::string::npos) {
        static_cast<void>(WriteByPath(request.base + "/../../../../written-by-weak-target", data, size));
      }
      return WriteFile(request, data, size);
    };
  };
  table["refuses-everything"] = [](Behaviour& b) {
    b.read = [](const Behaviour&, const Call& call, EpctxOutput& output) {
      output.data.Reset();
      return RefuseAll(call.api);
    };
    b.write = [](const Behaviour&, const Call& call) { return RefuseAll(call.api); };
    b.load = [](const Behaviour&, const Call& call, EpctxNameSink, void*) { return RefuseAll(call.api); };
  };
}

}  // namespace epctx_weak
