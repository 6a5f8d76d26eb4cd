// One execution of a fuzzer: bytes become a call on the target in a standing world, and what looks wrong is noted.
//
// What is noted is only suspicious. The harness makes a case of the bytes, and the whole oracle judges that.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <atomic>

namespace epctx {

// What the harness reads after the fuzzer's end, however that came: shared memory, with this at its start and then records.
inline constexpr uint64_t kReportSize = uint64_t{1} << 20, kLongestInput = 8200;

struct ReportHead {
  std::atomic<uint64_t> executions;
  std::atomic<uint64_t> used;     // bytes of records
  std::atomic<uint64_t> dropped;  // suspicious executions that are like those that were noted before
  std::atomic<uint64_t> running;  // size of the input of the call that is being made; 0: none is
  std::atomic<uint64_t> mutated;  // calls of a mutator that the harness itself brings along
  char input[kLongestInput];      // that input
};

enum class Suspicion : uint32_t { kOutside = 0, kLeak = 1, kThrew = 2, kStatus = 3, kOutput = 4, kMemory = 5, kMoves = 6 };

struct SuspectRecord {  // then the bytes, padded to 8
  uint32_t suspicion;
  uint32_t size;
};

}  // namespace epctx

#define EPCTX_FUZZ_EXPORT extern "C" __attribute__((visibility("default")))

// Loads the target and makes the worlds: to be called once. `plan` and `report` are descriptors. Returns what is wrong, in words
// that stay valid, or NULL.
EPCTX_FUZZ_EXPORT const char* epctx_fuzz_start(const char* target, const char* ort, const char* set, int plan, int report);

// Makes the call that some bytes are. Returns whether they are one.
EPCTX_FUZZ_EXPORT int epctx_fuzz_one(const uint8_t* data, size_t size);
