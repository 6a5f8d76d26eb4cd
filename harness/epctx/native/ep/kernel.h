// What the bundled execution provider compiles a node to: a product of its input and of constants.
//
// A kernel is made from its *data*: the constants as they were read from a source model, an embedded context, a callback or a
// file. For tensors of float the data is a header and the factors, and anything else is an error. For tensors of uint8 it is the
// factors alone, so that any bytes are good data, and a run with the input 1 gives back exactly them.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "onnxruntime_c_api.h"
#include "reference/ep_context_data.h"

namespace epctx_ep {

using epctx_reference::Error;

// Bytes and whatever owns them. Several kernels may share them.
struct Data {
  std::shared_ptr<const void> owner;
  std::string_view bytes;
};

// Data that owns a string.
Data Owned(std::string bytes);

class Kernel {
 public:
  // Makes a kernel for tensors of `type`. Data that does not fit it is an error.
  static Error Make(ONNXTensorElementDataType type, Data data, Kernel& kernel);

  // The data of a kernel with these factors, which are `size` bytes.
  static std::string Serialised(ONNXTensorElementDataType type, const void* factors, size_t size);

  // Multiplies the first input with the factors into the first output, a tensor of one dimension. Where one of them has a single
  // element, it goes with all of the other's.
  OrtStatus* Compute(const OrtApi& api, OrtKernelContext* context) const;

 private:
  ONNXTensorElementDataType type_ = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  Data data_;
  std::string_view factors_;  // in the data
};

}  // namespace epctx_ep
