// Our own view of the parts of ONNX Runtime's C++ API that an EPContext helper uses: the global API, Status, Exception, and
// allocators that are not owned.
//
// The global API has to be set before it is used, as with ORT_API_MANUAL_INIT: a target does so in epctx_target_init.
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include <onnxruntime_c_api.h>

#define ORT_CXX_API_THROW(text, code) throw ::Ort::Exception((text), (code))

namespace Ort {

namespace detail {
struct Global {
  inline static const OrtApi* api = nullptr;
};
}  // namespace detail

inline void InitApi(const OrtApi* api) noexcept { detail::Global::api = api; }
inline const OrtApi& GetApi() noexcept { return *detail::Global::api; }
inline const OrtEpApi& GetEpApi() noexcept { return *GetApi().GetEpApi(); }

class Exception : public std::exception {
 public:
  Exception(std::string text, OrtErrorCode code) : text_(std::move(text)), code_(code) {}
  explicit Exception(OrtStatus* status) : text_(GetApi().GetErrorMessage(status)), code_(GetApi().GetErrorCode(status)) {
    GetApi().ReleaseStatus(status);
  }
  OrtErrorCode GetOrtErrorCode() const { return code_; }
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::string text_;
  OrtErrorCode code_;
};

// Owns a status; none means success.
class Status {
 public:
  Status() noexcept = default;
  explicit Status(std::nullptr_t) noexcept {}
  explicit Status(OrtStatus* status) noexcept : status_(status) {}
  explicit Status(const Exception& e) : Status(e.what(), e.GetOrtErrorCode()) {}
  explicit Status(const std::exception& e) : Status(e.what(), ORT_FAIL) {}
  Status(const char* text, OrtErrorCode code) : status_(GetApi().CreateStatus(code, text)) {}
  Status(Status&& other) noexcept : status_(other.release()) {}
  Status& operator=(Status&& other) noexcept {
    if (this != &other) {
      reset();
      status_ = other.release();
    }
    return *this;
  }
  Status(const Status&) = delete;
  Status& operator=(const Status&) = delete;
  ~Status() { reset(); }

  bool IsOK() const noexcept { return status_ == nullptr; }
  OrtErrorCode GetErrorCode() const { return IsOK() ? ORT_OK : GetApi().GetErrorCode(status_); }
  std::string GetErrorMessage() const { return IsOK() ? std::string() : GetApi().GetErrorMessage(status_); }
  operator OrtStatus*() const noexcept { return status_; }
  OrtStatus* release() noexcept { return std::exchange(status_, nullptr); }

 private:
  void reset() noexcept {
    if (status_ != nullptr) GetApi().ReleaseStatus(std::exchange(status_, nullptr));
  }
  OrtStatus* status_ = nullptr;
};

inline void ThrowOnError(OrtStatus* status) {
  if (status != nullptr) throw Exception(status);
}
inline void ThrowOnError(const Status& status) {
  if (!status.IsOK()) throw Exception(status.GetErrorMessage(), status.GetErrorCode());
}

// Session options that somebody else owns.
class ConstSessionOptions {
 public:
  explicit ConstSessionOptions(std::nullptr_t) noexcept {}
  explicit ConstSessionOptions(const OrtSessionOptions* options) noexcept : options_(options) {}
  operator const OrtSessionOptions*() const noexcept { return options_; }

 private:
  const OrtSessionOptions* options_ = nullptr;
};

// An allocator that somebody else owns.
class UnownedAllocator {
 public:
  explicit UnownedAllocator(std::nullptr_t) noexcept {}
  explicit UnownedAllocator(OrtAllocator* allocator) noexcept : allocator_(allocator) {}
  operator OrtAllocator*() const noexcept { return allocator_; }
  void* Alloc(size_t size) {
    void* memory = nullptr;
    ThrowOnError(GetApi().AllocatorAlloc(allocator_, size, &memory));
    return memory;
  }
  void Free(void* memory) { ThrowOnError(GetApi().AllocatorFree(allocator_, memory)); }

 protected:
  OrtAllocator* allocator_ = nullptr;
};

// The default allocator of the process.
class AllocatorWithDefaultOptions : public UnownedAllocator {
 public:
  AllocatorWithDefaultOptions() : UnownedAllocator(nullptr) {
    ThrowOnError(GetApi().GetAllocatorWithDefaultOptions(&allocator_));
  }
};

}  // namespace Ort
