// The backend of graphics processors: primitives and fused kernels as kernels of gpu/kernels, what
// these do not cover by default bodies. Kernels are grouped by family, one source file each.
#pragma once

#include <array>
#include <memory>

#include "backend/backend.h"
#include "backend/gpu/runtime.h"

namespace fovea::gpu {

/// A number among a kernel's arguments that has the type the dtype is computed in.
struct Real {
  double value = 0;
  DType dtype = DType::kFloat32;
};

/// A number as precise as the device has them.
struct Wide {
  double value = 0;
};

class GpuBackend final : public Backend {
 public:
  GpuBackend(std::string name, std::shared_ptr<Runtime> runtime)
      : name_(std::move(name)), runtime_(std::move(runtime)) {}
  std::string name() const override { return name_; }
  std::string description() const override { return runtime_->description(); }
  DType widest() const override {
    return runtime_->has_float64() ? DType::kFloat64 : DType::kFloat32;
  }
  void synchronize() const override { runtime_->synchronize(); }
  void begin_step() const override { runtime_->begin_step(); }
  void end_step(bool complete) const override { runtime_->end_step(complete); }
  Moment moment() const override { return runtime_->moment(); }
  double seconds_between(const Moment& begin, const Moment& end) const override {
    return runtime_->seconds_between(begin, end);
  }
  bool keeps_map_results(const AttentionArgs& args) const override;

#define FOVEA_KERNEL(kernel, parameters, arguments) void kernel parameters const override;
#define FOVEA_CPU_FUSED(kernel, parameters, arguments)
#include "backend/kernels.def"

 private:
  struct AttentionCall;  // gpu/attention.cpp
  /// A group for every block of `rows` rows of the heads of a call.
  template <class... More>
  void launch_attention(Kernel kernel, const AttentionCall& call, std::int64_t rows,
                        const More&... more) const;
  void attention_bias_backward(const AttentionCall& call, const AttentionUpstream& upstream,
                               const Tensor& sums, const Tensor& dbias) const;

  template <class... More>
  void launch_value(Kernel kernel, const ValueNorm& of, const More&... more) const;

  struct LinearCall;  // gpu/linear_attention.cpp

  /// `groups` groups run a kernel; nothing happens if there are none. A tensor stands for two of
  /// the kernel's parameters (TENSOR of kernels/types.h).
  template <class... Values>
  void launch(Kernel kernel, DType dtype, std::int64_t groups, const Values&... values) const;
  /// The same with a work item for each of `items`.
  template <class... Values>
  void launch_items(Kernel kernel, DType dtype, std::int64_t items, const Values&... values) const {
    launch(kernel, dtype, (items + GROUP_SIZE - 1) / GROUP_SIZE, values...);
  }
  /// The same with a team of work items for each row of `rows`, which is the first argument.
  template <class... Values>
  void launch_rows(Kernel kernel, DType dtype, const Rows& rows, const Values&... values) const {
    const std::int64_t teams = GROUP_SIZE / rows.team;
    launch(kernel, dtype, (rows.count + teams - 1) / teams, rows, values...);
  }
  /// Over lists of tensors: the sum of squares, or whether all is finite.
  void sum_list(bool squares, const std::vector<Tensor>& xs, const Tensor& y) const;
  /// y (outer, inner) = x (outer, length, inner) reduced and scaled; y has the dtype x is computed
  /// in.
  void reduce_run(ReduceOp op, bool first_pass, double scale, std::int64_t outer,
                  std::int64_t length, std::int64_t inner, const Tensor& x, const Tensor& y) const;

  std::string name_;
  std::shared_ptr<Runtime> runtime_;
};

}  // namespace fovea::gpu
