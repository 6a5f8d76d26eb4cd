// A call on the target, and what it comes to.
#pragma once

#include <exception>
#include <string>

#include "runtime.h"
#include "wire.h"

namespace epctx {

// What a call left behind.
struct Outcome {
  OrtErrorCode code = ORT_OK;
  std::string text;
  bool threw = false;
};

// Makes a call, and takes its status or its exception apart.
template <typename Function>
Outcome Try(Function call) {
  Outcome outcome;
  try {
    if (OrtStatus* status = call()) {
      outcome.code = Api().GetErrorCode(status);
      outcome.text = Api().GetErrorMessage(status);
      Api().ReleaseStatus(status);
    }
  } catch (const BadMessage&) {
    throw;  // ours, not the target's
  } catch (const std::exception& e) {
    outcome.threw = true;
    outcome.text = e.what();
  } catch (...) {
    outcome.threw = true;
    outcome.text = "something that is not a std::exception";
  }
  return outcome;
}

}  // namespace epctx
