#include "fuzz/plan.h"

#include "driver/wire.h"

namespace epctx {
namespace {

constexpr size_t kHead = 2, kLongestName = 8192;

// Not for names of cases: the one is replaced by the world's root, the other kept for the harness.
constexpr std::string_view kRootToken = "{root}", kKept = "\x01\x02root\x02\x01";

size_t CountOf(std::string_view text, std::string_view part) {
  size_t count = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string_view::npos; at += part.size()) ++count;
  return count;
}

World TakeWorld(std::string_view bytes) {
  World world;
  for (Fields fields(bytes); fields.Next();) {
    std::string_view content = fields.content;
    switch (PlanTag{static_cast<uint32_t>(fields.tag)}) {
      case PlanTag::kRoot: world.root = content; break;
      case PlanTag::kClimbs: world.climbs = Take<uint32_t>(content); break;
      case PlanTag::kEntry: {
        const auto head = Take<PlanEntry>(content);
        std::string path = world.root + '/' + std::string(Take(content, head.path_size));
        world.entries.push_back({EntryKind{head.kind}, std::move(path), std::string(content)});
        break;
      }
      case PlanTag::kWatch: {
        const WatchKind kind{Take<uint32_t>(content)};
        world.watched.push_back({kind, std::string(content)});
        break;
      }
      case PlanTag::kMark: world.marks.emplace_back(content); break;
      case PlanTag::kCall: {
        const Tag tag{Take<uint32_t>(content)};
        std::string_view rest = content;
        const auto head = Take<Request>(rest);
        world.calls.push_back(
            {tag, std::string(content), (head.flags & kGraph) != 0, head.op == static_cast<uint32_t>(Op::kWrite)});
        break;
      }
      default: throw BadMessage{"a field has a tag that no plan has"};
    }
  }
  if (world.root.empty() || world.calls.empty()) throw BadMessage{"a world of the plan has no root, or no calls"};
  return world;
}

}  // namespace

std::vector<World> TakePlan(std::string_view plan) {
  std::vector<World> worlds;
  for (Fields fields(plan); fields.Next();) {
    if (PlanTag{static_cast<uint32_t>(fields.tag)} != PlanTag::kWorld) throw BadMessage{"a plan holds worlds and nothing else"};
    worlds.push_back(TakeWorld(fields.content));
  }
  if (worlds.empty()) throw BadMessage{"the plan holds no world"};
  return worlds;
}

bool Decode(const std::vector<World>& worlds, std::string_view data, Meaning& meaning) {
  if (data.size() < kHead || data.size() > kHead + kLongestName) return false;
  meaning.world = static_cast<unsigned char>(data[0]) % static_cast<uint32_t>(worlds.size());
  const World& world = worlds[meaning.world];
  meaning.call = static_cast<unsigned char>(data[1]) % static_cast<uint32_t>(world.calls.size());
  const std::string_view name = data.substr(kHead);
  if (CountOf(name, "..") > world.climbs || CountOf(name, kRootToken) > 0 || CountOf(name, kKept) > 0) return false;
  meaning.name.clear();
  if (name.substr(0, 1) == "/") meaning.name = world.root;
  meaning.name += name;
  return true;
}

void MakeRequest(const std::vector<World>& worlds, const Meaning& meaning, std::string& request) {
  const Prepared& call = worlds[meaning.world].calls[meaning.call];
  const Field field{static_cast<uint32_t>(call.name_tag), static_cast<uint32_t>(meaning.name.size())};
  request = call.request;
  request.append(BytesOf(field)).append(meaning.name).append((8 - meaning.name.size() % 8) % 8, '\0');
}

}  // namespace epctx

// The request that some bytes are under a plan, up to `room` bytes of it: for the tests, which compare it with that of the case
// which the harness makes of them. Returns its size; 0 for bytes that are no case.
extern "C" __attribute__((visibility("default"))) size_t epctx_fuzz_request(const char* plan, size_t plan_size, const char* data,
                                                                            size_t size, char* request, size_t room) {
  const std::vector<epctx::World> worlds = epctx::TakePlan({plan, plan_size});
  epctx::Meaning meaning = {};
  if (!epctx::Decode(worlds, {data, size}, meaning)) return 0;
  std::string made;
  epctx::MakeRequest(worlds, meaning, made);
  made.copy(request, room);
  return made.size();
}
