// The books of one request: every allocation and every status, so that leaks, double and foreign releases are seen, none of
// which crashes the driver.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "onnxruntime_c_api.h"
#include "protocol.h"

// What a status is in this driver. Released ones are kept until the request ends, so that a second release is noticed.
struct OrtStatus {
  OrtErrorCode code = ORT_FAIL;
  std::string text;
  bool released = false;
};

namespace epctx {

// The allocators that a target may be given.
enum class Owner : uint32_t { kDefault, kCaller };

class Ledger {
 public:
  // Starts a request: empty books, and how allocations go from here on.
  void Begin(AllocatorKind kind);

  // Copies the counters into a reply.
  void Report(Reply& reply) const;

  // Ends a request: frees what the target left behind.
  void End();

  // Gives memory filled with a pattern, or NULL. Frees are remembered, and their memory is not used again before End.
  void* Allocate(Owner owner, size_t size);
  void Free(Owner owner, void* data);

  // Whether the C API's AllocatorAlloc is to fail, and whether an allocator's own function is.
  bool AllocatorAllocFails() const { return kind_ == AllocatorKind::kError; }
  void set_kind(AllocatorKind kind) { kind_ = kind; }

  OrtStatus* NewStatus(OrtErrorCode code, const char* text);
  void ReleaseStatus(OrtStatus* status);
  bool Owns(const OrtStatus* status) const;

  void CallerReleased();
  void BadFree();

  // Called once, by the next allocation, before it is answered.
  std::function<void()> on_next_allocation;

  // Off: plain malloc and free, for measuring a target alone.
  bool tracking = true;

 private:
  struct Block {
    void* data;
    size_t size;
    Owner owner;
    bool mapped;
    bool freed;
  };

  mutable std::mutex mutex_;
  std::atomic<AllocatorKind> kind_ = AllocatorKind::kDefault;
  std::vector<Block> blocks_;
  std::vector<OrtStatus*> statuses_;
  uint64_t allocated_ = 0, freed_ = 0, live_ = 0, bad_frees_ = 0, caller_allocated_ = 0, peak_ = 0, largest_ = 0;
  uint64_t released_ = 0, bad_releases_ = 0;
  bool caller_released_ = false;
};

// The one of this process; the C functions of the API have no other way to it.
Ledger& ledger();

}  // namespace epctx
