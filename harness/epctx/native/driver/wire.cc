#include "wire.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace epctx {
namespace {

const auto kPage = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
constexpr uint64_t kWindow = 64 * 1024;

}  // namespace

bool Requests::Next(std::string_view& message) {
  taken_ += last_;
  last_ = 0;
  size_t need = sizeof(Header);
  for (;;) {
    const size_t have = filled_ - taken_;
    if (have >= sizeof(Header)) {
      Header header;
      std::memcpy(&header, buffer_.data() + taken_, sizeof header);
      if (header.kind != 1 || header.size < sizeof header) throw BadMessage{"the header is not that of a request"};
      need = header.size;
      if (have >= need) break;
    }
    if (taken_ > 0) {
      std::memmove(buffer_.data(), buffer_.data() + taken_, have);
      filled_ = have;
      taken_ = 0;
    }
    if (buffer_.size() < need) buffer_.resize(need);
    const ssize_t count = ::read(kSocket, buffer_.data() + filled_, buffer_.size() - filled_);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      if (have == 0) return false;
      throw BadMessage{"the socket closed within a message"};
    }
    filled_ += static_cast<size_t>(count);
  }
  last_ = need;
  message = std::string_view(buffer_.data() + taken_ + sizeof(Header), need - sizeof(Header));
  return true;
}

void Message::Start(uint32_t kind, size_t fixed) {
  kind_ = kind;
  bytes_.assign(sizeof(Header) + fixed, '\0');
}

void Message::Add(Tag tag, std::string_view a, std::string_view b, std::string_view c) {
  const size_t size = a.size() + b.size() + c.size();
  const Field field{static_cast<uint32_t>(tag), static_cast<uint32_t>(size)};
  bytes_.append(BytesOf(field)).append(a).append(b).append(c).append((8 - size % 8) % 8, '\0');
}

void Message::Send() {
  const Header header{static_cast<uint32_t>(bytes_.size()), kind_};
  std::memcpy(bytes_.data(), &header, sizeof header);
  for (size_t sent = 0; sent < bytes_.size();) {
    const ssize_t count = ::write(kSocket, bytes_.data() + sent, bytes_.size() - sent);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) throw BadMessage{"the socket closed before the reply was sent"};
    sent += static_cast<size_t>(count);
  }
}

void Mark() {
  static bool other = false;
  if (::futimens(kMarks[other ? 1 : 0], nullptr) != 0) throw BadMessage{"the end of a call cannot be marked"};
  other = !other;
}

bool TryPutBulk(std::string_view bytes, uint64_t offset) {
  struct stat info = {};
  if (::fstat(kBulk, &info) != 0) return false;
  const uint64_t end = offset + bytes.size();
  if (static_cast<uint64_t>(info.st_size) < end && ::ftruncate(kBulk, static_cast<off_t>(end)) != 0) return false;
  // Through mappings: what is written to a file is held to the limit of its size that a case may set. They are small ones, since
  // what is mapped counts as memory of the process.
  for (uint64_t at = offset; at < end;) {
    const uint64_t start = at - at % kPage, stop = std::min(end, start + kWindow);
    void* const mapped = ::mmap(nullptr, stop - start, PROT_READ | PROT_WRITE, MAP_SHARED, kBulk, static_cast<off_t>(start));
    if (mapped == MAP_FAILED) return false;
    std::memcpy(static_cast<char*>(mapped) + (at - start), bytes.data() + (at - offset), stop - at);
    ::munmap(mapped, stop - start);
    at = stop;
  }
  return true;
}

void PutBulk(std::string_view bytes) {
  if (!TryPutBulk(bytes, 0)) throw BadMessage{"the bulk memory cannot hold the output"};
}

void GetBulk(void* bytes, size_t size, uint64_t offset) {
  for (size_t done = 0; done < size;) {
    const ssize_t count = ::pread(kBulk, static_cast<char*>(bytes) + done, size - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) throw BadMessage{"the bulk memory is shorter than was said"};
    done += static_cast<size_t>(count);
  }
}

void Forget(std::string_view bytes) {
  const auto begin = reinterpret_cast<uintptr_t>(bytes.data()), end = begin + bytes.size();
  const uintptr_t first = (begin + kPage - 1) / kPage * kPage, last = end / kPage * kPage;
  if (first < last) ::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

BulkView::BulkView(size_t size) : size_(std::max<size_t>(size, 1)) {
  data_ = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, kBulk, 0);
  if (data_ == MAP_FAILED) throw BadMessage{"the bulk memory cannot be mapped"};
}

BulkView::~BulkView() { ::munmap(data_, size_); }

}  // namespace epctx
