// Requests that are answered by real sessions: the target is an execution provider, and all else is ONNX Runtime's own.
//
// A read or a load makes a session of the model, whose EPContext nodes the provider loads, and runs it once with the input 1. A
// write compiles the model to an EPContext model in memory, whose data the provider writes.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime.h"
#include "wire.h"

namespace epctx {

class Sessions {
 public:
  // Makes an environment of the libonnxruntime `ort` and registers the provider's library in it. Both stay. Returns what is
  // wrong, or an empty text.
  std::string Start(const char* ort, const char* library, const char* options);

  const std::string& version() const { return runtime_.version; }

  // Answers a request (its bytes after the header) by filling `reply`, ready to be sent.
  void Perform(std::string_view request, Message& reply) const;

 private:
  friend class SessionWork;

  Runtime runtime_;
  OrtEnv* env_ = nullptr;
  std::vector<const OrtEpDevice*> devices_;  // of the provider
  std::string provider_;
  std::vector<std::string> keys_, values_;  // options of the provider, in all sessions
};

// What a session can be asked for, as the hello's "can" names it.
std::vector<std::string> AbilitiesOfSessions();

}  // namespace epctx
