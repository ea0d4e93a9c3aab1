// Caching allocator: memory given back by tensors is kept by size and handed out again, to tensors
// of that size or a little less, so that a training step allocates nothing once warm. What is kept
// is bounded by the peak of what was in use: where sizes grow, blocks that fit nothing any more go
// back to the source.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>

namespace fovea {

/// Where raw memory comes from: the heap, a device, or nowhere (the meta device).
struct MemorySource {
  std::function<void*(std::int64_t bytes)> allocate;  // returns nullptr when there is none left
  std::function<void(void*)> release;
};

/// 64-byte aligned heap memory; large blocks ask for huge pages where the system has them.
MemorySource heap_memory();

struct MemoryStats {
  std::int64_t bytes_in_use = 0;    // held by tensors
  std::int64_t peak_bytes = 0;      // largest bytes_in_use since reset_peak()
  std::int64_t bytes_reserved = 0;  // in use or cached; see CachingAllocator
  std::int64_t requests = 0;        // calls of allocate()
  std::int64_t allocations = 0;     // of these, how many went to the source
};

struct Block {
  void* memory = nullptr;
  std::int64_t size = 0;  // bytes
};

/// Before it asks the source for more, it gives back cached blocks, those first that have lain idle
/// longest, until bytes_reserved stays within a quarter above peak_bytes. A loop of steps that
/// needs more is recognised by asking again, while the peak stays, for sizes that were given back:
/// each adds its size to what may be reserved, up to twice peak_bytes. kFree bytes may always stay.
///
/// Thread-safe.
class CachingAllocator {
 public:
  static constexpr std::int64_t kFree = 32 << 20;

  explicit CachingAllocator(MemorySource source) : source_(std::move(source)) {}
  ~CachingAllocator();
  CachingAllocator(const CachingAllocator&) = delete;
  CachingAllocator& operator=(const CachingAllocator&) = delete;

  /// Memory for at least `bytes`. Throws BackendError with the sizes when there is none left, after
  /// having given all cached memory back first.
  Block allocate(std::int64_t bytes);
  void release(const Block& block);
  /// Gives all cached memory back to the source.
  void trim();
  /// Refuses requests that would bring bytes_in_use above this; 0 = no limit.
  void set_limit(std::int64_t bytes);
  MemoryStats stats() const;
  void reset_peak();

 private:
  struct Cached {
    void* memory;
    std::int64_t since;  // stats_.requests when it was given back
  };

  void* take_cached(std::int64_t& size);
  void make_room(std::int64_t size);
  bool give_back_oldest();
  void trim_locked();

  MemorySource source_;
  mutable std::mutex mutex_;
  std::map<std::int64_t, std::deque<Cached>> free_;  // by size; the newest last
  std::map<std::int64_t, std::int64_t> given_back_;  // how many blocks of a size, by make_room()
  std::int64_t missed_ = 0;                          // bytes of these that were asked for again
  MemoryStats stats_;
  std::int64_t limit_ = 0;
};

}  // namespace fovea
