// The driver: loads one target and answers requests on its socket. See protocol.h.
//
//   driver --target FILE [--ort FILE] [--set TEXT] [--reports DESCRIPTOR]
//   driver --ep FILE --ort FILE [--set TEXT] [--reports DESCRIPTOR]
//   driver --target FILE [--set TEXT] --bench SECONDS --name NAME --model PATH

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "calls.h"
#include "config.h"
#include "probe.h"
#include "runtime.h"
#include "session.h"

// Of every sanitizer that the driver may be built for.
extern "C" __attribute__((weak)) void __sanitizer_set_report_fd(void* descriptor);

namespace {

struct Options {
  const char* target = nullptr;
  const char* ep = nullptr;
  const char* ort = nullptr;
  const char* set = "";
  const char* reports = nullptr;
  const char* bench = nullptr;
  const char* name = "";
  const char* model = "";
};

bool Parse(int argc, char** argv, Options& options) {
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view option = argv[i];
    if (option == "--target")
      options.target = argv[i + 1];
    else if (option == "--ep")
      options.ep = argv[i + 1];
    else if (option == "--ort")
      options.ort = argv[i + 1];
    else if (option == "--set")
      options.set = argv[i + 1];
    else if (option == "--reports")
      options.reports = argv[i + 1];
    else if (option == "--bench")
      options.bench = argv[i + 1];
    else if (option == "--name")
      options.name = argv[i + 1];
    else if (option == "--model")
      options.model = argv[i + 1];
    else
      return false;
  }
  return argc % 2 == 1 && (options.target != nullptr) != (options.ep != nullptr);
}

// A JSON string; bytes that are not printable ASCII are escaped one by one, as in Latin-1.
std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (byte < 0x20 || byte > 0x7e) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", byte);
      quoted += escaped;
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

std::string HelloText(const Options& options, const std::string& ort, const std::vector<std::string>& can, bool lent,
                      const std::string& error) {
  std::string list;
  for (const std::string& ability : can) list += (list.empty() ? "" : ", ") + Quoted(ability);
  return "{\"protocol\": " + std::to_string(epctx::kProtocolVersion) +
         ", \"target\": " + Quoted(options.ep != nullptr ? options.ep : options.target) + ", \"ort\": " + Quoted(ort) +
         ", \"can\": [" + list + "], \"lent\": " + (lent ? "true" : "false") + ", \"error\": " + Quoted(error) + "}";
}

// Says hello, and if nothing is wrong answers requests until there are none. Returns the exit code.
template <typename Answer>
int Serve(const Options& options, const std::string& ort, const std::vector<std::string>& can, bool lent,
          const std::string& error, Answer answer) {
  try {
    epctx::Message message;
    message.Start(0, 0);
    message.Add(epctx::Tag::kHelloText, HelloText(options, ort, can, lent, error));
    message.Send();
    if (!error.empty()) return 3;
    epctx::Requests requests;
    for (std::string_view request; requests.Next(request);) {
      answer(request, message);
      message.Send();
    }
  } catch (const epctx::BadMessage& bad) {
    std::fprintf(stderr, "epctx driver: %s\n", bad.why);
    return 3;
  }
  return 0;
}

int ServeSessions(const Options& options) {
  epctx::Sessions sessions;
  const std::string error = sessions.Start(options.ort, options.ep, options.set);
  const auto can = error.empty() ? epctx::AbilitiesOfSessions() : std::vector<std::string>();
  return Serve(options, sessions.version(), can, false, error,
               [&](std::string_view request, epctx::Message& message) { sessions.Perform(request, message); });
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!Parse(argc, argv, options)) {
    std::fputs(
        "usage: driver --target FILE [--ort FILE] [--set TEXT] [--reports DESCRIPTOR] "
        "[--bench SECONDS --name NAME --model PATH]\n"
        "       driver --ep FILE --ort FILE [--set TEXT] [--reports DESCRIPTOR]\n",
        stderr);
    return 2;
  }
  if (options.reports != nullptr && __sanitizer_set_report_fd != nullptr) {
    __sanitizer_set_report_fd(reinterpret_cast<void*>(static_cast<intptr_t>(std::atoi(options.reports))));
  }
  std::signal(SIGXFSZ, SIG_IGN);  // a write over the limit is an error of the call, as a full disk is
  std::signal(SIGPIPE, SIG_IGN);
  if (options.ep != nullptr) return ServeSessions(options);

  std::string ort;
  epctx::Target target;
  std::string error = epctx::StartRuntime(options.ort, ort);
  const bool lent = error.empty() && epctx::NeedsLoan(options.target, options.set);
  epctx::Lend(lent);
  if (error.empty()) error = epctx::LoadTarget(options.target, epctx::Api(), options.set, target);
  if (options.bench != nullptr) {
    if (error.empty()) return epctx::Bench(target, std::atof(options.bench), options.name, options.model);
    std::fprintf(stderr, "%s\n", error.c_str());
    return 3;
  }
  const auto can = error.empty() ? epctx::AbilitiesOf(target) : std::vector<std::string>();
  return Serve(options, ort, can, lent, error,
               [&](std::string_view request, epctx::Message& message) { epctx::Perform(target, request, message); });
}
