#include "tensor/allocator.h"

#include <catch2/catch.hpp>

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
                [this](MemoryHandle memory) {
                  bytes -= held.at(memory);
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
