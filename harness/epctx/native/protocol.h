// The messages between the harness and the driver, as plain structures (little endian, natural alignment).
//
// The driver is a program: it enters the box before it is executed, loads one target (a shared library with the C ABI of
// epctx_target.h), says hello, and then answers requests, one reply each, until its socket closes. Both sides live on one
// machine.
//
//   argv      driver --target FILE [--ort FILE]      (libonnxruntime; without it the stand-in API is used)
//             [--set TEXT]                           (options of the target, handed to epctx_target_configure)
//             [--reports DESCRIPTOR]                 (where a sanitizer that the driver is built for writes its reports)
//             driver --ep FILE --ort FILE            (sessions: the target is an execution provider, see driver/session.h)
//             [--set TEXT]                           (options of the provider in every session: "key=value;key=value")
//   fd 3      stream socket: requests in, hello and replies out
//   fd 4      bulk memory (a memfd): payloads and outputs of more than kInlineLimit bytes; one request at a time owns it
//   fd 7, 8   empty files, touched in turn where a call ends (kMarked): a watch so tells apart what each of several calls did
//   stdout,
//   stderr    free for the target; the harness keeps the tail as evidence
//
// A message is a header with the total size, then fields: Field, followed by `size` bytes, padded to 8.
#pragma once

#include <cstdint>

namespace epctx {

inline constexpr uint32_t kProtocolVersion = 2;
inline constexpr uint32_t kInlineLimit = 96 * 1024;

enum class Op : uint32_t {
  kRead = 1,
  kWrite = 2,
  kLoad = 3,
  kConfig = 4,
  kAwait = 5,  // waits for what comes late of the earlier call with that ticket; the callbacks of that call come back
};

enum RequestFlag : uint32_t {
  kGraph = 1u << 0,             // the name comes from a model: the target gets an OrtGraph whose model path is kModelPath
  kHeld = 1u << 1,              // the output holds data of an earlier read (made through a read callback) before the call
  kMoves = 1u << 2,             // exercise moves of the output afterwards, and destroy it in another thread
  kSeparateFallback = 1u << 3,  // write: call the overload with a fallback name (kFallback; absent: NULL)
  kPayloadInBulk = 1u << 4,     // write: the payload is the first `payload_size` bytes of fd 4
  kNullPayload = 1u << 5,       // write: the buffer is NULL, and its size `payload_size`
  kNoAccessors = 1u << 6,       // the runtime does not offer the functions that give the callbacks of a config
  kLingers = 1u << 7,           // after the call, wait for a moment for callbacks that come late
  kEmptyConfig = 1u << 8,       // the target gets a config although no callback is registered in it
  kEmbeds = 1u << 9,            // sessions: the data of what is compiled goes into the model
  kRuns = 1u << 10,             // sessions: what was compiled is loaded and must give what its source gives
  kMarked = 1u << 12,           // the end of the call is marked (1 << 11 is of drivers in Python)
  kAwaited = 1u << 13,          // callbacks that come late will be waited for by a request of its own (kAwait)
};

enum class AllocatorKind : uint32_t { kDefault = 0, kCaller = 1, kNull = 2, kError = 3 };

enum class Tag : uint32_t {
  // request
  kName = 1,  // absent: a NULL name. No terminator; the driver adds one (so that bytes after a NUL are cut by C strings)
  kFallback = 2,
  kModelPath = 3,  // what Graph_GetModelPath gives; empty for a model from memory
  kPayload = 4,
  kReadCallback = 5,   // CallbackScript, then its content, the name that it re-enters with, and the text
  kWriteCallback = 6,  // the same, without a content
  kResize = 7,         // u64 size, then the path: while the target allocates, the file is cut or grown
  kRace = 8,           // u32 rounds, u32 RaceKind, u32 length of a, then path a, then path b: what happens to them without
                       // pause while the call repeats
  kRaceInside = 9,     // bytes of a good result, for sorting the rounds
  kNode = 10,          // load: one node. Its content is fields again: kNodeText (domain, then op type), kAttribute...
  kNodeText = 11,
  kAttribute = 12,      // u32 type (OrtOpAttrType), u32 length of the name, the name, then the value: i64, float, bytes,
                        // or for lists u32 count and for each u32 length and the bytes (strings), or i64 each (ints)
  kCwd = 13,            // the absolute path of the directory that the target works in during this call; absent: stay where it is
  kThreads = 14,        // ThreadsScript, then for each share ShareScript, its name and its content
  kStep = 15,           // config: a Step
  kSessionModel = 16,   // sessions: the bytes of a model without a path
  kSessionOption = 17,  // sessions: key=value, an option of the execution provider
  // hello and reply
  // JSON: {"protocol":1,"target":"...","ort":"1.32.0 or stand-in","can":["read","write","fallback","moves","load","config"],
  //        "lent":false,"error":""}
  // lent: the target looks for functions that this ONNX Runtime does not have, and so the driver lends them
  kHelloText = 32,
  kMessage = 33,       // the status's text, any bytes
  kOutput = 34,        // the output's bytes as far as they may be looked at, or, where those are in bulk, u64 how many
  kException = 35,     // what() of an exception that reached the C boundary
  kCallback = 36,      // CallbackRecord, then the name's bytes, then (write) the payload's bytes when at most kInlineLimit
  kMoveFault = 37,     // a broken promise of a move, in words
  kRaceCounts = 38,    // RaceCounts; kOutput is then that of the first round that went wrong
  kLoadedName = 39,    // load: a name that the target asked for
  kThreadCounts = 40,  // ThreadCounts, then in words the first thing that went wrong, if any
  kStepResult = 41,    // config: a StepResult for each step, then the text of its status
  kSessionFault = 42,  // sessions: why what was seen says nothing about the target, in words
                       // (43 and 44 are of drivers in Python: the target does not support the call; it died or might as well)
};

enum class StepKind : uint32_t {
  kSetRead = 0,   // registers a read function on session options
  kSetWrite = 1,  // registers a write function on compile options, which are NULL
  kTake = 2,      // takes a config from session options
  kGetRead = 3,
  kGetWrite = 4,
  kReleaseConfig = 5,
  kReleaseOptions = 6,
  kCycle = 7,  // takes configs from session options and releases them, many times
};

enum StepOutput : int32_t { kEvery = -1, kConfig = 0, kFunction = 1, kState = 2 };  // the one whose argument is NULL

struct Step {
  uint32_t kind;                             // StepKind
  int32_t options, config, function, state;  // numbers of objects, which are made when they are first named; -1: NULL
  int32_t without;                           // StepOutput
};

enum StepValue : int32_t { kNull = -1, kUntouched = -2, kOther = -3, kNotAsked = -4 };  // else the number of one of ours

struct StepResult {  // then the text of the status
  int32_t code;
  int32_t function, state, config;  // StepValue
  uint64_t grown;                   // cycle: bytes of the heap
  uint32_t states_kept;             // whether the memory of all states is as it was, for the last step when all is released
  uint32_t message_size;
};

struct Header {
  uint32_t size;  // of the whole message, header included
  uint32_t kind;  // 0 hello, 1 request, 2 reply
};

struct Field {
  uint32_t tag;
  uint32_t size;
};

struct Request {  // follows the header; fields follow it
  uint32_t op;
  uint32_t flags;
  uint32_t allocator;
  uint32_t ticket;          // kAwaited, kAwait: says which call
  int64_t file_size_limit;  // RLIMIT_FSIZE (soft) during the call; -1: none
  uint64_t payload_size;
};

enum ScriptFlag : uint32_t {
  kHasContent = 1u << 0,  // read: without it the buffer is NULL
  kNullState = 1u << 1,   // it is registered with a state of NULL
};

struct CallbackScript {
  int32_t code;            // OrtErrorCode of the status to give, 0 for success
  uint32_t flags;          // ScriptFlag
  uint64_t content_size;   // read: bytes to allocate and fill
  uint64_t reported_size;  // read: what the size is set to
  uint32_t waits;  // returns once so many invocations are in flight at once, or after half a second; 0 and 1: does not wait
  uint32_t reenters_size;  // of the name that it reads or writes through the target before it answers; 0: none
};

enum CallbackFlag : uint32_t {
  kStateOk = 1u << 0,      // the state pointer was one that was registered with a callback of this direction
  kAllocatorOk = 1u << 1,  // read: the allocator was the one that the target was given, or the default one
  kLate = 1u << 2,         // no call was in progress
  kMet = 1u << 3,          // as many invocations were in flight as it was to wait for
  kNullBuffer = 1u << 4,   // write: the buffer was NULL
  kInBulk = 1u << 5,       // write: the payload's bytes are at `bulk_offset` of fd 4
};

enum ThreadsFlag : uint32_t {
  kReadsByCallback = 1u << 0,   // the shares' contents are what read callbacks give; else names are those of files
  kWritesByCallback = 1u << 1,  // ... what write callbacks must be given
  kConfigForEach = 1u << 2,     // each share has a config, and a state, of its own
};

struct ThreadsScript {  // `count` threads make `rounds` calls each, thread t in round r on share t + r * count, around
  uint32_t count, rounds, flags, shares;
  uint32_t read_waits, write_waits;       // a callback returns once so many were at work at once, or after half a second
  int32_t read_reenters, write_reenters;  // the share that a callback calls the target for; -1: none
};

struct ShareScript {
  uint32_t write, refused, name_size, content_size;
};

struct ThreadCounts {
  uint32_t calls, right, wrong, failed, crossed, alone, most_in_flight, reserved;
};

struct CallbackRecord {
  uint32_t direction;  // 0 read, 1 write
  uint32_t flags;      // CallbackFlag
  uint64_t size;       // read: what the size was set to; write: what was given
  uint64_t bulk_offset;
  uint64_t started, ended;  // nanoseconds since the first call of the request began; `ended` is 0 if it has not
  uint32_t registration;    // which registration's state it was given, from 0
  uint32_t thread;          // threads are numbered as they come
  int32_t reentered;        // OrtErrorCode of the call that it made on the target; -1: it made none
  uint32_t name_size;
};

enum class RaceKind : uint32_t {
  kExchange = 0,  // a and b change places
  kMove = 1,      // a is moved to b, where nothing is, and back
  kChdir = 2,     // the working directory is a, then b
};

struct RaceCounts {
  uint32_t rounds, inside, refused, outside, torn;
  uint32_t turns;  // how often the attacker changed something meanwhile
};

enum ReplyFlag : uint32_t {
  kOutputInBulk = 1u << 0,  // the output's bytes are the first of fd 4
  kOutputNull = 1u << 1,    // data() was NULL
  kAdopted = 1u << 2,       // data() was the buffer that the callback allocated
  kThrew = 1u << 3,         // an exception reached the C boundary (kException)
  kNotHeld = 1u << 4,       // the output could not be made to hold data first
  kCallerReleased = 1u << 5,
};

struct Reply {  // follows the header; fields follow it
  uint32_t flags;
  int32_t code;  // OrtErrorCode of the status, 0 for a NULL status
  uint64_t output_size;
  uint64_t nanoseconds;
  uint64_t allocated, freed, live, bad_frees, caller_allocated, peak, largest;
  uint64_t statuses, statuses_released, bad_releases;
};

}  // namespace epctx
