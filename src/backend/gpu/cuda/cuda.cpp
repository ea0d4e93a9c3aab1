#include "backend/gpu/cuda/cuda.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <mutex>
#include <optional>
#include <vector>

#include "backend/gpu/cuda/check.h"
#include "backend/gpu/cuda/convolution.h"
#include "backend/gpu/cuda/kernels.h"
#include "backend/gpu/cuda/matmul.h"
#include "backend/gpu/cuda/recording.h"
#include "backend/gpu/runtime.h"
#include "base/error.h"

namespace fovea::gpu {
namespace {

class Event {
 public:
  Event() { check("making an event", cudaEventCreate(&event_)); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

class CudaRuntime final : public Runtime {
 public:
  CudaRuntime(int index, bool allow_tf32) : index_(index), allow_tf32_(allow_tf32) {
    use();
    cudaDeviceProp properties{};
    check("reading the device's properties", cudaGetDeviceProperties(&properties, index));
    name_ = properties.name;
    matmul_.emplace(allow_tf32);
    convolution_.emplace(allow_tf32);
    check("making a stream", cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    recording_.emplace(stream_);
  }
  ~CudaRuntime() override {
    choose();
    recording_.reset();
    // (Handles first: they use the stream.)
    convolution_.reset();
    matmul_.reset();
    cudaStreamDestroy(stream_);
  }
  CudaRuntime(const CudaRuntime&) = delete;
  CudaRuntime& operator=(const CudaRuntime&) = delete;

  std::string description() const override {
    return fmt::format("{}{}{}{}", name_, matmul_->there() ? ", cuBLASLt" : ", own products",
                       convolution_->there() ? ", cuDNN" : ", own convolutions",
                       allow_tf32_ ? ", TF32" : "");
  }
  bool has_float64() const override { return true; }

  MemoryHandle allocate(std::int64_t bytes) override {
    use();
    return reinterpret_cast<MemoryHandle>(recording_->allocate(static_cast<std::size_t>(bytes)));
  }
  void release(MemoryHandle handle) override {
    choose();
    recording_->free(reinterpret_cast<void*>(handle));
  }

  void* allocate_host(std::int64_t bytes) override {
    use_at_once();
    void* memory = nullptr;
    check("allocating pinned memory", cudaMallocHost(&memory, static_cast<std::size_t>(bytes)));
    return memory;
  }
  void release_host(void* memory) override {
    choose();
    cudaFreeHost(memory);
  }
  void upload(const void* from, Buffer to, std::int64_t bytes) override {
    use_at_once();
    check("upload", cudaMemcpyAsync(address(to), from, static_cast<std::size_t>(bytes),
                                    cudaMemcpyHostToDevice, stream_));
  }
  void download(Buffer from, void* to, std::int64_t bytes) override {
    queue_download(from, to, bytes);
    synchronize();
  }
  void queue_download(Buffer from, void* to, std::int64_t bytes) override {
    use_at_once();
    check("download", cudaMemcpyAsync(to, address(from), static_cast<std::size_t>(bytes),
                                      cudaMemcpyDeviceToHost, stream_));
  }

  void launch(Kernel kernel, DType dtype, std::int64_t groups,
              std::span<const Argument> arguments) override {
    use();
    recording_->before_launch();
    std::array<void*, 128> bytes;
    FOVEA_CHECK(arguments.size() <= bytes.size(), BackendError,
                fmt::format("cuda: {}: {} arguments, at most {} can be passed", name_of(kernel),
                            arguments.size(), bytes.size()));
    FOVEA_CHECK(groups <= std::numeric_limits<std::int32_t>::max(), BackendError,
                fmt::format("cuda: {}: {} groups, at most 2^31 - 1 can be launched at once",
                            name_of(kernel), groups));
    std::transform(arguments.begin(), arguments.end(), bytes.begin(),
                   [](const Argument& argument) { return const_cast<void*>(argument.bytes); });
    check(name_of(kernel), cudaLaunchKernel(cuda_kernel(kernel, dtype, allow_tf32_),
                                            dim3(static_cast<unsigned>(groups)), dim3(GROUP_SIZE),
                                            bytes.data(), 0, stream_));
  }

  bool gemm(const GemmArgs& args, const Tensor& a, const Tensor& b, const Tensor& bias,
            const Tensor& c) override {
    use();
    recording_->before_launch();
    const std::lock_guard lock(mutex_);
    return matmul_->run(args, a, b, bias, c, stream_);
  }

  bool conv(ConvResult result, const ConvArgs& args, const Tensor& x, const Tensor& weight,
            const Tensor& y) override {
    use();
    recording_->before_launch();
    const std::lock_guard lock(mutex_);
    return convolution_->run(result, args, x, weight, y, stream_);
  }

  void synchronize() override {
    use_at_once();
    check("waiting", cudaStreamSynchronize(stream_));
  }
  void begin_step() override { recording_->begin_step(); }
  void end_step(bool complete) override {
    choose();
    recording_->end_step(complete);
  }
  Moment moment() override {
    use_at_once();
    auto event = std::make_shared<Event>();
    check("marking a moment", cudaEventRecord(event->get(), stream_));
    return {.nanoseconds = 0, .event = event};
  }
  void wait(const Moment& moment) override {
    use_at_once();
    check("waiting", cudaEventSynchronize(event_of(moment)));
  }
  bool has_passed(const Moment& moment) override {
    if (!moment.event) return true;
    use();
    return cudaEventQuery(event_of(moment)) != cudaErrorNotReady;
  }
  double seconds_between(const Moment& begin, const Moment& end) override {
    float milliseconds = 0;
    wait(end);
    check("timing", cudaEventElapsedTime(&milliseconds, event_of(begin), event_of(end)));
    return static_cast<double>(milliseconds) * 1e-3;
  }

 private:
  // The device is one for each thread of the host.
  void use() const { check("choosing the device", cudaSetDevice(index_)); }
  // The same where destructors get to: a lost device has said so before.
  void choose() const { cudaSetDevice(index_); }
  // For what cannot be recorded.
  void use_at_once() {
    use();
    recording_->end_stretch();
  }
  static cudaEvent_t event_of(const Moment& moment) { return cuda_event(moment); }
  static void* address(const Buffer& buffer) {
    return reinterpret_cast<std::byte*>(buffer.memory) + buffer.offset;
  }

  int index_;
  bool allow_tf32_;
  std::string name_;
  cudaStream_t stream_ = nullptr;
  std::optional<Recording> recording_;
  std::mutex mutex_;
  // Of this device: made once it is chosen.
  std::optional<CudaMatmul> matmul_;
  std::optional<CudaConvolution> convolution_;
};

int device_count() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

}  // namespace

std::vector<std::string> cuda_devices() {
  std::vector<std::string> lines;
  for (int i = 0; i < device_count(); ++i) {
    cudaDeviceProp properties{};
    if (cudaGetDeviceProperties(&properties, i) != cudaSuccess) continue;
    lines.push_back(fmt::format("{}, compute capability {}.{}, {:.1f} GiB", properties.name,
                                properties.major, properties.minor,
                                static_cast<double>(properties.totalGlobalMem) / (1 << 30)));
  }
  return lines;
}

std::vector<std::string> cuda_missing() {
  std::vector<std::string> lines = {CudaMatmul::missing(), CudaConvolution::missing()};
  std::erase(lines, "");
  return lines;
}

CUevent_st* cuda_event(const Moment& moment) {
  return static_cast<const Event*>(moment.event.get())->get();
}

Device make_cuda(int index, bool allow_tf32) {
  const int count = device_count();
  FOVEA_CHECK(count > 0, BackendError,
              "cuda: no driver with a device is installed; run with device=cpu");
  FOVEA_CHECK(index < count, BackendError,
              fmt::format("cuda:{}: there {} only {}; see fovea inspect --devices", index,
                          count == 1 ? "is" : "are", count));
  return make_gpu(DeviceType::kCuda, std::make_shared<CudaRuntime>(index, allow_tf32), index);
}

}  // namespace fovea::gpu
