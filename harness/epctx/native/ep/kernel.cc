#include "kernel.h"

#include <cstdint>
#include <cstring>
#include <utility>

namespace epctx_ep {
namespace {

// Leads the data of a kernel for floats.
struct Header {
  char magic[8];
  uint64_t count;  // of the factors that follow
};
constexpr char kMagic[8] = {'e', 'p', 'c', 't', 'x', 'k', 'r', '1'};

Error Malformed(const char* why) {
  return epctx_reference::Refused(std::string("The data of a compiled kernel is malformed: ") + why);
}

// Multiplies `count` elements. The factors may lie anywhere. A byte times a byte is a byte again, as in ONNX.
template <typename T>
void Multiply(const void* input, bool one_input, std::string_view factors, size_t count, void* output) {
  const auto* left = static_cast<const T*>(input);
  auto* out = static_cast<T*>(output);
  const bool one_factor = factors.size() == sizeof(T);
  for (size_t i = 0; i < count; ++i) {
    T factor;
    std::memcpy(&factor, factors.data() + (one_factor ? 0 : i * sizeof factor), sizeof factor);
    out[i] = static_cast<T>(left[one_input ? 0 : i] * factor);
  }
}

OrtStatus* CountElements(const OrtApi& api, const OrtValue* value, size_t& count) {
  OrtTensorTypeAndShapeInfo* info = nullptr;
  if (OrtStatus* status = api.GetTensorTypeAndShape(value, &info)) return status;
  OrtStatus* status = api.GetTensorShapeElementCount(info, &count);
  api.ReleaseTensorTypeAndShapeInfo(info);
  return status;
}

}  // namespace

Data Owned(std::string bytes) {
  auto owner = std::make_shared<const std::string>(std::move(bytes));
  const std::string_view view = *owner;
  return {std::move(owner), view};
}

Error Kernel::Make(ONNXTensorElementDataType type, Data data, Kernel& kernel) {
  std::string_view factors = data.bytes;
  if (type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT) {
    Header header;
    if (factors.size() < sizeof header) return Malformed("it is cut off");
    std::memcpy(&header, factors.data(), sizeof header);
    factors.remove_prefix(sizeof header);
    if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0) return Malformed("it does not start as one");
    if (factors.size() % sizeof(float) != 0 || header.count != factors.size() / sizeof(float)) {
      return Malformed("it does not hold as many factors as it says");
    }
  } else if (type != ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8) {
    return epctx_reference::Refused("The bundled EP has kernels for tensors of float and uint8 only");
  }
  kernel.type_ = type;
  kernel.data_ = std::move(data);
  kernel.factors_ = factors;
  return {};
}

std::string Kernel::Serialised(ONNXTensorElementDataType type, const void* factors, size_t size) {
  std::string data;
  if (type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT) {
    Header header = {{}, size / sizeof(float)};
    std::memcpy(header.magic, kMagic, sizeof kMagic);
    data.append(reinterpret_cast<const char*>(&header), sizeof header);
  }
  return data.append(static_cast<const char*>(factors), size);
}

OrtStatus* Kernel::Compute(const OrtApi& api, OrtKernelContext* context) const {
  const bool floats = type_ == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
  const OrtValue* input = nullptr;
  if (OrtStatus* status = api.KernelContext_GetInput(context, 0, &input)) return status;
  size_t inputs = 0;
  if (OrtStatus* status = CountElements(api, input, inputs)) return status;
  const size_t factors = factors_.size() / (floats ? sizeof(float) : 1), count = inputs == 1 ? factors : inputs;
  if (factors != 1 && factors != count) {
    return api.CreateStatus(ORT_INVALID_ARGUMENT, "The input has another number of elements than the compiled kernel");
  }
  void* left = nullptr;  // the function gives memory that may be written; this is only read
  if (OrtStatus* status = api.GetTensorMutableData(const_cast<OrtValue*>(input), &left)) return status;
  OrtValue* output = nullptr;
  const auto dimension = static_cast<int64_t>(count);
  if (OrtStatus* status = api.KernelContext_GetOutput(context, 0, &dimension, 1, &output)) return status;
  void* out = nullptr;
  if (OrtStatus* status = api.GetTensorMutableData(output, &out)) return status;
  if (floats) {
    Multiply<float>(left, inputs == 1, factors_, count, out);
  } else {
    Multiply<uint8_t>(left, inputs == 1, factors_, count, out);
  }
  return nullptr;
}

}  // namespace epctx_ep
