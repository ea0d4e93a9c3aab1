#include "backend/cpu/products/blas.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>

#include "base/error.h"

namespace fovea::cpu {
namespace {

// OpenBLAS keeps a buffer for each call that runs at the same time, and frees none.
struct BlasBuffers {
  std::atomic<int> running = 0;
  std::atomic<int> had = 0;
  std::mutex mutex;
};

BlasBuffers& blas_buffers() {
  static BlasBuffers buffers;
  return buffers;
}

// Where there is no memory for one more, OpenBLAS asks for it forever.
void require_blas_buffer(BlasBuffers& buffers, int running) {
  constexpr std::size_t kBytes = std::size_t{192} << 20;  // 128 MiB, and room for other threads
  const std::lock_guard lock(buffers.mutex);
  if (running <= buffers.had) return;
  void* const place =
      ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  FOVEA_CHECK(place != MAP_FAILED, BackendError,
              fmt::format("OpenBLAS: no memory for the buffer of thread {}: {}; give the program "
                          "more memory (ulimit -v), or lower train.threads",
                          running, std::strerror(errno)));
  ::munmap(place, kBytes);
  buffers.had = running;
}

}  // namespace

BlasCall::BlasCall() {
  BlasBuffers& buffers = blas_buffers();
  const int running = buffers.running.fetch_add(1, std::memory_order_relaxed) + 1;
  if (running <= buffers.had.load(std::memory_order_relaxed)) return;
  try {
    require_blas_buffer(buffers, running);
  } catch (...) {
    buffers.running.fetch_sub(1, std::memory_order_relaxed);
    throw;
  }
}

BlasCall::~BlasCall() { blas_buffers().running.fetch_sub(1, std::memory_order_relaxed); }

}  // namespace fovea::cpu
