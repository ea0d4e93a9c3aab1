#include "tensor/allocator.h"

#include <fmt/format.h>

#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <new>
#include <utility>

#include "base/error.h"

namespace fovea {
namespace {

constexpr std::int64_t kAlignment = 64;
// Large blocks ask for pages of this size; otherwise kernels that walk across planes lose much time
// to TLB misses.
constexpr std::int64_t kHugePage = 2 << 20;
// Pieces from this size on are cut to size, if the rest is worth keeping. Small tensors, many of
// which live long, have regions of their own; otherwise they would fragment large ones.
constexpr std::int64_t kLarge = 1 << 20;
constexpr std::int64_t kRest = 64 << 10;
// Larger requests are refused, so that sums of sizes do not overflow (the meta device has no other
// limit).
constexpr std::int64_t kMostBytes = std::int64_t{1} << 61;

// Sizes are rounded up to sixteenths of a power of two (waste below 1/16), so that tensors of
// slightly different sizes, such as batches of texts, share blocks.
std::int64_t size_class(std::int64_t bytes) {
  const std::int64_t least = std::max<std::int64_t>(bytes, kAlignment);
  const auto power = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(least)));
  const std::int64_t step = std::max(power / 16, kAlignment);
  return (least + step - 1) / step * step;
}

#if defined(__linux__)
// Large blocks come from the system. From the heap they would only until a block of some MiB, such
// as the text of a file, has been freed: from then on glibc keeps what is freed below 32 MiB, and
// holes between blocks that live long add up (a DiT's step held 836 MiB instead of 599).
MemoryHandle map_large(std::int64_t bytes) {
  const auto size = static_cast<std::size_t>(bytes);
  const std::size_t mapped = size + kHugePage;
  void* memory =
      ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 0;
  auto* begin = static_cast<std::byte*>(memory);
  const std::size_t ahead =
      (kHugePage - reinterpret_cast<MemoryHandle>(begin) % kHugePage) % kHugePage;
  if (ahead > 0) ::munmap(begin, ahead);
  std::byte* block = begin + ahead;
  const auto page = static_cast<std::size_t>(::getpagesize());
  const std::size_t kept = (size + page - 1) / page * page;
  ::munmap(block + kept, mapped - ahead - kept);
  ::madvise(block, size, MADV_HUGEPAGE);
  return reinterpret_cast<MemoryHandle>(block);
}
#endif

MemoryHandle from_heap(std::int64_t bytes) {
#if defined(__linux__)
  if (bytes >= kHugePage) return map_large(bytes);
#endif
  void* memory = nullptr;
  // (std::aligned_alloc wants a size that is a multiple of the alignment.)
  if (posix_memalign(&memory, kAlignment, static_cast<std::size_t>(bytes)) != 0) return 0;
  return reinterpret_cast<MemoryHandle>(memory);
}

void to_heap(MemoryHandle memory, std::int64_t bytes) {
  auto* at = reinterpret_cast<void*>(memory);
#if defined(__linux__)
  if (bytes >= kHugePage) {
    ::munmap(at, static_cast<std::size_t>(bytes));
    return;
  }
#endif
  std::free(at);
}

void* on_heap(MemoryHandle memory) { return reinterpret_cast<void*>(memory); }

std::byte* on_heap(const Buffer& buffer) {
  return static_cast<std::byte*>(on_heap(buffer.memory)) + buffer.offset;
}

// Only whole large pages: what is left of one that was split would be slow.
std::int64_t forget_heap(Buffer from, std::int64_t bytes) {
#if defined(__linux__)
  const auto first = static_cast<std::int64_t>(from.memory) + from.offset;
  const std::int64_t begin = (first + kHugePage - 1) / kHugePage * kHugePage;
  const std::int64_t end = (first + bytes) / kHugePage * kHugePage;
  if (begin >= end) return 0;
  std::byte* at = on_heap(from) + (begin - first);
  return madvise(at, static_cast<std::size_t>(end - begin), MADV_DONTNEED) == 0 ? end - begin : 0;
#else
  return 0;
#endif
}

}  // namespace

MemorySource heap_memory() {
  return {.allocate = from_heap,
          .release = to_heap,
          .upload =
              [](const void* from, Buffer to, std::int64_t bytes) {
                std::memcpy(on_heap(to), from, static_cast<std::size_t>(bytes));
              },
          .download =
              [](Buffer from, void* to, std::int64_t bytes) {
                std::memcpy(to, on_heap(from), static_cast<std::size_t>(bytes));
              },
          .forget = forget_heap,
          .address = {}};
}

CachingAllocator::~CachingAllocator() { trim_locked(); }

bool CachingAllocator::large(std::int64_t size) { return size >= kLarge; }

void CachingAllocator::add_idle(const Idle& piece) {
  idle_.insert(piece);
  if (is_whole(piece)) whole_.insert(piece);
  if (source_.forget && large(piece.size)) present_.insert(piece);
}

void CachingAllocator::remove_idle(const Idle& piece) {
  idle_.erase(piece);
  if (is_whole(piece)) whole_.erase(piece);
  present_.erase(piece);
}

// A block from idle memory; empty if nothing fits. A small one may waste a quarter. A piece without
// memory behind it is left alone while one of up to twice its size has some: a loop of steps would
// otherwise forget in each what it needs in the next.
Block CachingAllocator::take_idle(std::int64_t size) {
  const std::int64_t most = large(size) ? kMostBytes : std::min(size + size / 4, kLarge - 1);
  auto at = idle_.lower_bound({.size = size, .before = -stats_.requests, .region = 0, .offset = 0});
  auto best = idle_.end();
  for (; at != idle_.end() && at->size <= most; ++at) {
    if (large(region_of(*at).size) != large(size)) continue;
    if (best != idle_.end() && at->size > 2 * best->size) break;
    const bool present = 2 * region_of(*at).pieces.at(at->offset).absent < at->size;
    if (present || best == idle_.end()) best = at;
    if (present) break;
  }
  if (best == idle_.end()) return {};
  const Idle found = *best;
  remove_idle(found);
  auto& pieces = regions_.at(found.region).pieces;
  Piece& piece = pieces.at(found.offset);
  piece.idle = false;
  const std::int64_t absent = std::exchange(piece.absent, 0);
  stats_.bytes_absent -= absent;
  made_again_ += absent;
  const std::int64_t rest = found.size - size;
  if (large(size) && rest >= kRest) {
    piece.size = size;
    const std::int64_t still_absent = std::max<std::int64_t>(0, absent - size);
    stats_.bytes_absent += still_absent;
    pieces[found.offset + size] = {
        .size = rest, .idle = true, .since = piece.since, .absent = still_absent};
    add_idle({rest, found.before, found.region, found.offset + size});
  }
  return {{found.region, found.offset}, piece.size};
}

// A block from the source; empty if there is no memory left.
Block CachingAllocator::take_new(std::int64_t size) {
  make_room(size);
  MemoryHandle memory = source_.allocate(size);
  if (memory == 0) {
    trim_locked();
    memory = source_.allocate(size);
  }
  if (memory == 0) return {};
  ++stats_.allocations;
  stats_.bytes_reserved += size;
  regions_[memory] = {size, {{0, {.size = size, .idle = false, .since = 0}}}};
  return {{memory, 0}, size};
}

void CachingAllocator::give_back(const Idle& whole) {
  remove_idle(whole);
  stats_.bytes_absent -= region_of(whole).pieces.at(0).absent;
  source_.release(whole.region, whole.size);
  regions_.erase(whole.region);
  stats_.bytes_reserved -= whole.size;
}

bool CachingAllocator::give_back_oldest() {
  if (whole_.empty()) return false;
  const Idle oldest = *whole_.begin();
  ++given_back_[oldest.size];
  give_back(oldest);
  return true;
}

// Makes room for `size` bytes from the source.
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

// Of what has lain idle longest the memory goes; the piece stays.
void CachingAllocator::forget_oldest() {
  const Idle oldest = *present_.begin();
  present_.erase(present_.begin());
  Piece& piece = regions_.at(oldest.region).pieces.at(oldest.offset);
  stats_.bytes_absent -= piece.absent;
  piece.absent = source_.forget({oldest.region, oldest.offset}, oldest.size);
  stats_.bytes_absent += piece.absent;
}

Block CachingAllocator::allocate(std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  ++stats_.requests;
  const bool countable = bytes <= kMostBytes && stats_.bytes_in_use <= kMostBytes;
  const std::int64_t size = countable ? size_class(bytes) : 0;
  if (stats_.bytes_reserved > kMostBytes) trim_locked();
  Block block;
  if (countable) {
    block = take_idle(size);
    if (block.size == 0) block = take_new(size);
  }
  FOVEA_CHECK(block.size != 0, BackendError,
              fmt::format("out of memory: a tensor of {} bytes does not fit beside {} bytes in use "
                          "(peak {}); lower train.batch_size or the sizes of the model",
                          bytes, stats_.bytes_in_use, stats_.peak_bytes));
  stats_.bytes_in_use += block.size;
  stats_.peak_bytes = std::max(stats_.peak_bytes, stats_.bytes_in_use);
  most_in_use_ = std::max(most_in_use_, stats_.bytes_in_use);
  const std::int64_t spare = kSpare + std::min(made_again_ / 8, most_in_use_ / 8);
  while (!present_.empty() && stats_.bytes_reserved - stats_.bytes_absent > most_in_use_ + spare)
    forget_oldest();
  return block;
}

void CachingAllocator::release(const Block& block) {
  const std::lock_guard lock(mutex_);
  stats_.bytes_in_use -= block.size;
  auto& pieces = regions_.at(block.at.memory).pieces;
  auto at = pieces.find(block.at.offset);
  const auto forget = [&](auto piece) {
    remove_idle({piece->second.size, -piece->second.since, block.at.memory, piece->first});
  };
  if (const auto next = std::next(at); next != pieces.end() && next->second.idle) {
    forget(next);
    at->second.size += next->second.size;
    at->second.absent += next->second.absent;
    pieces.erase(next);
  }
  if (at != pieces.begin() && std::prev(at)->second.idle) {
    const auto before = std::prev(at);
    forget(before);
    before->second.size += at->second.size;
    before->second.absent += at->second.absent;
    pieces.erase(at);
    at = before;
  }
  at->second.idle = true;
  at->second.since = stats_.requests;
  const Idle piece{at->second.size, -stats_.requests, block.at.memory, at->first};
  try {
    add_idle(piece);
  } catch (const std::bad_alloc&) {
    // No memory to note it down, and a destructor calls: what is whole goes back, and a part waits
    // for its neighbours.
    remove_idle(piece);
    if (is_whole(piece)) give_back(piece);
  }
}

void CachingAllocator::trim() {
  const std::lock_guard lock(mutex_);
  trim_locked();
  most_in_use_ = stats_.bytes_in_use;
  made_again_ = 0;
}

void CachingAllocator::trim_locked() {
  while (!whole_.empty()) give_back(Idle(*whole_.begin()));
  given_back_.clear();
  missed_ = 0;
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
