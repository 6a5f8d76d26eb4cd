// How a payload is cut for a write callback: rightly, for a target that declares it, and wrongly.

#include <algorithm>

#include "weak/behaviour.h"

namespace epctx_weak {
namespace {

// Where the piece `number` of `count` begins.
size_t Begin(size_t size, size_t number, size_t count) { return size / count * number + std::min(number, size % count); }

// Writes one piece of a payload under a name.
OrtStatus* WritePiece(const Behaviour& self, const Call& call, size_t number, size_t count, const char* name) {
  Call piece = call;
  const size_t begin = Begin(call.size, number, count);
  piece.name = name;
  piece.buffer = static_cast<const char*>(call.buffer) + begin;
  piece.size = Begin(call.size, number + 1, count) - begin;
  return Write(self, piece);
}

// Whether a payload goes to a callback, and can be cut into so many pieces.
bool Divides(const Call& call, size_t count) { return HasWriteCallback(call) && call.buffer != nullptr && call.size >= count; }

// Writes the pieces whose numbers are given, of `count`.
OrtStatus* WritePieces(const Behaviour& self, const Call& call, std::initializer_list<size_t> numbers, size_t count) {
  if (!Divides(call, count)) return Write(self, call);
  for (const size_t number : numbers) {
    if (OrtStatus* status = WritePiece(self, call, number, count, call.name)) return status;
  }
  return nullptr;
}

}  // namespace

OrtStatus* WriteInPieces(const Behaviour& behaviour, const Call& call) { return WritePieces(behaviour, call, {0, 1, 2}, 3); }

void AddChunking(Table& table) {
  table["writes-in-halves"] = [](Behaviour& b) {
    b.write = [](const Behaviour& self, const Call& call) { return WritePieces(self, call, {0, 1}, 2); };
  };
  table["writes-twice"] = [](Behaviour& b) {
    b.write = [](const Behaviour& self, const Call& call) { return WritePieces(self, call, {0, 0}, 1); };
  };
  table["last-byte-dropped"] = [](Behaviour& b) {
    b.write = [](const Behaviour& self, const Call& call) {
      Call shorter = call;
      if (Divides(call, 1)) --shorter.size;
      return Write(self, shorter);
    };
  };
  table["chunks-without-last"] = [](Behaviour& b) {
    b.write = [](const Behaviour& self, const Call& call) { return WritePieces(self, call, {0, 1}, 3); };
  };
  table["chunks-out-of-order"] = [](Behaviour& b) {
    b.write = [](const Behaviour& self, const Call& call) { return WritePieces(self, call, {1, 0, 2}, 3); };
  };
  table["chunks-after-last"] = [](Behaviour& b) {
    b.write = [](const Behaviour& self, const Call& call) { return WritePieces(self, call, {0, 1, 2, 2}, 3); };
  };
  table["chunks-with-numbered-names"] = [](Behaviour& b) {
    b.write = [](const Behaviour& self, const Call& call) -> OrtStatus* {
      if (!Divides(call, 2)) return Write(self, call);
      if (OrtStatus* status = WritePiece(self, call, 0, 2, call.name)) return status;
      return WritePiece(self, call, 1, 2, (std::string(call.name) + ".1").c_str());
    };
  };
}

}  // namespace epctx_weak
