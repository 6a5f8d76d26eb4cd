// Messages on the socket: reading a request's fields and building a reply.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "protocol.h"

namespace epctx {

inline constexpr int kSocket = 3, kBulk = 4, kMarks[] = {7, 8};

// Thrown on a message that breaks the protocol; the driver ends with it.
struct BadMessage {
  const char* why;
};

// A run of fields, one after the other.
class Fields {
 public:
  explicit Fields(std::string_view bytes) : bytes_(bytes) {}

  // Moves on to the next field; false at the end.
  bool Next() {
    if (bytes_.empty()) return false;
    Field field;
    if (bytes_.size() < sizeof field) throw BadMessage{"a field is cut off"};
    std::memcpy(&field, bytes_.data(), sizeof field);
    bytes_.remove_prefix(sizeof field);
    if (bytes_.size() < field.size) throw BadMessage{"a field is longer than its message"};
    tag = static_cast<Tag>(field.tag);
    content = bytes_.substr(0, field.size);
    bytes_.remove_prefix(std::min<size_t>(bytes_.size(), (size_t{field.size} + 7) & ~size_t{7}));
    return true;
  }

  Tag tag = {};
  std::string_view content;

 private:
  std::string_view bytes_;
};

// Takes a value, or a number of bytes, off the front of a field's content.
template <typename T>
T Take(std::string_view& content) {
  T value;
  if (content.size() < sizeof value) throw BadMessage{"a value is cut off"};
  std::memcpy(&value, content.data(), sizeof value);
  content.remove_prefix(sizeof value);
  return value;
}
inline std::string_view Take(std::string_view& content, size_t size) {
  if (content.size() < size) throw BadMessage{"bytes are cut off"};
  const std::string_view taken = content.substr(0, size);
  content.remove_prefix(size);
  return taken;
}

// The requests that come in, one after the other. Several may wait in the socket.
class Requests {
 public:
  // Gives the next request's bytes, after its header, which stay until the next call; false when the other side closed.
  bool Next(std::string_view& message);

 private:
  std::vector<char> buffer_ = std::vector<char>(2 * size_t{kInlineLimit});
  size_t taken_ = 0, filled_ = 0, last_ = 0;
};

// Builds a message and sends it.
class Message {
 public:
  // Starts over, with room for a fixed part of `fixed` bytes after the header.
  void Start(uint32_t kind, size_t fixed);
  // The fixed part, to be filled in before Send.
  template <typename T>
  void SetFixed(const T& value) {
    std::memcpy(bytes_.data() + sizeof(Header), &value, sizeof value);
  }
  void Add(Tag tag, std::string_view content) { Add(tag, content, {}, {}); }
  void Add(Tag tag, std::string_view a, std::string_view b, std::string_view c);
  void Send();
  // What was built so far, without the header.
  std::string_view body() const { return std::string_view(bytes_).substr(sizeof(Header)); }

 private:
  std::string bytes_;
  uint32_t kind_ = 0;
};

template <typename T>
std::string_view BytesOf(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

// Marks the end of a call, in turn at the one and the other file: what follows an event that is just like it would not be told.
void Mark();

// Writes bytes to the bulk memory, or says that it cannot; writes them to its start; reads bytes from it.
bool TryPutBulk(std::string_view bytes, uint64_t offset);
void PutBulk(std::string_view bytes);
void GetBulk(void* bytes, size_t size, uint64_t offset);

// Gives back the memory of bytes that nobody looks at any more, as far as whole pages go.
void Forget(std::string_view bytes);

// The first `size` bytes of the bulk memory, mapped as long as this lives.
class BulkView {
 public:
  explicit BulkView(size_t size);
  ~BulkView();
  BulkView(const BulkView&) = delete;
  BulkView& operator=(const BulkView&) = delete;
  const void* data() const { return data_; }

 private:
  void* data_ = nullptr;
  size_t size_;
};

}  // namespace epctx
