#include "tensor/allocator.h"

#include <catch2/catch.hpp>

#include <map>
#include <set>

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
