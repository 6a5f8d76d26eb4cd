// Weaknesses in what a name means, in the rules for it, and in what is said of it.

#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "weak/behaviour.h"

namespace epctx_weak {
namespace {

Error NoRule(std::string_view, Platform) { return {}; }

bool IsAbsolute(std::string_view name) { return !name.empty() && name[0] == '/'; }

// Adds a rule of its own to the right one.
template <bool (*refuses)(std::string_view name)>
Error AlsoRefuse(std::string_view name, Platform platform) {
  return refuses(name) ? Refused("is not allowed") : RefuseRooted(name, platform);
}

bool HasParentComponent(std::string_view name) {
  const std::string padded = '/' + std::string(name) + '/';
  return padded.find("/../") != std::string::npos;
}

bool HasTwoDots(std::string_view name) { return name.find("..") != std::string_view::npos; }

// Refuses trusted names by a rule, before the reference sees them.
template <bool (*refuses)(std::string_view name)>
void RefuseTrusted(Behaviour& behaviour) {
  behaviour.read = [](const Behaviour& self, const Call& call, EpctxOutput& output) {
    if (call.graph != nullptr || call.config != nullptr || call.name == nullptr || !refuses(call.name)) {
      return Read(self, call, output);
    }
    output.data.Reset();
    return call.api.CreateStatus(ORT_INVALID_ARGUMENT, "The name of EPContext data is not allowed");
  };
  behaviour.write = [](const Behaviour& self, const Call& call) {
    if (call.graph != nullptr || call.config != nullptr || call.fallback_name == nullptr || !refuses(call.fallback_name)) {
      return Write(self, call);
    }
    return call.api.CreateStatus(ORT_INVALID_ARGUMENT, "The name of EPContext data is not allowed");
  };
}

std::string ExpandHome(std::string_view name) {
  const char* set = std::getenv("HOME");
  const std::string home = set != nullptr ? set : "/root";
  if (name.substr(0, 1) == "~") return home + std::string(name.substr(1));
  std::string meaning(name);
  for (size_t at; (at = meaning.find("$HOME")) != std::string::npos;) meaning.replace(at, 5, home);
  return meaning;
}

std::string DecodePercent(std::string_view name) {
  std::string meaning;
  for (size_t i = 0; i < name.size(); ++i) {
    const auto digit = [&](size_t at) { return at < name.size() && std::isxdigit(static_cast<unsigned char>(name[at])) != 0; };
    if (name[i] == '%' && digit(i + 1) && digit(i + 2)) {
      meaning += static_cast<char>(std::stoi(std::string(name.substr(i + 1, 2)), nullptr, 16));
      i += 2;
    } else {
      meaning += name[i];
    }
  }
  return meaning;
}

std::string TrimSpace(std::string_view name) {
  const size_t first = name.find_first_not_of(" \t\r\n"), last = name.find_last_not_of(" \t\r\n");
  return first == std::string_view::npos ? std::string(name) : std::string(name.substr(first, last - first + 1));
}

// Removes what looks like a climb, once: "....//" becomes one.
std::string StripParents(std::string_view name) {
  std::string meaning;
  for (size_t i = 0; i < name.size();) {
    if (name.substr(i, 3) == "../") {
      i += 3;
    } else {
      meaning += name[i++];
    }
  }
  return meaning;
}

std::string BackslashToSlash(std::string_view name) {
  std::string meaning(name);
  std::replace(meaning.begin(), meaning.end(), '\\', '/');
  return meaning;
}

std::string FoldCase(std::string_view name) {
  std::string meaning(name);
  for (char& c : meaning) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return meaning;
}

std::string ReplaceInvalid(std::string_view name) {
  if (IsUtf8(name)) return std::string(name);
  std::string meaning;
  for (const char c : name) meaning += static_cast<unsigned char>(c) < 0x80 ? std::string(1, c) : "\xef\xbf\xbd";
  return meaning;
}

std::string AbortOnLong(std::string_view name) {
  if (name.size() > 255) std::abort();
  return std::string(name);
}

std::string AbortOnInvalid(std::string_view name) {
  if (!IsUtf8(name)) std::abort();
  return std::string(name);
}

// To wide characters and back, as a helper does whose paths are wide. A byte that belongs to no character stays as it is. The
// length of a character of four bytes is what its first byte says, and not held against the length of the name: one that is cut
// off ends the process, as no exception may leave.
std::string ThroughWide(std::string_view name) noexcept {
  const std::string text(name);
  std::string back;
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const size_t size = lead >= 0xf0 && lead < 0xf5 ? 4 : lead >= 0xe0 && lead < 0xf0 ? 3 : lead >= 0xc2 && lead < 0xe0 ? 2 : 1;
    if (size == 1 || (size < 4 && text.size() - i < size)) {
      back += text[i++];
      continue;
    }
    uint32_t wide = lead & (0x7fu >> size);
    for (size_t k = 1; k < size; ++k) wide = wide << 6 | (static_cast<unsigned char>(text.at(i + k)) & 0x3f);
    std::string narrow(1, static_cast<char>(0xf00u >> size | wide >> (6 * (size - 1))));
    for (size_t k = size - 1; k-- > 0;) narrow += static_cast<char>(0x80 | (wide >> (6 * k) & 0x3f));
    back += narrow == text.substr(i, size) ? narrow : text.substr(i, size);
    i += size;
  }
  return back;
}

// Decodes %XX to see whether that would change anything, which it never takes into account: two digits are taken from behind each
// %, also where the name has ended.
std::string LooksDecoded(std::string_view name) {
  const std::vector<char> text(name.begin(), name.end());
  const auto digit = [](char c) { return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10; };
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    const char* at = text.data() + i;
    decoded += *at == '%' ? static_cast<char>(digit(at[1]) * 16 + digit(at[2])) : *at;
  }
  return decoded.size() > name.size() ? decoded : std::string(name);
}

// Passes on a status with its text or its code replaced.
template <OrtStatus* (*replace)(const OrtApi& api, OrtStatus* status)>
void ReplaceStatus(Behaviour& behaviour) {
  behaviour.read = [](const Behaviour& self, const Call& call, EpctxOutput& output) {
    return replace(call.api, Read(self, call, output));
  };
  behaviour.write = [](const Behaviour& self, const Call& call) { return replace(call.api, Write(self, call)); };
}

OrtStatus* WithoutText(const OrtApi& api, OrtStatus* status) {
  if (status == nullptr) return nullptr;
  OrtStatus* silent = api.CreateStatus(api.GetErrorCode(status), "");
  api.ReleaseStatus(status);
  return silent;
}

OrtStatus* WithOneCode(const OrtApi& api, OrtStatus* status) {
  if (status == nullptr) return nullptr;
  OrtStatus* same = api.CreateStatus(ORT_EP_FAIL, api.GetErrorMessage(status));
  api.ReleaseStatus(status);
  return same;
}

}  // namespace

void AddNames(Table& table) {
  table["absolute-allowed"] = [](Behaviour& b) {
    b.defences.refuse_rooted = NoRule;
    b.defences.contained = [](const FileRequest& request, int base, int descriptor) {
      return IsAbsolute(request.name) || linux_files::Contained(request, base, descriptor);
    };
  };
  table["absolute-inside-allowed"] = [](Behaviour& b) { b.defences.refuse_rooted = NoRule; };
  table["dotdot-refused"] = [](Behaviour& b) { b.defences.refuse_rooted = AlsoRefuse<HasParentComponent>; };
  table["dots-refused"] = [](Behaviour& b) { b.defences.refuse_rooted = AlsoRefuse<HasTwoDots>; };
  table["trusted-dotdot-refused"] = RefuseTrusted<HasParentComponent>;
  table["trusted-absolute-refused"] = RefuseTrusted<IsAbsolute>;

  table["expands-home"] = [](Behaviour& b) { b.defences.meaning = ExpandHome; };
  table["decodes-percent"] = [](Behaviour& b) { b.defences.meaning = DecodePercent; };
  table["trims-space"] = [](Behaviour& b) { b.defences.meaning = TrimSpace; };
  table["strips-dotdot"] = [](Behaviour& b) {
    b.defences.meaning = StripParents;
    b.defences.contained = [](const FileRequest&, int, int) { return true; };
  };
  table["backslash-as-slash"] = [](Behaviour& b) { b.defences.meaning = BackslashToSlash; };
  table["folds-case"] = [](Behaviour& b) { b.defences.meaning = FoldCase; };
  table["replaces-invalid-utf8"] = [](Behaviour& b) { b.defences.meaning = ReplaceInvalid; };
  table["aborts-on-long-name"] = [](Behaviour& b) { b.defences.meaning = AbortOnLong; };
  table["aborts-on-invalid-utf8"] = [](Behaviour& b) { b.defences.meaning = AbortOnInvalid; };

  table["utf8-length"] = [](Behaviour& b) { b.defences.meaning = ThroughWide; };
  table["percent-length"] = [](Behaviour& b) { b.defences.meaning = LooksDecoded; };

  table["windows-invalid-utf8-allowed"] = [](Behaviour& b) { b.defences.refuse_encoding = NoRule; };
  table["windows-devices-allowed"] = [](Behaviour& b) { b.defences.refuse_reserved = NoRule; };

  table["raw-name-in-text"] = [](Behaviour& b) { b.defences.printable = Literal; };
  table["empty-error-text"] = ReplaceStatus<WithoutText>;
  table["one-status-for-all"] = ReplaceStatus<WithOneCode>;

  table["empty-name-accepted"] = [](Behaviour& b) {
    b.read = [](const Behaviour& self, const Call& call, EpctxOutput& output) -> OrtStatus* {
      if (!IsEmpty(call.name)) return Read(self, call, output);
      output.data.Reset();
      return nullptr;
    };
    b.write = [](const Behaviour& self, const Call& call) { return IsEmpty(call.name) ? nullptr : Write(self, call); };
  };
  table["empty-fallback-accepted"] = [](Behaviour& b) {
    b.write = [](const Behaviour& self, const Call& call) {
      Call changed = call;
      if (IsEmpty(call.fallback_name)) changed.fallback_name = call.name;
      return Write(self, changed);
    };
  };
  table["fallback-checked-with-callback"] = [](Behaviour& b) {
    b.write = [](const Behaviour& self, const Call& call) -> OrtStatus* {
      const bool bad = call.separate_fallback &&
                       (IsEmpty(call.fallback_name) || IsAbsolute(call.fallback_name) || HasParentComponent(call.fallback_name));
      if (bad && !IsEmpty(call.name)) return call.api.CreateStatus(ORT_INVALID_ARGUMENT, "The fallback name is not allowed");
      return Write(self, call);
    };
  };
  table["logical-name-checked"] = [](Behaviour& b) {
    b.write = [](const Behaviour& self, const Call& call) -> OrtStatus* {
      const bool bad = !IsEmpty(call.name) && call.config == nullptr && call.separate_fallback &&
                       (IsAbsolute(call.name) || HasParentComponent(call.name));
      if (bad) return call.api.CreateStatus(ORT_INVALID_ARGUMENT, "The logical name is not allowed");
      return Write(self, call);
    };
  };
}

}  // namespace epctx_weak
