// What OpenCL and CUDA have in common for us: memory, a queue of work in order, and kernels that
// are found by name. The kernels of kernels/ are compiled by both.
#pragma once

#include <span>
#include <string>

#include "backend/args.h"
#include "backend/gpu/kernels/structs.h"
#include "tensor/device.h"
#include "tensor/dtype.h"

namespace fovea::gpu {

enum class Kernel {
#define FOVEA_GPU_KERNEL(file, kernel) kernel,
#include "backend/gpu/kernels.def"
};

inline const char* name_of(Kernel kernel) {
  constexpr const char* kNames[] = {
#define FOVEA_GPU_KERNEL(file, kernel) #kernel,
#include "backend/gpu/kernels.def"
  };
  return kNames[static_cast<int>(kernel)];
}

/// One parameter of a kernel, as bytes: a number, a struct of structs.h, or the handle of memory.
struct Argument {
  const void* bytes = nullptr;
  std::size_t size = 0;
};

/// Which of three tensors a convolution makes of the other two: y = x * weight, or a gradient, dy
/// and dx or dweight standing in the places of y and x or weight.
enum class ConvResult { kOutput, kInput, kWeight };

class Runtime {
 public:
  virtual ~Runtime() = default;
  /// The processor's name, and the driver's.
  virtual std::string description() const = 0;
  virtual bool has_float64() const = 0;

  // In the order of the queue; the host does not wait for it but in download and synchronize. All
  // throw BackendError.
  virtual MemoryHandle allocate(std::int64_t bytes) = 0;
  virtual void release(MemoryHandle memory) = 0;
  /// Memory of the host that the device reads by itself ("pinned").
  virtual void* allocate_host(std::int64_t bytes) = 0;
  virtual void release_host(void* memory) = 0;
  /// `from` is read when the queue gets there; only memory of allocate_host() is not waited for.
  virtual void upload(const void* from, Buffer to, std::int64_t bytes) = 0;
  virtual void download(Buffer from, void* to, std::int64_t bytes) = 0;
  /// The same without waiting, to memory of allocate_host().
  virtual void queue_download(Buffer from, void* to, std::int64_t bytes) = 0;
  /// `groups` groups of GROUP_SIZE work items run the kernel, compiled for a dtype.
  virtual void launch(Kernel kernel, DType dtype, std::int64_t groups,
                      std::span<const Argument> arguments) = 0;
  /// Backend::gemm by the device's library; false where it has nothing for these operands.
  virtual bool gemm(const GemmArgs& args, const Tensor& a, const Tensor& b, const Tensor& bias,
                    const Tensor& c) = 0;
  /// The same of a convolution: y = x * weight without a bias, or a gradient.
  virtual bool conv(ConvResult result, const ConvArgs& args, const Tensor& x, const Tensor& weight,
                    const Tensor& y) = 0;
  virtual void synchronize() = 0;
  /// As Backend::begin_step().
  virtual void begin_step() {}
  virtual void end_step(bool /*complete*/) {}
  virtual Moment moment() = 0;
  virtual void wait(const Moment& moment) = 0;
  /// True of a moment that was never marked.
  virtual bool has_passed(const Moment& moment) = 0;
  virtual double seconds_between(const Moment& begin, const Moment& end) = 0;
};

/// A device that computes through a runtime.
Device make_gpu(DeviceType type, const std::shared_ptr<Runtime>& runtime, int index);

}  // namespace fovea::gpu
