#include "tests/support/opaque.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "backend/backend.h"
#include "backend/devices.h"
#include "base/error.h"

namespace fovea::test {
namespace {

std::atomic<std::int64_t> calls{0};
std::atomic<std::int64_t> downloads{0};

// Memory without access, but while somebody holds an Open. Handles are numbers, counted up.
class Vault {
 public:
  Vault() : begins_(kMostPieces), sizes_(kMostPieces) {
    void* memory =
        mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    FOVEA_CHECK(memory != MAP_FAILED, BackendError, "opaque: no address space for its memory");
    memory_ = static_cast<std::byte*>(memory);
  }
  ~Vault() { munmap(memory_, kBytes); }
  Vault(const Vault&) = delete;
  Vault& operator=(const Vault&) = delete;

  MemoryHandle allocate(std::int64_t bytes) {
    const std::lock_guard lock(mutex_);
    if (pieces_ + 1 == kMostPieces) return 0;
    std::int64_t begin = used_;
    if (auto& same = free_[bytes]; !same.empty()) {
      begin = same.back();
      same.pop_back();
    } else if (static_cast<std::size_t>(used_ + bytes) > kBytes) {
      return 0;
    } else {
      used_ += bytes;
      if (open_ > 0) protect(begin, bytes, PROT_READ | PROT_WRITE);
    }
    const std::size_t handle = ++pieces_;
    sizes_[handle] = bytes;
    begins_[handle] = begin;
    return handle;
  }
  void release(MemoryHandle handle) {
    const std::lock_guard lock(mutex_);
    free_[sizes_[handle]].push_back(begins_[handle]);
  }
  std::byte* address(MemoryHandle handle) const {
    FOVEA_CHECK(open_ > 0, BackendError, "opaque: its memory was touched outside its kernels");
    return memory_ + begins_[handle];
  }

  class Open {
   public:
    explicit Open(Vault& vault) : vault_(vault) {
      const std::lock_guard lock(vault_.mutex_);
      if (vault_.open_++ == 0) vault_.protect(0, vault_.used_, PROT_READ | PROT_WRITE);
    }
    ~Open() {
      const std::lock_guard lock(vault_.mutex_);
      if (--vault_.open_ == 0) vault_.protect(0, vault_.used_, PROT_NONE);
    }
    Open(const Open&) = delete;
    Open& operator=(const Open&) = delete;

   private:
    Vault& vault_;
  };

 private:
  static constexpr std::size_t kBytes = std::size_t{8} << 30;
  static constexpr std::size_t kMostPieces = 1 << 20;
  static constexpr std::int64_t kPage = 4096;

  void protect(std::int64_t begin, std::int64_t bytes, int access) const {
    const std::int64_t first = begin / kPage * kPage;
    const std::int64_t end = (begin + bytes + kPage - 1) / kPage * kPage;
    if (end > first) mprotect(memory_ + first, static_cast<std::size_t>(end - first), access);
  }

  std::byte* memory_ = nullptr;
  std::int64_t used_ = 0;  // bytes ever handed out; all sizes are multiples of 64
  std::size_t pieces_ = 0;
  std::vector<std::int64_t> begins_, sizes_;  // by handle; never moved, so read without the lock
  std::map<std::int64_t, std::vector<std::int64_t>> free_;
  std::atomic<int> open_{0};
  std::mutex mutex_;
};

// What both kinds have in common.
class Behind : public Backend {
 public:
  explicit Behind(std::shared_ptr<Vault> vault) : vault_(std::move(vault)) {}
  std::string name() const override { return "opaque"; }

 protected:
  static const Backend& kernels() {
    static const Device host = make_cpu(2);
    return host.backend();
  }
  std::shared_ptr<Vault> vault_;
};

#define FOVEA_BEHIND(kernel, parameters, arguments) \
  void kernel parameters const override {           \
    const Vault::Open open(*vault_);                \
    ++calls;                                        \
    kernels().kernel arguments;                     \
  }

class All final : public Behind {
 public:
  using Behind::Behind;
#define FOVEA_KERNEL(kernel, parameters, arguments) FOVEA_BEHIND(kernel, parameters, arguments)
#include "backend/kernels.def"
};

class Primitives final : public Behind {
 public:
  using Behind::Behind;
#define FOVEA_PRIMITIVE(kernel, parameters, arguments) FOVEA_BEHIND(kernel, parameters, arguments)
#define FOVEA_FUSED(kernel, parameters, arguments)
#include "backend/kernels.def"
};

#undef FOVEA_BEHIND

MemorySource source(const std::shared_ptr<Vault>& vault) {
  return {.allocate = [vault](std::int64_t bytes) { return vault->allocate(bytes); },
          .release = [vault](MemoryHandle handle, std::int64_t) { vault->release(handle); },
          .upload =
              [vault](const void* from, Buffer to, std::int64_t bytes) {
                const Vault::Open open(*vault);
                std::memcpy(vault->address(to.memory) + to.offset, from,
                            static_cast<std::size_t>(bytes));
              },
          .download =
              [vault](Buffer from, void* to, std::int64_t bytes) {
                ++downloads;
                const Vault::Open open(*vault);
                std::memcpy(to, vault->address(from.memory) + from.offset,
                            static_cast<std::size_t>(bytes));
              },
          .address = [vault](MemoryHandle handle) { return vault->address(handle); }};
}

}  // namespace

Device make_opaque(OpaqueKernels kernels) {
  const auto vault = std::make_shared<Vault>();
  std::shared_ptr<const Backend> backend;
  if (kernels == OpaqueKernels::kAll) {
    backend = std::make_shared<const All>(vault);
  } else {
    backend = std::make_shared<const Primitives>(vault);
  }
  return Device(DeviceType::kOpenCl, source(vault), backend);
}

std::int64_t opaque_calls() { return calls.load(); }
std::int64_t opaque_downloads() { return downloads.load(); }

}  // namespace fovea::test
