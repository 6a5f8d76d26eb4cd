// Requests: each is one call on the target, with everything around it that the request asks for.
#pragma once

#include <string_view>

#include "target.h"
#include "wire.h"

namespace epctx {

// Answers a request (its bytes after the header) by filling `reply`, ready to be sent.
void Perform(const Target& target, std::string_view request, Message& reply);

// Reads `name` of a model at `model` without pause for some seconds, with nothing tracked, and prints the rate as JSON.
// Returns the exit code.
int Bench(const Target& target, double seconds, const char* name, const char* model);

}  // namespace epctx
