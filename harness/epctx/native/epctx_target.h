// The C ABI of a target: what a shared library exports to be tested with `lib:PATH`.
//
// Export the functions of this header as C functions; the driver looks each of them up by name. Required are epctx_target_abi,
// epctx_read and the first four epctx_output functions. What else is missing is not tested, and reported as a skip. A library
// that has the reference signatures in a C++ header needs none of this: `header:PATH` writes the shim.
//
// Rules for every function
//   - The api is ONNX Runtime's own table or one of the same layout; some of its functions count what is asked of them. Work
//     through the table that a call is given, and allocate the output through the allocator.
//   - Return NULL for success, else a status made with api->CreateStatus. The caller releases it.
//   - No exception may leave a function. (One that does is caught, and reported as a finding.)
//   - Calls come with the working directory and the limits of the case. Several threads may make them at once, and an
//     application's callback may make another one before it returns. What is called once is called before that.
//   - The library is first loaded in a process of its own, for one read through a callback: the driver finds out whether the
//     target looks for functions that the ONNX Runtime at hand does not have.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "onnxruntime_c_api.h"

#if defined(_WIN32)
#define EPCTX_EXPORT __declspec(dllexport)
#else
#define EPCTX_EXPORT __attribute__((visibility("default")))
#endif

#define EPCTX_TARGET_ABI 1u

#if defined(__cplusplus)
extern "C" {
#endif

// The object that a read fills, and that owns the bytes afterwards: `ep_context_data_utils::EpContextData` or its equal.
typedef struct EpctxOutput EpctxOutput;

// Takes a name that epctx_load is about to read.
typedef void (*EpctxNameSink)(void* state, const char* name, size_t size);

// Required. Returns EPCTX_TARGET_ABI.
EPCTX_EXPORT uint32_t epctx_target_abi(void);

// Optional. Called once in a process, before anything else: the table for a global API, as Ort::InitApi takes it.
EPCTX_EXPORT void epctx_target_init(const OrtApi* api);

// Optional. Called once after init, with the options of the target's specification ("a=1,b=2"). Returns NULL, or what is wrong
// with them in words that stay valid.
EPCTX_EXPORT const char* epctx_target_configure(const char* options);

// Optional, for a target that ships or wraps a runtime. Called once after configure: the table that the calls below are given
// in place of `api`, and on which the application makes session options, registers callbacks and takes configs. Of the functions
// for configs it has those by name on ONNX Runtime 1.28 to 1.30, those in its tables on later ones; those of `api` do for what
// it does not change.
EPCTX_EXPORT const OrtApi* epctx_runtime(const OrtApi* api);

// Optional. Whether the target has an ability whose function it exports: "write", "fallback", "moves" or "load". Without this
// function, what is exported is there. (For a shim, which learns only from the compiler what its header has.)
EPCTX_EXPORT int epctx_target_can(const char* ability);

// Required. An empty output; its destruction, which frees what it owns; its bytes (may be NULL when empty) and their number.
EPCTX_EXPORT EpctxOutput* epctx_output_new(void);
EPCTX_EXPORT void epctx_output_delete(EpctxOutput* output);
EPCTX_EXPORT const void* epctx_output_data(const EpctxOutput* output);
EPCTX_EXPORT size_t epctx_output_size(const EpctxOutput* output);

// Optional, both or none. Moves `from` into `to`, which frees what it held (they may be the same object); a new output made of
// what `from` held.
EPCTX_EXPORT void epctx_output_move(EpctxOutput* to, EpctxOutput* from);
EPCTX_EXPORT EpctxOutput* epctx_output_move_new(EpctxOutput* from);

// Required. Reads the binary data `name` into `output`.
//   config     NULL, or where the application's callbacks are, to be had through the experimental functions or OrtEpApi
//   name       may be NULL; ends at the first NUL
//   graph      not NULL: the name comes from a model, whose path Graph_GetModelPath gives. NULL: the caller is trusted
//   allocator  for the output; NULL stands for the default one. It outlives the output, and is not the target's to release
EPCTX_EXPORT OrtStatus* epctx_read(const OrtApi* api, const OrtEpContextConfig* config, const char* name, const OrtGraph* graph,
                                   EpctxOutput* output, OrtAllocator* allocator);

// Optional. Writes `size` bytes (buffer may be NULL) under the name, by the application's callback or to a file.
EPCTX_EXPORT OrtStatus* epctx_write(const OrtApi* api, const OrtEpContextConfig* config, const char* name, const OrtGraph* graph,
                                    const void* buffer, size_t size);

// Optional. The same, with a name of its own for the file.
EPCTX_EXPORT OrtStatus* epctx_write_fallback(const OrtApi* api, const OrtEpContextConfig* config, const char* name,
                                             const char* fallback_name, const OrtGraph* graph, const void* buffer, size_t size);

// Optional. Walks the EPContext nodes of the graph as an EP does when a session is made, tells `sink` each name before it is
// read, and reads it. Fails on the first node that is malformed or that cannot be read.
EPCTX_EXPORT OrtStatus* epctx_load(const OrtApi* api, const OrtEpContextConfig* config, const OrtGraph* graph, EpctxNameSink sink,
                                   void* sink_state);

#if defined(__cplusplus)
}  // extern "C"
#endif
