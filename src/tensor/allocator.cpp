#include "tensor/allocator.h"

#include <fmt/format.h>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>

#include "base/error.h"

namespace fovea {
namespace {

constexpr std::int64_t kAlignment = 64;
// Large blocks ask for pages of this size: kernels that walk across planes would else spend their
// time on finding pages.
constexpr std::int64_t kHugePage = 2 << 20;
// More is refused, so that sums of sizes do not overflow (the meta device has no other end).
constexpr std::int64_t kMostBytes = std::int64_t{1} << 61;

// Sizes are rounded up to sixteenths of a power of two (waste below 1/16), so that tensors of
// slightly different sizes, such as batches of texts, share blocks.
std::int64_t size_class(std::int64_t bytes) {
  const std::int64_t least = std::max<std::int64_t>(bytes, kAlignment);
  const auto power = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(least)));
  const std::int64_t step = std::max(power / 16, kAlignment);
  return (least + step - 1) / step * step;
}

MemoryHandle from_heap(std::int64_t bytes) {
  const bool large = bytes >= kHugePage;
  void* memory = nullptr;
  // (std::aligned_alloc wants a size that is a multiple of the alignment.)
  const auto alignment = static_cast<std::size_t>(large ? kHugePage : kAlignment);
  if (posix_memalign(&memory, alignment, static_cast<std::size_t>(bytes)) != 0) return 0;
#if defined(__linux__)
  if (large) madvise(memory, static_cast<std::size_t>(bytes), MADV_HUGEPAGE);
#endif
  return reinterpret_cast<MemoryHandle>(memory);
}

void* on_heap(MemoryHandle memory) { return reinterpret_cast<void*>(memory); }

std::byte* on_heap(const Buffer& buffer) {
  return static_cast<std::byte*>(on_heap(buffer.memory)) + buffer.offset;
}

}  // namespace

MemorySource heap_memory() {
  return {.allocate = from_heap,
          .release = [](MemoryHandle memory) { std::free(on_heap(memory)); },
          .upload =
              [](const void* from, Buffer to, std::int64_t bytes) {
                std::memcpy(on_heap(to), from, static_cast<std::size_t>(bytes));
              },
          .download =
              [](Buffer from, void* to, std::int64_t bytes) {
                std::memcpy(to, on_heap(from), static_cast<std::size_t>(bytes));
              },
          .address = {}};
}

CachingAllocator::~CachingAllocator() { trim_locked(); }

// The smallest cached block for `size`, which becomes its size, that wastes at most a quarter.
MemoryHandle CachingAllocator::take_cached(std::int64_t& size) {
  const std::int64_t most = size + size / 4;
  for (auto at = free_.lower_bound(size); at != free_.end() && at->first <= most; ++at) {
    if (at->second.empty()) continue;
    const MemoryHandle memory = at->second.back().memory;
    at->second.pop_back();
    size = at->first;
    return memory;
  }
  return 0;
}

bool CachingAllocator::give_back_oldest() {
  auto oldest = free_.end();
  for (auto at = free_.begin(); at != free_.end(); ++at) {
    if (at->second.empty()) continue;
    if (oldest == free_.end() || at->second.front().since < oldest->second.front().since)
      oldest = at;
  }
  if (oldest == free_.end()) return false;
  source_.release(oldest->second.front().memory);
  oldest->second.pop_front();
  stats_.bytes_reserved -= oldest->first;
  ++given_back_[oldest->first];
  return true;
}

// For `size` bytes from the source.
void CachingAllocator::make_room(std::int64_t size) {
  const auto before = given_back_.find(size);
  if (before != given_back_.end() && before->second > 0) {
    --before->second;
    missed_ += size;
  }
  const std::int64_t peak = std::max(stats_.peak_bytes, stats_.bytes_in_use + size);
  if (peak > stats_.peak_bytes) {  // something new, not a step like those before
    given_back_.clear();
    missed_ = 0;
  }
  missed_ = std::min(missed_, peak - peak / 4);
  const std::int64_t most = std::max(kFree, peak + peak / 4 + missed_);
  while (stats_.bytes_reserved + size > most && give_back_oldest()) {
  }
}

Block CachingAllocator::allocate(std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  ++stats_.requests;
  MemoryHandle memory = 0;
  const bool countable = bytes <= kMostBytes && stats_.bytes_in_use <= kMostBytes;
  std::int64_t size = countable ? size_class(bytes) : 0;
  if (stats_.bytes_reserved > kMostBytes) trim_locked();
  const bool over_limit = !countable || (limit_ > 0 && stats_.bytes_in_use + size > limit_);
  if (!over_limit) {
    memory = take_cached(size);
    if (memory == 0) {
      make_room(size);
      memory = source_.allocate(size);
      if (memory == 0) {
        trim_locked();
        memory = source_.allocate(size);
      }
      if (memory != 0) {
        ++stats_.allocations;
        stats_.bytes_reserved += size;
      }
    }
  }
  FOVEA_CHECK(memory != 0, BackendError,
              fmt::format("out of memory: a tensor of {} bytes does not fit beside {} bytes in use "
                          "(peak {}); lower train.batch_size or the sizes of the model",
                          bytes, stats_.bytes_in_use, stats_.peak_bytes));
  stats_.bytes_in_use += size;
  stats_.peak_bytes = std::max(stats_.peak_bytes, stats_.bytes_in_use);
  return {memory, size};
}

void CachingAllocator::release(const Block& block) {
  const std::lock_guard lock(mutex_);
  stats_.bytes_in_use -= block.size;
  free_[block.size].push_back({block.memory, stats_.requests});
}

void CachingAllocator::trim() {
  const std::lock_guard lock(mutex_);
  trim_locked();
}

void CachingAllocator::trim_locked() {
  for (auto& [size, blocks] : free_) {
    for (const Cached& block : blocks) source_.release(block.memory);
    stats_.bytes_reserved -= size * static_cast<std::int64_t>(blocks.size());
    blocks.clear();
  }
  given_back_.clear();
  missed_ = 0;
}

void CachingAllocator::set_limit(std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  limit_ = bytes;
}

MemoryStats CachingAllocator::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

void CachingAllocator::reset_peak() {
  const std::lock_guard lock(mutex_);
  stats_.peak_bytes = stats_.bytes_in_use;
}

}  // namespace fovea
