#include "tests/backend/emulated_cuda.h"

#include <fmt/format.h>
#include <ucontext.h>

#include <memory>
#include <string>
#include <vector>

#include "backend/gpu/runtime.h"
#include "base/error.h"
#include "tests/backend/emulated_cuda_words.h"

namespace fovea::gpu {
namespace {

using Arguments = std::span<const Argument>;

// The work items of a group, which take turns.
class Fibers {
 public:
  Fibers() : stacks_(GROUP_SIZE * kStack) {}

  void run(std::int64_t group, const std::function<void()>& kernel) {
    kernel_ = &kernel;
    emulated::let_others_run = [this] { swapcontext(&items_[here_], &main_); };
    running_ = this;
    for (std::size_t place = 0; place < GROUP_SIZE; ++place) {
      done_[place] = false;
      getcontext(&items_[place]);
      items_[place].uc_stack.ss_sp = stacks_.data() + place * kStack;
      items_[place].uc_stack.ss_size = kStack;
      items_[place].uc_link = &main_;
      makecontext(&items_[place], begin, 0);
    }
    for (bool all = false; !all;) {
      all = true;
      for (here_ = 0; here_ < GROUP_SIZE; ++here_) {
        if (done_[here_]) continue;
        emulated::work_item = {static_cast<int>(here_), group};
        swapcontext(&main_, &items_[here_]);
        all = all && done_[here_];
      }
    }
  }

 private:
  static void begin() {
    (*running_->kernel_)();
    running_->done_[running_->here_] = true;
  }

  static constexpr std::size_t kStack = 64 << 10;
  static inline Fibers* running_ = nullptr;
  std::vector<std::byte> stacks_;
  ucontext_t main_{};
  std::array<ucontext_t, GROUP_SIZE> items_{};
  std::array<bool, GROUP_SIZE> done_{};
  std::size_t here_ = 0;
  const std::function<void()>* kernel_ = nullptr;
};

class EmulatedCuda final : public Runtime {
 public:
  explicit EmulatedCuda(bool allow_tf32) : allow_tf32_(allow_tf32) {}

  std::string description() const override { return "emulated"; }
  bool has_float64() const override { return true; }
  MemoryHandle allocate(std::int64_t bytes) override {
    return reinterpret_cast<MemoryHandle>(
        std::aligned_alloc(256, (static_cast<std::size_t>(bytes) + 255) / 256 * 256));
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

Device emulated_cuda(bool allow_tf32) {
  return gpu::make_gpu(DeviceType::kCuda, std::make_shared<gpu::EmulatedCuda>(allow_tf32), 0);
}

}  // namespace fovea::test
