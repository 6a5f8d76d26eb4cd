// The ONNX Runtime that a target sees: a copy of the real table, or a stand-in, with the functions replaced that this driver
// answers itself, and the objects that a call needs: graphs and allocators. Configs have a file of their own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ledger.h"
#include "onnxruntime_c_api.h"

// An attribute, with its value as ReadOpAttr gives it.
struct OrtOpAttr {
  OrtOpAttrType type = ORT_OP_ATTR_UNDEFINED;
  std::string name;
  std::string value;
};

struct OrtNode {
  std::string name, domain, op_type;
  std::vector<OrtOpAttr> attributes;
};

struct OrtGraph {
  std::string model_path;
  std::vector<OrtNode> nodes;
};

namespace epctx {

// Makes the tables; once. With the path of a libonnxruntime they are copies of its own, after a self-test. `version` becomes
// its version, or "stand-in". Returns what is wrong, or an empty text.
std::string StartRuntime(const char* ort, std::string& version);

// A libonnxruntime as it is.
struct Runtime {
  const OrtApi* api = nullptr;
  std::string version;
  int minor = 0;  // of 1.<minor>
};

// Uses the tables of a libonnxruntime themselves, with nothing replaced, in the place of StartRuntime. Returns what is wrong, or
// an empty text.
std::string StartRealRuntime(const char* ort, Runtime& runtime);

const OrtApi& Api();

// The allocator that the caller of a target owns, and the one that GetAllocatorWithDefaultOptions gives.
OrtAllocator* CallerAllocator();
OrtAllocator* DefaultAllocator();

}  // namespace epctx
