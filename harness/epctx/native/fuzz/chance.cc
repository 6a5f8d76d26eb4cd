#include "fuzz/chance.h"

#include <dlfcn.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>

namespace epctx {
namespace {

std::atomic<uint64_t> drawn{0};

// SplitMix64: numbers that look like chance, each from the one before it.
uint64_t Draw() {
  uint64_t bits = drawn += 0x9e3779b97f4a7c15;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
  return bits ^ (bits >> 31);
}

void Fill(void* buffer, size_t size) {
  auto* at = static_cast<unsigned char*>(buffer);
  for (size_t done = 0; done < size; done += sizeof(uint64_t)) {
    const uint64_t bits = Draw();
    std::memcpy(at + done, &bits, size - done < sizeof bits ? size - done : sizeof bits);
  }
}

}  // namespace

void RestartChance() { drawn = 0; }

}  // namespace epctx

// Those of the program, or of a library that is open to all others, come before those of the C++ library and the C library.
#define EPCTX_BEFORE_OTHERS __attribute__((visibility("default")))

EPCTX_BEFORE_OTHERS std::random_device::result_type std::random_device::_M_getval() {
  return static_cast<result_type>(epctx::Draw());
}

extern "C" {
EPCTX_BEFORE_OTHERS ssize_t getrandom(void* buffer, size_t size, unsigned /*flags*/) {
  epctx::Fill(buffer, size);
  return static_cast<ssize_t>(size);
}

EPCTX_BEFORE_OTHERS int getentropy(void* buffer, size_t size) {
  epctx::Fill(buffer, size);
  return 0;
}

// An openat2 beneath a directory fails with EAGAIN when anybody on the machine mounts or renames something meanwhile. It takes
// six arguments, however many there are.
__attribute__((no_sanitize("address"))) EPCTX_BEFORE_OTHERS long syscall(long number, ...) {
  static const auto real = reinterpret_cast<long (*)(long, ...)>(::dlsym(RTLD_NEXT, "syscall"));
  long a[6];
  va_list list;
  va_start(list, number);
  for (long& argument : a) argument = va_arg(list, long);
  va_end(list);
  long result;
  int tries = 0;
  do {
    result = real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
  } while (result == -1 && errno == EAGAIN && number == SYS_openat2 && ++tries < 1000);
  return result;
}
}
