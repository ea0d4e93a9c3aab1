#include "tests/backend/emulated_cuda.h"

#include <fmt/format.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "backend/gpu/runtime.h"
#include "base/error.h"
#include "tests/backend/emulated_cuda_words.h"

namespace fovea::gpu {
namespace {

using Arguments = std::span<const Argument>;

// All local memory of all kernels (the linker names a section's ends).
extern "C" std::uint64_t __start_fovea_local_memory[], __stop_fovea_local_memory[];

// Eight bytes that are NaN as float64, as two float32 and as four bfloat16; as integers they are
// far out.
std::uint64_t poison(std::minstd_rand& random) {
  std::uint64_t word = 0;
  for (int part = 0; part < 4; ++part) {
    const std::uint64_t bits = random();
    word = word << 16 | 0x7ff0U | (bits >> 8 & 0x8000U) | (bits >> 4 & 0xfU);
  }
  return word;
}

// The work items of a group, which take turns: up to its next barrier each one runs alone, in an
// order that is drawn anew every time. After a barrier of the group one warp, drawn too, goes on
// only when no other can: they get as far ahead of it as barriers let them.
class Fibers {
 public:
  explicit Fibers(std::uint64_t seed)
      : random_(static_cast<std::minstd_rand::result_type>(seed)), stacks_(GROUP_SIZE * kStack) {
    std::iota(order_.begin(), order_.end(), 0);
  }

  std::uint64_t poison() { return gpu::poison(random_); }

  void run(std::int64_t group, const std::function<void()>& kernel) {
    std::fill(__start_fovea_local_memory, __stop_fovea_local_memory, poison());
    kernel_ = &kernel;
    emulated::let_others_run = [this](const emulated::Barrier& barrier, int generation) {
      awaited_[here_] = {&barrier, generation};
      swapcontext(&items_[here_], &main_);
    };
    emulated::group_barrier.begin();
    for (emulated::Warp& warp : emulated::warps) warp.barrier.begin();
    emulated::is_misaligned = false;
    running_ = this;
    for (std::size_t place = 0; place < GROUP_SIZE; ++place) {
      done_[place] = false;
      awaited_[place] = {};
      getcontext(&items_[place]);
      items_[place].uc_stack.ss_sp = stacks_.data() + place * kStack;
      items_[place].uc_stack.ss_size = kStack;
      items_[place].uc_link = &main_;
      makecontext(&items_[place], begin, 0);
    }
    for (std::size_t left = GROUP_SIZE; left > 0;) {
      bool stuck = true;
      if (const int now = emulated::group_barrier.generation(); now != generation_) {
        generation_ = now;
        sleeper_ = random_() % kWarps;
      }
      std::shuffle(order_.begin(), order_.end(), random_);
      for (const std::size_t place : order_) {
        const auto& [barrier, generation] = awaited_[place];
        if (place / WARP == sleeper_ || done_[place] ||
            (barrier != nullptr && barrier->generation() == generation))
          continue;
        here_ = place;
        emulated::work_item = {static_cast<int>(place), group};
        swapcontext(&main_, &items_[place]);
        left -= done_[place] ? 1 : 0;
        stuck = false;
      }
      if (stuck && sleeper_ != kNobody) {
        sleeper_ = kNobody;
        continue;
      }
      FOVEA_CHECK(
          !stuck, BackendError,
          fmt::format("emulated: {} work items wait at a barrier that others do not reach", left));
    }
    FOVEA_CHECK(!emulated::is_misaligned, BackendError,
                "emulated: 16 bytes are read or written at once at no multiple of 16");
  }

 private:
  struct Awaited {
    const emulated::Barrier* barrier = nullptr;
    int generation = 0;
  };
  static void begin() {
    (*running_->kernel_)();
    running_->done_[running_->here_] = true;
  }

  static constexpr std::size_t kStack = 64 << 10;
  static constexpr std::size_t kWarps = GROUP_SIZE / WARP, kNobody = kWarps;
  static inline Fibers* running_ = nullptr;
  std::minstd_rand random_;
  std::vector<std::byte> stacks_;
  ucontext_t main_{};
  std::array<ucontext_t, GROUP_SIZE> items_{};
  std::array<std::size_t, GROUP_SIZE> order_{};
  std::array<Awaited, GROUP_SIZE> awaited_{};
  std::array<bool, GROUP_SIZE> done_{};
  std::size_t here_ = 0, sleeper_ = kNobody;
  int generation_ = 0;  // of the group's barrier
  const std::function<void()>* kernel_ = nullptr;
};

std::string text_of(emulated::Place place) {
  const std::string file = place.file;
  return fmt::format("{}:{}", file.substr(file.rfind('/') + 1), place.line);
}
std::string left_out;
std::set<std::string> reached;

class EmulatedCuda final : public Runtime {
 public:
  EmulatedCuda(bool allow_tf32, std::uint64_t seed) : allow_tf32_(allow_tf32), fibers_(seed) {}

  std::string description() const override { return "emulated"; }
  bool has_float64() const override { return true; }
  MemoryHandle allocate(std::int64_t bytes) override {
    const std::size_t whole = (static_cast<std::size_t>(bytes) + 255) / 256 * 256;
    auto* memory = static_cast<std::uint64_t*>(std::aligned_alloc(256, whole));
    if (memory != nullptr) std::fill_n(memory, whole / sizeof(*memory), fibers_.poison());
    return reinterpret_cast<MemoryHandle>(memory);
  }
  void release(MemoryHandle memory) override { std::free(reinterpret_cast<void*>(memory)); }
  void upload(const void* from, Buffer to, std::int64_t bytes) override {
    std::memcpy(address(to), from, static_cast<std::size_t>(bytes));
  }
  void download(Buffer from, void* to, std::int64_t bytes) override {
    std::memcpy(to, address(from), static_cast<std::size_t>(bytes));
  }
  void* allocate_host(std::int64_t bytes) override {
    return std::malloc(static_cast<std::size_t>(bytes));
  }
  void release_host(void* memory) override { std::free(memory); }
  void queue_download(Buffer from, void* to, std::int64_t bytes) override {
    download(from, to, bytes);
  }
  void launch(Kernel kernel, DType dtype, std::int64_t groups, Arguments arguments) override {
    const emulated::Launched run = kernel_of(kernel, dtype);
    for (std::int64_t group = 0; group < groups; ++group)
      fibers_.run(group, [&] { run(arguments); });
  }
  bool gemm(const GemmArgs&, const Tensor&, const Tensor&, const Tensor&, const Tensor&) override {
    return false;
  }
  bool conv(ConvResult, const ConvArgs&, const Tensor&, const Tensor&, const Tensor&) override {
    return false;
  }
  void synchronize() override {}
  Moment moment() override { return {}; }
  void wait(const Moment&) override {}
  bool has_passed(const Moment&) override { return true; }
  double seconds_between(const Moment&, const Moment&) override { return 0; }

 private:
  static std::byte* address(const Buffer& buffer) {
    return reinterpret_cast<std::byte*>(buffer.memory) + buffer.offset;
  }
  emulated::Launched kernel_of(Kernel kernel, DType dtype) const {
    static constexpr const KernelByDType<emulated::Launched>* kKernels[] = {
#define FOVEA_GPU_KERNEL(file, kernel) &emulated::kernel##_by_dtype,
#include "backend/gpu/kernels.def"
    };
    const auto run = kKernels[static_cast<std::size_t>(kernel)]->of(dtype, allow_tf32_);
    FOVEA_CHECK(run != nullptr, BackendError,
                fmt::format("emulated: {} of {}", name_of(kernel), name_of(dtype)));
    return run;
  }

  bool allow_tf32_;
  Fibers fibers_;
};

}  // namespace
}  // namespace fovea::gpu

namespace fovea::test {

Device emulated_cuda(bool allow_tf32, std::uint64_t seed) {
  return gpu::make_gpu(DeviceType::kCuda, std::make_shared<gpu::EmulatedCuda>(allow_tf32, seed), 0);
}

std::set<std::string> barriers_reached(const std::function<void()>& run) {
  gpu::reached.clear();
  gpu::emulated::is_left_out = [](gpu::emulated::Place place) {
    gpu::reached.insert(gpu::text_of(place));
    return false;
  };
  run();
  gpu::emulated::is_left_out = nullptr;
  return gpu::reached;
}

WithoutBarrier::WithoutBarrier(const std::string& barrier) {
  gpu::left_out = barrier;
  gpu::emulated::is_left_out = [](gpu::emulated::Place place) {
    return gpu::text_of(place) == gpu::left_out;
  };
}
WithoutBarrier::~WithoutBarrier() { gpu::emulated::is_left_out = nullptr; }

}  // namespace fovea::test
