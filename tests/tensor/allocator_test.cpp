#include "tensor/allocator.h"

#include <catch2/catch.hpp>

#if defined(__linux__)
#include <unistd.h>
#endif

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <vector>

#include "base/error.h"

using namespace fovea;

namespace {

constexpr std::int64_t kMiB = 1 << 20;

// Memory that is only counted.
struct Counted {
  std::map<MemoryHandle, std::int64_t> held;
  std::int64_t bytes = 0;
  MemoryHandle next = 0;
  std::int64_t most = std::int64_t{1} << 60;

  MemorySource source() {
    return {.allocate = [this](std::int64_t size) -> MemoryHandle {
              if (bytes + size > most) return 0;
              held[++next] = size;
              bytes += size;
              return next;
            },
            .release =
                [this](MemoryHandle memory, std::int64_t size) {
                  CHECK(size == held.at(memory));
                  bytes -= size;
                  held.erase(memory);
                },
            .upload = {},
            .download = {},
            .address = {}};
  }
};

}  // namespace

TEST_CASE("allocator: where sizes grow, what it holds stays near the peak", "[tensor]") {
  Counted memory;
  {
    CachingAllocator allocator(memory.source());
    for (std::int64_t mib = 8; mib < 256; mib += mib / 4 + 1) {
      // Three at a time, as in a step: two that live and one that comes and goes.
      const Block kept = allocator.allocate(mib * kMiB);
      const Block result = allocator.allocate(mib * kMiB / 2);
      allocator.release(allocator.allocate(mib * kMiB / 3));
      allocator.release(result);
      allocator.release(kept);
      const MemoryStats stats = allocator.stats();
      CAPTURE(mib, stats.peak_bytes, stats.bytes_reserved);
      CHECK(stats.bytes_reserved <= std::max(CachingAllocator::kFree, stats.peak_bytes * 5 / 4));
      CHECK(stats.bytes_reserved == memory.bytes);
    }
  }
  CHECK(memory.held.empty());
}

TEST_CASE("allocator: sizes in any order never hold more than twice the peak", "[tensor]") {
  Counted memory;
  CachingAllocator allocator(memory.source());
  std::int64_t place = 1;
  for (int turn = 0; turn < 3000; ++turn) {
    place = place * 48271 % 2147483647;
    const std::int64_t size = (1 + place % 128) * kMiB;
    allocator.release(allocator.allocate(size));
    CHECK(memory.bytes <= 2 * allocator.stats().peak_bytes);
  }
}

TEST_CASE("allocator: a loop of steps soon allocates nothing", "[tensor]") {
  // One at a time, and none of them fits into the memory of another.
  const auto sizes = GENERATE(values<std::vector<std::int64_t>>(
      {{100, 60, 24}, {60, 24, 100}, {40, 90, 50}, {100}, {1, 2, 3, 4, 5, 6, 7, 8}}));
  Counted memory;
  CachingAllocator allocator(memory.source());
  const auto step = [&] {
    for (const std::int64_t mib : sizes) {
      const Block weights = allocator.allocate(mib * kMiB / 10);
      allocator.release(allocator.allocate(mib * kMiB));
      allocator.release(weights);
    }
  };
  step();
  step();
  const std::int64_t warm = allocator.stats().allocations;
  for (int i = 0; i < 10; ++i) step();
  CHECK(allocator.stats().allocations == warm);
  CHECK(allocator.stats().requests == 12 * 2 * static_cast<std::int64_t>(sizes.size()));
}

TEST_CASE("allocator: of many idle regions those go first that have lain idle longest",
          "[tensor]") {
  // So many that a search through all of them for each one would take minutes.
  constexpr std::int64_t kMany = 100000, kSmall = 64 << 10;
  Counted memory;
  CachingAllocator allocator(memory.source());
  std::vector<Block> blocks;
  for (std::int64_t i = 0; i < kMany; ++i) blocks.push_back(allocator.allocate(kSmall));
  allocator.reset_peak();
  std::vector<MemoryHandle> released;
  for (std::int64_t i = 0; i < kMany; ++i) {  // in another order than they were made in
    const Block& block = blocks[static_cast<std::size_t>(i * 7919 % kMany)];
    released.push_back(block.at.memory);
    allocator.release(block);
    // One more request between two, so that no two have lain idle equally long.
    allocator.release(allocator.allocate(kSmall * 4));
  }
  const auto kept = [&](std::int64_t i) {
    return memory.held.count(released[static_cast<std::size_t>(i)]) > 0;
  };
  allocator.release(allocator.allocate(kMany / 2 * kSmall));
  std::int64_t gone = 0;
  while (gone < kMany && !kept(gone)) ++gone;
  CHECK(gone > 0);
  CHECK(gone < kMany);
  for (std::int64_t i = gone; i < kMany; ++i) {
    if (!kept(i))
      FAIL("the one released as number " << i << " is gone, number " << gone << " is kept");
  }
}

TEST_CASE("allocator: gives everything back when asked, and before it gives up", "[tensor]") {
  Counted memory;
  CachingAllocator allocator(memory.source());
  allocator.release(allocator.allocate(10 * kMiB));
  CHECK(memory.bytes > 0);
  allocator.trim();
  CHECK(memory.bytes == 0);
  CHECK(allocator.stats().bytes_reserved == 0);

  memory.most = 20 * kMiB;
  allocator.release(allocator.allocate(12 * kMiB));
  const Block block = allocator.allocate(16 * kMiB);  // fits once the cached 12 are gone
  CHECK(memory.bytes == 16 * kMiB);
  CHECK_THROWS_AS(allocator.allocate(8 * kMiB), BackendError);
  allocator.release(block);
}

TEST_CASE("allocator: what lies idle between blocks that live goes back to the system",
          "[tensor]") {
  Counted memory;
  MemorySource source = memory.source();
  std::vector<std::pair<MemoryHandle, std::int64_t>> forgotten;  // region, offset
  source.forget = [&](Buffer from, std::int64_t bytes) {
    forgotten.emplace_back(from.memory, from.offset);
    return bytes;
  };
  CachingAllocator allocator(source);
  // Each time most of a freed block is taken by one that stays, and nothing fits into the rest.
  std::vector<Block> kept;
  for (int i = 0; i < 8; ++i) {
    allocator.release(allocator.allocate(32 * kMiB));
    kept.push_back(allocator.allocate(20 * kMiB));
  }
  MemoryStats stats = allocator.stats();
  CHECK(stats.bytes_reserved == 8 * 32 * kMiB);
  CHECK(stats.bytes_reserved - stats.bytes_absent <= stats.peak_bytes + CachingAllocator::kSpare);
  REQUIRE(!forgotten.empty());
  // The first rest lay idle longest.
  CHECK(forgotten.front() == std::pair{kept.front().at.memory, 20 * kMiB});

  // A rest is used again like any other idle piece.
  const std::size_t calls = forgotten.size();
  const Block rest = allocator.allocate(12 * kMiB);
  CHECK(rest.at.offset == 20 * kMiB);
  allocator.release(rest);
  for (const Block& block : kept) allocator.release(block);
  CHECK(allocator.stats().bytes_in_use == 0);
  allocator.release(allocator.allocate(kMiB));
  // What lies idle is hardly more than was in use.
  CHECK(forgotten.size() <= calls + 3);
  allocator.trim();
  stats = allocator.stats();
  CHECK(stats.bytes_reserved == 0);
  CHECK(stats.bytes_absent == 0);
  CHECK(memory.held.empty());
}

TEST_CASE("allocator: what every step of a loop needs again is no longer given back", "[tensor]") {
  Counted memory;
  MemorySource source = memory.source();
  std::int64_t forgotten = 0;
  source.forget = [&](Buffer, std::int64_t bytes) {
    forgotten += bytes;
    return bytes;
  };
  CachingAllocator allocator(source);
  // Rests between blocks that stay; each request of a step fits into one of them alone.
  const std::vector<std::int64_t> rests = {3 * kMiB, 8 * kMiB, 20 * kMiB, 48 * kMiB};
  std::vector<Block> kept;
  for (const std::int64_t rest : rests) {
    allocator.release(allocator.allocate(20 * kMiB + rest));
    kept.push_back(allocator.allocate(20 * kMiB));
  }
  const auto step = [&] {
    const std::int64_t before = forgotten;
    for (const std::int64_t rest : rests) allocator.release(allocator.allocate(rest));
    return forgotten - before;
  };
  for (int i = 0; i < 50; ++i) step();
  CHECK(forgotten > 0);
  CHECK(step() == 0);
  const MemoryStats stats = allocator.stats();
  CHECK(stats.bytes_reserved - stats.bytes_absent <=
        stats.peak_bytes + stats.peak_bytes / 8 + CachingAllocator::kSpare);
  for (const Block& block : kept) allocator.release(block);
}

TEST_CASE("allocator: memory of the host that was given back is there when it is written",
          "[tensor][host]") {
  const MemorySource heap = heap_memory();
  constexpr std::int64_t kBytes = 8 * kMiB;
  const MemoryHandle memory = heap.allocate(kBytes);
  auto* bytes = reinterpret_cast<std::uint8_t*>(memory);
  std::fill_n(bytes, kBytes, std::uint8_t{7});
  // A part of it: what lies around stays as it is.
  const std::int64_t gone = heap.forget({memory, kMiB}, kBytes - 2 * kMiB);
  CHECK(gone >= 0);
  CHECK(gone <= kBytes - 2 * kMiB);
  CHECK(std::count(bytes, bytes + kMiB, 7) == kMiB);
  CHECK(std::count(bytes + kBytes - kMiB, bytes + kBytes, 7) == kMiB);
  std::fill_n(bytes, kBytes, std::uint8_t{9});
  CHECK(std::count(bytes, bytes + kBytes, 9) == kBytes);
  heap.release(memory, kBytes);
}

#if defined(__linux__)
namespace {

std::int64_t resident_bytes() {
  std::ifstream status("/proc/self/statm");
  std::int64_t pages = 0;
  status >> pages >> pages;
  return pages * ::getpagesize();
}

}  // namespace

// glibc keeps blocks of up to 32 MiB once one of their size has been freed.
TEST_CASE("allocator: large blocks go back to the system, whatever the heap keeps",
          "[tensor][host]") {
  void* volatile freed = std::malloc(30 * kMiB);
  std::free(freed);
  const MemorySource heap = heap_memory();
  constexpr std::int64_t kBytes = 8 * kMiB + 4099;
  std::vector<MemoryHandle> blocks;
  for (int i = 0; i < 16; ++i) {
    blocks.push_back(heap.allocate(kBytes));
    CHECK(blocks.back() % (2 * kMiB) == 0);
    std::memset(reinterpret_cast<void*>(blocks.back()), 1, kBytes);
  }
  const std::int64_t before = resident_bytes();
  for (int i = 0; i < 15; ++i) heap.release(blocks[static_cast<std::size_t>(i)], kBytes);
  CHECK(before - resident_bytes() > 14 * kBytes);
  heap.release(blocks.back(), kBytes);
}
#endif
