// The bundled execution provider as a library that ONNX Runtime 1.28 and later loads.

#include <algorithm>
#include <cstdio>
#include <memory>

#include "ep.h"
#include "epctx_target.h"

namespace epctx_ep {
namespace {

constexpr uint32_t kNewestApi = 31;  // the first with all that the provider uses; later ones add nothing to that

class Factory : public OrtEpFactory {
 public:
  Factory(const OrtApi& api, uint32_t api_version) : OrtEpFactory(), api_(api) {
    ort_version_supported = api_version;
    GetName = [](const OrtEpFactory*) { return kName; };
    GetVendor = [](const OrtEpFactory*) { return "epctx"; };
    GetVendorId = [](const OrtEpFactory*) -> uint32_t { return 0; };
    GetVersion = [](const OrtEpFactory*) { return kVersion; };
    CreateDataTransfer = [](OrtEpFactory*, OrtDataTransferImpl** transfer) -> OrtStatus* {
      *transfer = nullptr;  // it works in the memory of the processor
      return nullptr;
    };
    IsStreamAware = [](const OrtEpFactory*) { return false; };
    GetSupportedDevices = [](OrtEpFactory* self, const OrtHardwareDevice* const* devices, size_t count, OrtEpDevice** ep_devices,
                             size_t room, size_t* ep_device_count) {
      return static_cast<Factory*>(self)->TakeProcessors(devices, count, ep_devices, room, *ep_device_count);
    };
    CreateEp = [](OrtEpFactory* self, const OrtHardwareDevice* const*, const OrtKeyValuePairs* const*, size_t,
                  const OrtSessionOptions* options, const OrtLogger*, OrtEp** ep) {
      std::unique_ptr<Ep> made;
      OrtStatus* status = Ep::Make(static_cast<Factory*>(self)->api_, self->ort_version_supported, options, made);
      *ep = made.release();
      return status;
    };
    ReleaseEp = [](OrtEpFactory*, OrtEp* ep) { delete static_cast<Ep*>(ep); };
  }

 private:
  OrtStatus* TakeProcessors(const OrtHardwareDevice* const* devices, size_t count, OrtEpDevice** ep_devices, size_t room,
                            size_t& taken) {
    taken = 0;
    for (size_t i = 0; i < count && taken < room; ++i) {
      if (api_.HardwareDevice_Type(devices[i]) != OrtHardwareDeviceType_CPU) continue;
      if (OrtStatus* status = api_.GetEpApi()->CreateEpDevice(this, devices[i], nullptr, nullptr, &ep_devices[taken]))
        return status;
      ++taken;
    }
    return nullptr;
  }

  const OrtApi& api_;
};

}  // namespace
}  // namespace epctx_ep

extern "C" EPCTX_EXPORT OrtStatus* CreateEpFactories(const char*, const OrtApiBase* base, const OrtLogger*,
                                                     OrtEpFactory** factories, size_t room, size_t* count) {
  unsigned minor = 0;
  *count = 0;
  if (std::sscanf(base->GetVersionString(), "1.%u", &minor) != 1 || minor < 28) {
    return base->GetApi(1)->CreateStatus(ORT_NOT_IMPLEMENTED, "The bundled EP needs ONNX Runtime 1.28 or later");
  }
  const uint32_t version = std::min<uint32_t>(minor, epctx_ep::kNewestApi);
  const OrtApi* api = base->GetApi(version);
  if (room == 0) return api->CreateStatus(ORT_INVALID_ARGUMENT, "There is no room for a factory");
  factories[(*count)++] = new epctx_ep::Factory(*api, version);
  return nullptr;
}

extern "C" EPCTX_EXPORT OrtStatus* ReleaseEpFactory(OrtEpFactory* factory) {
  delete static_cast<epctx_ep::Factory*>(factory);
  return nullptr;
}
