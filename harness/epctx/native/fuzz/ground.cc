#include "fuzz/ground.h"

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

namespace epctx {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kChanges = IN_CREATE | IN_DELETE | IN_MODIFY | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB;
constexpr uint32_t kOutsideMask = kChanges | IN_OPEN;

uint32_t MaskOf(WatchKind kind) {
  switch (kind) {
    case WatchKind::kInside: return kChanges | IN_ONLYDIR;
    case WatchKind::kOutside: return kOutsideMask | IN_ONLYDIR;
    case WatchKind::kCanary: return IN_OPEN | IN_MODIFY | IN_ATTRIB | IN_DONT_FOLLOW;
  }
  return 0;
}

void Remove(const std::string& path) {
  if (::unlink(path.c_str()) == 0 || errno == ENOENT) return;
  std::error_code ignored;  // what cannot be removed is noticed when something is made in its place
  fs::remove_all(path, ignored);
}

bool WriteFile(const Entry& entry) {
  const int file = ::open(entry.path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (file < 0) return false;
  const ssize_t written = ::write(file, entry.content.data(), entry.content.size());
  ::close(file);
  return written == static_cast<ssize_t>(entry.content.size());
}

}  // namespace

bool StandingWorlds::MakeEntry(const Entry& entry) {
  switch (entry.kind) {
    case EntryKind::kDirectory: return ::mkdir(entry.path.c_str(), 0755) == 0;
    case EntryKind::kFile: return WriteFile(entry);
    case EntryKind::kLink: return ::symlink(entry.content.c_str(), entry.path.c_str()) == 0;
    case EntryKind::kFifo: return ::mkfifo(entry.path.c_str(), 0644) == 0;
  }
  return false;
}

bool StandingWorlds::Watch(const World& world, const Watched& watched) {
  const int number = ::inotify_add_watch(inotify_, watched.path.c_str(), MaskOf(watched.kind));
  if (number >= 0) places_[number] = {watched.kind, watched.path, &world};
  return number >= 0;
}

std::string StandingWorlds::Make(const std::vector<World>& worlds) {
  inotify_ = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (inotify_ < 0) return std::string("nothing can be watched: ") + std::strerror(errno);
  for (const World& world : worlds) {
    if (!MakeAgain(world)) return "a world cannot be made at " + world.root + ": " + std::strerror(errno);
  }
  Drain([](const Place&, const inotify_event&) {});
  return {};
}

bool StandingWorlds::MakeAgain(const World& world) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(world.root, ignored)) Remove(entry.path());
  const auto made = [&](const Entry& entry) { return MakeEntry(entry); };
  const auto watched = [&](const Watched& one) { return Watch(world, one); };
  return std::all_of(world.entries.begin(), world.entries.end(), made) &&
         std::all_of(world.watched.begin(), world.watched.end(), watched);
}

// Makes an entry again that something happened to, or removes what does not belong there. False if that is not all that must be
// done: where a directory is concerned.
bool StandingWorlds::PutRight(const World& world, const std::string& path) {
  const auto is_it = [&](const Entry& entry) { return entry.path == path; };
  const auto found = std::find_if(world.entries.begin(), world.entries.end(), is_it);
  if (found != world.entries.end() && found->kind == EntryKind::kDirectory) return false;
  Remove(path);
  if (found == world.entries.end()) return true;
  if (!MakeEntry(*found)) return false;
  for (const Watched& watched : world.watched) {
    if (watched.path == path && !Watch(world, watched)) return false;
  }
  return true;
}

// Hands over all that has happened; false if the kernel did not keep all of it.
template <typename Handle>
bool StandingWorlds::Drain(Handle handle) {
  alignas(inotify_event) std::array<char, 16384> buffer;
  bool all = true;
  for (;;) {
    const ssize_t count = ::read(inotify_, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return all;
    for (size_t at = 0; at < static_cast<size_t>(count);) {
      const auto* event = reinterpret_cast<const inotify_event*>(buffer.data() + at);
      at += sizeof(inotify_event) + event->len;
      if ((event->mask & IN_Q_OVERFLOW) != 0) all = false;
      const auto found = places_.find(event->wd);
      if (found == places_.end()) continue;
      if ((event->mask & IN_IGNORED) != 0) {
        places_.erase(found);
      } else {
        handle(found->second, *event);
      }
    }
    if (static_cast<size_t>(count) < buffer.size() / 2) return all;  // there was no more
  }
}

Happened StandingWorlds::Look() {
  Happened happened;
  std::set<std::pair<const World*, std::string>> spoilt;
  const bool all = Drain([&](const Place& place, const inotify_event& event) {
    const bool opened = (event.mask & IN_OPEN) != 0;
    if (opened && (event.mask & IN_ISDIR) != 0) return;
    if (place.kind != WatchKind::kInside) happened.outside = true;
    if (opened) return;
    happened.changed = true;
    spoilt.emplace(place.world, event.len > 0 ? place.path + '/' + event.name : place.path);
  });
  if (!all) {
    happened.outside = happened.changed = true;
    for (const auto& [number, place] : places_) spoilt.emplace(place.world, place.world->root);
  }
  if (spoilt.empty()) return happened;
  std::set<const World*> broken;
  for (const auto& [world, path] : spoilt) {
    if (path == world->root || !PutRight(*world, path)) broken.insert(world);
  }
  for (const World* world : broken) {
    if (!MakeAgain(*world)) {
      std::fprintf(stderr, "epctx: a world cannot be made again at %s\n", world->root.c_str());
      std::abort();
    }
  }
  Drain([](const Place&, const inotify_event&) {});
  return happened;
}

}  // namespace epctx
