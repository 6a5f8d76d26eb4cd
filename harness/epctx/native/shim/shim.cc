// A target around a C++ header with the functions of the reference helper. Compiled with
//   -DEPCTX_HEADER="path"      the header
//   -DEPCTX_NAMESPACE=name     the namespace of its functions
//
// What the header has is found out here: the allocator of a read may be missing, and so may each overload of the write and the
// moves of its output. epctx_target_can tells the driver.

#define ORT_API_MANUAL_INIT
#include EPCTX_HEADER
#include <cstdlib>
#include <string_view>
#include <type_traits>
#include <utility>

#include "../epctx_target.h"
#include "onnxruntime_cxx_api.h"

// With these the names exist, whatever the header has; nothing can call them.
struct EpctxNothing;
namespace EPCTX_NAMESPACE {
OrtStatus* ReadEpContextData(EpctxNothing&);
OrtStatus* WriteEpContextDataWithFileFallback(EpctxNothing&);
}  // namespace EPCTX_NAMESPACE

struct EpctxOutput {
  EPCTX_NAMESPACE::EpContextData data;
};

namespace epctx_shim {

namespace helper = EPCTX_NAMESPACE;

constexpr auto kRead =
    [](auto&&... arguments) -> decltype(helper::ReadEpContextData(std::forward<decltype(arguments)>(arguments)...)) {
  return helper::ReadEpContextData(std::forward<decltype(arguments)>(arguments)...);
};
constexpr auto kWrite = [](auto&&... arguments) -> decltype(helper::WriteEpContextDataWithFileFallback(
                                                    std::forward<decltype(arguments)>(arguments)...)) {
  return helper::WriteEpContextDataWithFileFallback(std::forward<decltype(arguments)>(arguments)...);
};

using Data = helper::EpContextData;
using Api = const OrtApi&;
using Config = const OrtEpContextConfig*;
using Name = const char*;
using Graph = const OrtGraph*;
using Bytes = const void*;

template <typename Function, typename... Arguments>
constexpr bool kTakes = std::is_invocable_r_v<OrtStatus*, Function, Arguments...>;

constexpr bool kAllocator = kTakes<decltype(kRead), Api, Config, Name, Graph, Data&, OrtAllocator*>;
constexpr bool kNoAllocator = !kAllocator && kTakes<decltype(kRead), Api, Config, Name, Graph, Data&>;
constexpr bool kWrites = kTakes<decltype(kWrite), Api, Config, Name, Graph, Bytes, size_t>;
constexpr bool kFallback = kTakes<decltype(kWrite), Api, Config, Name, Name, Graph, Bytes, size_t>;
constexpr bool kMoves = std::is_move_constructible_v<Data> && std::is_move_assignable_v<Data>;

static_assert(kAllocator || kNoAllocator,
              "the header must have OrtStatus* ReadEpContextData(const OrtApi&, const OrtEpContextConfig*, const char* "
              "file_name, const OrtGraph*, EpContextData&, OrtAllocator* = nullptr)");

// Calls what exists. What does not is never looked at, and the driver never asks for it.
template <bool exists, typename Function, typename... Arguments>
auto CallIf(Function function, Arguments&&... arguments) {
  if constexpr (exists) {
    return function(std::forward<Arguments>(arguments)...);
  } else {
    std::abort();
    return static_cast<OrtStatus*>(nullptr);
  }
}

}  // namespace epctx_shim

using namespace epctx_shim;

uint32_t epctx_target_abi() { return EPCTX_TARGET_ABI; }

void epctx_target_init(const OrtApi* api) { Ort::InitApi(api); }

int epctx_target_can(const char* ability) {
  const std::string_view wanted = ability;
  return (wanted == "write" && kWrites) || (wanted == "fallback" && kFallback) || (wanted == "moves" && kMoves);
}

EpctxOutput* epctx_output_new() { return new EpctxOutput(); }

void epctx_output_delete(EpctxOutput* output) { delete output; }

const void* epctx_output_data(const EpctxOutput* output) { return output->data.data(); }

size_t epctx_output_size(const EpctxOutput* output) { return output->data.size(); }

void epctx_output_move(EpctxOutput* to, EpctxOutput* from) {
  const auto move = [](auto& left, auto& right) -> OrtStatus* {
    left = std::move(right);
    return nullptr;
  };
  CallIf<kMoves>(move, to->data, from->data);
}

EpctxOutput* epctx_output_move_new(EpctxOutput* from) {
  EpctxOutput* made = nullptr;
  const auto move = [&](auto& right) -> OrtStatus* {
    made = new EpctxOutput{std::move(right)};
    return nullptr;
  };
  CallIf<kMoves>(move, from->data);
  return made;
}

OrtStatus* epctx_read(const OrtApi* api, const OrtEpContextConfig* config, const char* name, const OrtGraph* graph,
                      EpctxOutput* output, OrtAllocator* allocator) {
  if constexpr (kAllocator) return CallIf<kAllocator>(kRead, *api, config, name, graph, output->data, allocator);
  return CallIf<kNoAllocator>(kRead, *api, config, name, graph, output->data);
}

OrtStatus* epctx_write(const OrtApi* api, const OrtEpContextConfig* config, const char* name, const OrtGraph* graph,
                       const void* buffer, size_t size) {
  return CallIf<kWrites>(kWrite, *api, config, name, graph, buffer, size);
}

OrtStatus* epctx_write_fallback(const OrtApi* api, const OrtEpContextConfig* config, const char* name, const char* fallback_name,
                                const OrtGraph* graph, const void* buffer, size_t size) {
  return CallIf<kFallback>(kWrite, *api, config, name, fallback_name, graph, buffer, size);
}
