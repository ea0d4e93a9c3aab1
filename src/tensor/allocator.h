// Caching allocator: memory released by tensors is kept and reused, so that a training step
// allocates nothing once warm. Large pieces are split and merged again. The cache is bounded by the
// peak of memory in use: where sizes grow, regions that no longer fit anything go back to the
// source.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <utility>

namespace fovea {

/// Identifies a piece of a device's memory: an address on the host, on other devices whatever the
/// device uses (a device pointer, a number). Pieces in use have different handles. 0: none.
using MemoryHandle = std::uint64_t;

/// Where a tensor begins: `offset` bytes into a piece of memory. Only the device may add the two.
struct Buffer {
  MemoryHandle memory = 0;
  std::int64_t offset = 0;
  bool operator==(const Buffer&) const = default;
};

/// Where memory comes from (the heap, a device, or nowhere: the meta device) and how the host
/// accesses it. Copies wait for work that was queued before them.
struct MemorySource {
  std::function<MemoryHandle(std::int64_t bytes)> allocate;  // returns 0 when there is none left
  std::function<void(MemoryHandle, std::int64_t bytes)> release;  // bytes: as allocated
  std::function<void(const void* from, Buffer to, std::int64_t bytes)> upload;
  std::function<void(Buffer from, void* to, std::int64_t bytes)> download;
  /// Starts a copy of what a tensor holds now; the returned function waits for the copy and writes
  /// it. Empty on devices without a queue, where download() does the same.
  std::function<std::function<void(void* to)>(Buffer from, std::int64_t bytes)> read_later = {};
  /// Gives the pages of a part of a piece back to the system, which makes new ones when the part is
  /// next written; what it holds is lost. Returns how many bytes that were. Empty where a device
  /// cannot.
  std::function<std::int64_t(Buffer from, std::int64_t bytes)> forget = {};
  /// For kernels of another device that run on the host (emulation): the address of its memory.
  /// Else empty.
  std::function<std::byte*(MemoryHandle)> address = {};
};

/// 64-byte aligned heap memory; large blocks ask for huge pages where the system has them.
MemorySource heap_memory();

struct MemoryStats {
  std::int64_t bytes_in_use = 0;    // held by tensors
  std::int64_t peak_bytes = 0;      // largest bytes_in_use since reset_peak()
  std::int64_t bytes_reserved = 0;  // in use or cached; see CachingAllocator
  std::int64_t bytes_absent = 0;    // of these, cached without memory behind them
  std::int64_t requests = 0;        // calls of allocate()
  std::int64_t allocations = 0;     // of these, how many went to the source
};

/// A region from the source, or a part of one.
struct Block {
  Buffer at;
  std::int64_t size = 0;  // bytes
};

/// Before it asks the source for more, it releases idle regions, longest idle first, until
/// bytes_reserved is at most a quarter above peak_bytes. A loop of steps that needs more requests
/// sizes that were released before, while the peak stays the same; each of these adds its size to
/// what may be reserved, up to twice peak_bytes. kFree bytes may always stay reserved.
///
/// Between blocks that live long lie idle pieces that nothing fits into. Where blocks and idle
/// pieces together would take more memory than was ever in use and kSpare on top, the pieces that
/// have lain idle longest stay reserved, but their memory goes back to the source
/// (MemorySource::forget). What is needed again soon has to be made and cleared again, in every
/// step of a loop: of such memory an eighth is added to what is spared, up to an eighth of the most
/// that was in use.
///
/// Thread-safe.
class CachingAllocator {
 public:
  static constexpr std::int64_t kFree = 32 << 20;
  static constexpr std::int64_t kSpare = 16 << 20;

  explicit CachingAllocator(MemorySource source) : source_(std::move(source)) {}
  ~CachingAllocator();
  CachingAllocator(const CachingAllocator&) = delete;
  CachingAllocator& operator=(const CachingAllocator&) = delete;

  const MemorySource& source() const { return source_; }

  /// Memory for at least `bytes`. Throws BackendError with the sizes when there is none left even
  /// after all cached memory was released.
  Block allocate(std::int64_t bytes);
  void release(const Block& block);
  /// Releases all cached memory to the source.
  void trim();
  MemoryStats stats() const;
  void reset_peak();

 private:
  struct Piece {
    std::int64_t size;
    bool idle;
    std::int64_t since;       // stats_.requests when it became idle
    std::int64_t absent = 0;  // bytes without memory behind them; 0 in use
  };
  // Pieces by offset; idle pieces are never neighbours.
  struct Region {
    std::int64_t size;
    std::map<std::int64_t, Piece> pieces;
  };
  // An idle piece. Of those that fit, the smallest is used; of equal ones the most recently used.
  struct Idle {
    std::int64_t size, before;  // before: -since
    MemoryHandle region;
    std::int64_t offset;
    auto operator<=>(const Idle&) const = default;
  };

  struct LongestIdle {
    bool operator()(const Idle& a, const Idle& b) const {
      return a.before != b.before ? a.before > b.before : a < b;
    }
  };

  static bool large(std::int64_t size);
  void add_idle(const Idle& piece);
  void remove_idle(const Idle& piece);
  Block take_idle(std::int64_t size);
  Block take_new(std::int64_t size);
  void make_room(std::int64_t size);
  bool give_back_oldest();
  void give_back(const Idle& whole);
  void trim_locked();
  void forget_oldest();
  const Region& region_of(const Idle& piece) const { return regions_.at(piece.region); }
  bool is_whole(const Idle& piece) const { return piece.size == region_of(piece).size; }

  MemorySource source_;
  mutable std::mutex mutex_;
  std::map<MemoryHandle, Region> regions_;
  std::set<Idle> idle_;
  std::set<Idle, LongestIdle>
      whole_;  // of these the whole regions, by how long they have lain idle
  std::set<Idle, LongestIdle> present_;  // idle pieces that may have memory to be forgotten
  std::map<std::int64_t, std::int64_t> given_back_;  // how many regions of a size, by make_room()
  std::int64_t missed_ = 0;                          // bytes of these that were asked for again
  std::int64_t most_in_use_ = 0;                     // ever
  std::int64_t made_again_ = 0;                      // bytes in use whose memory had been forgotten
  MemoryStats stats_;
};

}  // namespace fovea
