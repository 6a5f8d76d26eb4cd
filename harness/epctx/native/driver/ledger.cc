#include "ledger.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace epctx {
namespace {

// From this size on a block has pages of its own, which are given back when it is freed, while its addresses are kept.
constexpr size_t kMapped = size_t{1} << 20;

// Bytes that no world holds: what a target forgets to fill is seen.
constexpr int kFresh = 0xa5, kStale = 0xdd;

// The address sanitizer's, where the driver is built with it: a freed block is kept, and must not be looked at any more.
extern "C" __attribute__((weak)) void __asan_poison_memory_region(const volatile void* data, size_t size);
extern "C" __attribute__((weak)) void __asan_unpoison_memory_region(const volatile void* data, size_t size);

void* Map(size_t size) {
  void* data = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return data == MAP_FAILED ? nullptr : data;
}

}  // namespace

Ledger& ledger() {
  static Ledger one;
  return one;
}

void Ledger::Begin(AllocatorKind kind) {
  End();
  const std::lock_guard<std::mutex> lock(mutex_);
  kind_ = kind;
  allocated_ = freed_ = live_ = bad_frees_ = caller_allocated_ = peak_ = largest_ = released_ = bad_releases_ = 0;
  caller_released_ = false;
}

void Ledger::Report(Reply& reply) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  reply.allocated = allocated_;
  reply.freed = freed_;
  reply.live = live_;
  reply.bad_frees = bad_frees_;
  reply.caller_allocated = caller_allocated_;
  reply.peak = peak_;
  reply.largest = largest_;
  reply.statuses = statuses_.size();
  reply.statuses_released = released_;
  reply.bad_releases = bad_releases_;
  if (caller_released_) reply.flags |= kCallerReleased;
}

void Ledger::End() {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const Block& block : blocks_) {
    if (block.mapped) {
      ::munmap(block.data, block.size);
    } else {
      if (__asan_unpoison_memory_region != nullptr) __asan_unpoison_memory_region(block.data, block.size);
      std::free(block.data);
    }
  }
  blocks_.clear();
  for (const OrtStatus* status : statuses_) delete status;
  statuses_.clear();
  on_next_allocation = nullptr;
}

void* Ledger::Allocate(Owner owner, size_t size) {
  if (!tracking) return std::malloc(size);
  const std::lock_guard<std::mutex> lock(mutex_);
  if (on_next_allocation) std::exchange(on_next_allocation, nullptr)();
  largest_ = std::max(largest_, uint64_t{size});
  if (owner == Owner::kCaller) ++caller_allocated_;
  if (kind_ == AllocatorKind::kNull || kind_ == AllocatorKind::kError) return nullptr;
  const bool mapped = size >= kMapped;
  void* data = mapped ? Map(size) : std::malloc(std::max<size_t>(size, 1));
  if (data == nullptr) return nullptr;
  if (!mapped) std::memset(data, kFresh, size);
  blocks_.push_back({data, size, owner, mapped, false});
  ++allocated_;
  live_ += size;
  peak_ = std::max(peak_, live_);
  return data;
}

void Ledger::Free(Owner owner, void* data) {
  if (!tracking) return std::free(data);
  if (data == nullptr) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto block = std::find_if(blocks_.rbegin(), blocks_.rend(), [&](const Block& b) { return b.data == data; });
  if (block == blocks_.rend() || block->freed) {
    ++bad_frees_;
    return;
  }
  if (block->owner != owner) ++bad_frees_;
  block->freed = true;
  ++freed_;
  live_ -= block->size;
  if (block->mapped) {
    ::madvise(block->data, block->size, MADV_DONTNEED);
    ::mprotect(block->data, block->size, PROT_NONE);
  } else {
    std::memset(block->data, kStale, block->size);
    if (__asan_poison_memory_region != nullptr) __asan_poison_memory_region(block->data, block->size);
  }
}

void Ledger::CallerReleased() {
  const std::lock_guard<std::mutex> lock(mutex_);
  caller_released_ = true;
}

void Ledger::BadFree() {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++bad_frees_;
}

OrtStatus* Ledger::NewStatus(OrtErrorCode code, const char* text) {
  auto* status = new OrtStatus{code, text != nullptr ? text : "", false};
  const std::lock_guard<std::mutex> lock(mutex_);
  statuses_.push_back(status);
  return status;
}

bool Ledger::Owns(const OrtStatus* status) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::find(statuses_.rbegin(), statuses_.rend(), status) != statuses_.rend();
}

void Ledger::ReleaseStatus(OrtStatus* status) {
  if (status == nullptr) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = std::find(statuses_.rbegin(), statuses_.rend(), status);
  if (found == statuses_.rend() || (*found)->released) {
    ++bad_releases_;
    return;
  }
  (*found)->released = true;
  ++released_;
}

}  // namespace epctx
