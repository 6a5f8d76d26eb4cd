// The application's side of the runtime's API, step by step: what op `config` plays, and what comes of each step.
#pragma once

#include <vector>

#include "onnxruntime_c_api.h"
#include "protocol.h"
#include "wire.h"

namespace epctx {

// Plays the steps on `api` and adds a field to `message` for each. What they leave behind is released at the end.
void PlaySteps(const OrtApi& api, const std::vector<Step>& steps, Message& message);

}  // namespace epctx
