// The few macros that EP samples share and that copies of the reference helper use.
#pragma once

#include <functional>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <onnxruntime_cxx_api.h>

// Returns the status of an expression from the calling function, unless it is success.
#define RETURN_IF_ERROR(expression)                                  \
  do {                                                               \
    if (OrtStatus* epctx_status = (expression)) return epctx_status; \
  } while (0)

// Returns an error from the calling function where a condition holds.
#define RETURN_IF(condition, api, text)                            \
  do {                                                             \
    if (condition) return (api).CreateStatus(ORT_EP_FAIL, (text)); \
  } while (0)

#define EP_ENFORCE(condition, ...)                                             \
  do {                                                                         \
    if (!(condition)) {                                                        \
      std::ostringstream epctx_text;                                           \
      epctx_text << "EP_ENFORCE failed: " << #condition << " " << __VA_ARGS__; \
      throw std::runtime_error(epctx_text.str());                              \
    }                                                                          \
  } while (0)

#define IGNORE_ORTSTATUS(expression)         \
  do {                                       \
    Ort::Status epctx_ignored{(expression)}; \
    static_cast<void>(epctx_ignored);        \
  } while (0)
