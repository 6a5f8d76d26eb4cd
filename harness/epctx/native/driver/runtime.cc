#include "runtime.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "config.h"
#include "onnxruntime_experimental_c_api.h"

namespace epctx {
namespace {

// --- tables ----------------------------------------------------------------------------------------------------------------

constexpr size_t kApiSlots = 512, kEpApiSlots = 128;

union ApiTable {
  std::array<void*, kApiSlots> slots;
  OrtApi api;
};
union EpApiTable {
  std::array<void*, kEpApiSlots> slots;
  OrtEpApi api;
};
static_assert(sizeof(OrtApi) <= sizeof(ApiTable) && sizeof(OrtEpApi) <= sizeof(EpApiTable));

ApiTable g_api;
EpApiTable g_ep_api;
const OrtApi* g_used = &g_api.api;

[[noreturn]] void Unused(const char* table, size_t slot) {
  std::fprintf(stderr, "epctx: the target called slot %zu of %s, which the driver does not offer\n", slot, table);
  std::abort();
}
template <size_t slot>
void UnusedApi() {
  Unused("OrtApi", slot);
}
template <size_t slot>
void UnusedEpApi() {
  Unused("OrtEpApi", slot);
}
template <size_t... slot>
void FillApi(std::index_sequence<slot...>) {
  g_api.slots = {reinterpret_cast<void*>(&UnusedApi<slot>)...};
}
template <size_t... slot>
void FillEpApi(std::index_sequence<slot...>) {
  g_ep_api.slots = {reinterpret_cast<void*>(&UnusedEpApi<slot>)...};
}

// The number of entries in the real tables of ONNX Runtime 1.<minor>. Tables only grow.
struct Sizes {
  size_t api, ep_api;
};
Sizes SizesOf(int minor) {
  if (minor >= 32) return {429, 78};
  if (minor == 31) return {427, 78};
  if (minor == 30) return {426, 74};
  if (minor == 29) return {425, 74};
  return {423, 73};  // 1.28, the oldest one with GetExperimentalFunction
}

// The entries that read graphs, nodes and attributes. The real ones know nothing of our objects.
constexpr size_t kFirstGraphSlot = 332, kAfterGraphSlots = 369;

// --- statuses --------------------------------------------------------------------------------------------------------------

OrtStatus* CreateStatus(OrtErrorCode code, const char* text) noexcept { return ledger().NewStatus(code, text); }

OrtErrorCode GetErrorCode(const OrtStatus* status) noexcept {
  return ledger().Owns(status) ? status->code : ORT_RUNTIME_EXCEPTION;
}

const char* GetErrorMessage(const OrtStatus* status) noexcept {
  return ledger().Owns(status) ? status->text.c_str() : "(not a status that this API made)";
}

void ReleaseStatus(OrtStatus* status) noexcept { ledger().ReleaseStatus(status); }

OrtStatus* Invalid(const char* text) { return CreateStatus(ORT_INVALID_ARGUMENT, text); }

// --- allocators ------------------------------------------------------------------------------------------------------------

struct TrackedAllocator {
  OrtAllocator base;
  std::array<void*, 8> later;  // members that this view of an allocator does not declare: NULL
  Owner owner;
};

void* Alloc(OrtAllocator* allocator, size_t size) {
  return ledger().Allocate(reinterpret_cast<TrackedAllocator*>(allocator)->owner, size);
}
void Free(OrtAllocator* allocator, void* data) { ledger().Free(reinterpret_cast<TrackedAllocator*>(allocator)->owner, data); }
const OrtMemoryInfo* Info(const OrtAllocator*) {
  static const char info = 0;  // only its address is used
  return reinterpret_cast<const OrtMemoryInfo*>(&info);
}

TrackedAllocator g_default{{ORT_API_VERSION, Alloc, Free, Info, Alloc}, {}, Owner::kDefault};
TrackedAllocator g_caller{{ORT_API_VERSION, Alloc, Free, Info, Alloc}, {}, Owner::kCaller};

OrtStatus* AllocatorAlloc(OrtAllocator* allocator, size_t size, void** out) noexcept {
  *out = allocator->Alloc(allocator, size);
  if (ledger().AllocatorAllocFails()) return CreateStatus(ORT_FAIL, "no memory, as the case has it");
  return nullptr;
}
OrtStatus* AllocatorFree(OrtAllocator* allocator, void* data) noexcept {
  allocator->Free(allocator, data);
  return nullptr;
}
OrtStatus* AllocatorGetInfo(const OrtAllocator* allocator, const OrtMemoryInfo** out) noexcept {
  *out = allocator->Info(allocator);
  return nullptr;
}
OrtStatus* GetAllocatorWithDefaultOptions(OrtAllocator** out) noexcept {
  *out = &g_default.base;
  return nullptr;
}
void ReleaseAllocator(OrtAllocator* allocator) noexcept {
  if (allocator == &g_caller.base) {
    ledger().CallerReleased();
  } else if (allocator != nullptr) {
    ledger().BadFree();
  }
}

// --- experimental functions ------------------------------------------------------------------------------------------------

OrtStatus* ExperimentalApiTest(int64_t* out) {
  *out = 12345;
  return nullptr;
}

OrtExperimentalFnPtr GetExperimentalFunction(const char* name) noexcept {
  if (name == nullptr) return nullptr;
  if (std::strcmp(name, kOrtExperimental_OrtApi_ExperimentalApiTest_SinceV28_FnName) == 0) {
    return reinterpret_cast<OrtExperimentalFnPtr>(&ExperimentalApiTest);
  }
  return ConfigFunctionByName(name);
}

const OrtEpApi* GetEpApi() noexcept { return &g_ep_api.api; }

// --- graphs ----------------------------------------------------------------------------------------------------------------

OrtStatus* GraphGetName(const OrtGraph*, const char** name) noexcept {
  *name = "graph";
  return nullptr;
}
OrtStatus* GraphGetModelPath(const OrtGraph* graph, const ORTCHAR_T** path) noexcept {
  *path = graph->model_path.c_str();
  return nullptr;
}
OrtStatus* GraphGetNumNodes(const OrtGraph* graph, size_t* count) noexcept {
  *count = graph->nodes.size();
  return nullptr;
}
OrtStatus* GraphGetNodes(const OrtGraph* graph, const OrtNode** nodes, size_t count) noexcept {
  if (count < graph->nodes.size()) return Invalid("the array of nodes is too small");
  for (const OrtNode& node : graph->nodes) *nodes++ = &node;
  return nullptr;
}
OrtStatus* NodeGetName(const OrtNode* node, const char** name) noexcept {
  *name = node->name.c_str();
  return nullptr;
}
OrtStatus* NodeGetOperatorType(const OrtNode* node, const char** op_type) noexcept {
  *op_type = node->op_type.c_str();
  return nullptr;
}
OrtStatus* NodeGetDomain(const OrtNode* node, const char** domain) noexcept {
  *domain = node->domain.c_str();
  return nullptr;
}
OrtStatus* NodeGetNumAttributes(const OrtNode* node, size_t* count) noexcept {
  *count = node->attributes.size();
  return nullptr;
}
OrtStatus* NodeGetAttributes(const OrtNode* node, const OrtOpAttr** attributes, size_t count) noexcept {
  if (count < node->attributes.size()) return Invalid("the array of attributes is too small");
  for (const OrtOpAttr& attribute : node->attributes) *attributes++ = &attribute;
  return nullptr;
}
OrtStatus* NodeGetAttributeByName(const OrtNode* node, const char* name, const OrtOpAttr** attribute) noexcept {
  *attribute = nullptr;
  for (const OrtOpAttr& one : node->attributes) {
    if (*attribute == nullptr && one.name == name) *attribute = &one;
  }
  return nullptr;
}
OrtStatus* OpAttrGetType(const OrtOpAttr* attribute, OrtOpAttrType* type) noexcept {
  *type = attribute->type;
  return attribute->type == ORT_OP_ATTR_UNDEFINED ? Invalid("the attribute is of a type without a name") : nullptr;
}
OrtStatus* OpAttrGetName(const OrtOpAttr* attribute, const char** name) noexcept {
  *name = attribute->name.c_str();
  return nullptr;
}

// As the real one: the value has no terminator, an attribute of another type reads as 0 or empty, and where the room is too
// small the size is told along with the error.
OrtStatus* ReadOpAttr(const OrtOpAttr* attribute, OrtOpAttrType type, void* data, size_t room, size_t* out) noexcept {
  std::string_view value = attribute->type == type ? std::string_view(attribute->value) : std::string_view();
  static constexpr char kZero[sizeof(int64_t)] = {};
  if (value.empty() && type == ORT_OP_ATTR_INT) value = {kZero, sizeof(int64_t)};
  if (value.empty() && type == ORT_OP_ATTR_FLOAT) value = {kZero, sizeof(float)};
  *out = value.size();
  if (room < value.size()) return Invalid("Size of data not large enough to hold the value.");
  if (data != nullptr) value.copy(static_cast<char*>(data), value.size());
  return nullptr;
}

// --- start -----------------------------------------------------------------------------------------------------------------

void Patch() {
  OrtApi& api = g_api.api;
  api.CreateStatus = CreateStatus;
  api.GetErrorCode = GetErrorCode;
  api.GetErrorMessage = GetErrorMessage;
  api.ReleaseStatus = ReleaseStatus;
  api.AllocatorAlloc = AllocatorAlloc;
  api.AllocatorFree = AllocatorFree;
  api.AllocatorGetInfo = AllocatorGetInfo;
  api.GetAllocatorWithDefaultOptions = GetAllocatorWithDefaultOptions;
  api.ReleaseAllocator = ReleaseAllocator;
  api.GetEpApi = GetEpApi;
  api.GetExperimentalFunction = GetExperimentalFunction;
  api.Graph_GetName = GraphGetName;
  api.Graph_GetModelPath = GraphGetModelPath;
  api.Graph_GetNumNodes = GraphGetNumNodes;
  api.Graph_GetNodes = GraphGetNodes;
  api.Node_GetName = NodeGetName;
  api.Node_GetOperatorType = NodeGetOperatorType;
  api.Node_GetDomain = NodeGetDomain;
  api.Node_GetNumAttributes = NodeGetNumAttributes;
  api.Node_GetAttributes = NodeGetAttributes;
  api.Node_GetAttributeByName = NodeGetAttributeByName;
  api.OpAttr_GetType = OpAttrGetType;
  api.OpAttr_GetName = OpAttrGetName;
  api.ReadOpAttr = ReadOpAttr;
}

// Whether the real table is where this program takes it to be.
std::string SelfTest(const OrtApi& real) {
  OrtStatus* status = real.CreateStatus(ORT_NOT_IMPLEMENTED, "epctx self-test");
  if (status == nullptr) return "its CreateStatus gives nothing";
  const bool same =
      real.GetErrorCode(status) == ORT_NOT_IMPLEMENTED && std::strcmp(real.GetErrorMessage(status), "epctx self-test") == 0;
  real.ReleaseStatus(status);
  if (!same) return "a status does not keep its code and text";
  const auto test = reinterpret_cast<OrtExperimental_OrtApi_ExperimentalApiTest_SinceV28_Fn>(
      real.GetExperimentalFunction(kOrtExperimental_OrtApi_ExperimentalApiTest_SinceV28_FnName));
  int64_t number = 0;
  if (test == nullptr || test(&number) != nullptr || number != 12345) return "its experimental test function does not answer";
  return {};
}

}  // namespace

std::string LoadRuntime(const char* ort, Runtime& runtime) {
  void* library = ::dlopen(ort, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return std::string("ONNX Runtime cannot be loaded: ") + ::dlerror();
  const auto get_base = reinterpret_cast<const OrtApiBase* (*)()>(::dlsym(library, "OrtGetApiBase"));
  if (get_base == nullptr) return std::string(ort) + " is not an ONNX Runtime: it has no OrtGetApiBase";
  runtime.version = get_base()->GetVersionString();
  int major = 0;
  if (std::sscanf(runtime.version.c_str(), "%d.%d", &major, &runtime.minor) != 2 || major != 1 || runtime.minor < 28) {
    return "ONNX Runtime " + runtime.version + " is not one that the driver knows (1.28 or later)";
  }
  runtime.api = get_base()->GetApi(static_cast<uint32_t>(runtime.minor));
  if (runtime.api == nullptr) return "ONNX Runtime " + runtime.version + " does not give its own API";
  if (const std::string wrong = SelfTest(*runtime.api); !wrong.empty()) return "ONNX Runtime " + runtime.version + ": " + wrong;
  return {};
}

std::string StartRuntime(const char* ort, std::string& version) {
  FillApi(std::make_index_sequence<kApiSlots>());
  FillEpApi(std::make_index_sequence<kEpApiSlots>());
  version = "stand-in";
  const OrtApi* real = nullptr;
  Generation generation = Generation::kBoth;
  if (ort != nullptr) {
    Runtime found;
    if (std::string wrong = LoadRuntime(ort, found); !wrong.empty()) return wrong;
    version = found.version;
    real = found.api;
    const Sizes sizes = SizesOf(found.minor);
    const auto* slots = reinterpret_cast<void* const*>(real);
    std::copy_n(slots, kFirstGraphSlot, g_api.slots.begin());
    std::copy(slots + kAfterGraphSlots, slots + sizes.api, g_api.slots.begin() + kAfterGraphSlots);
    std::copy_n(reinterpret_cast<void* const*>(real->GetEpApi()), sizes.ep_api, g_ep_api.slots.begin());
    generation = found.minor >= 31 ? Generation::kTables : Generation::kNames;
  }
  Patch();
  StartConfigs(real, generation, g_api.api, g_ep_api.api);
  return {};
}

std::string StartRealRuntime(const char* ort, Runtime& runtime) {
  std::string wrong = LoadRuntime(ort, runtime);
  if (wrong.empty()) g_used = runtime.api;
  return wrong;
}

const OrtApi& Api() { return *g_used; }

OrtAllocator* CallerAllocator() { return &g_caller.base; }

OrtAllocator* DefaultAllocator() { return &g_default.base; }

}  // namespace epctx
