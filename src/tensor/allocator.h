// Caching allocator: memory given back by tensors is kept by size and handed out again, to tensors
// of that size or a little less, so that a training step allocates nothing once warm. It knows how
// much is in use and the peak of that.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

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
  std::int64_t bytes_reserved = 0;  // in use or cached
  std::int64_t requests = 0;        // calls of allocate()
  std::int64_t allocations = 0;     // of these, how many went to the source
};

struct Block {
  void* memory = nullptr;
  std::int64_t size = 0;  // bytes
};

/// Thread-safe.
class CachingAllocator {
 public:
  explicit CachingAllocator(MemorySource source) : source_(std::move(source)) {}
  ~CachingAllocator();
  CachingAllocator(const CachingAllocator&) = delete;
  CachingAllocator& operator=(const CachingAllocator&) = delete;

  /// Memory for at least `bytes`. Throws BackendError with the sizes when there is none left, after
  /// having given all cached memory back first.
  Block allocate(std::int64_t bytes);
  void release(const Block& block);
  /// Gives cached memory back to the source.
  void trim();
  /// Refuses requests that would bring bytes_in_use above this; 0 = no limit.
  void set_limit(std::int64_t bytes);
  MemoryStats stats() const;
  void reset_peak();

 private:
  void* take_cached(std::int64_t& size);
  void trim_locked();

  MemorySource source_;
  mutable std::mutex mutex_;
  std::map<std::int64_t, std::vector<void*>> free_;
  MemoryStats stats_;
  std::int64_t limit_ = 0;
};

}  // namespace fovea
