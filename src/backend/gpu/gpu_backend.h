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

#define FOVEA_PRIMITIVE(kernel, parameters, arguments) void kernel parameters const override;
#define FOVEA_FUSED(kernel, parameters, arguments)
#include "backend/kernels.def"

  // Fused kernels that have one of their own.
  void axpy(double alpha, const Tensor& x, const Tensor& y) const override;
  void gated(const GatedArgs& args, const Tensor& x, const Tensor& y) const override;
  void gated_backward(const GatedArgs& args, const Tensor& x, const Tensor& dy,
                      const Tensor& dx) const override;
  void dropout(const DropoutArgs& args, const Tensor& x, const Tensor& y) const override;
  void sum_squares(const std::vector<Tensor>& xs, const Tensor& sum) const override;
  void all_finite(const std::vector<Tensor>& xs, const Tensor& finite) const override;

  void softmax(const SoftmaxArgs& args, const Tensor& x, const Tensor& mask,
               const Tensor& y) const override;
  void softmax_backward(const SoftmaxArgs& args, const Tensor& y, const Tensor& dy,
                        const Tensor& dx) const override;
  void cross_entropy(const CrossEntropyArgs& args) const override;
  void cross_entropy_backward(const CrossEntropyBackwardArgs& args) const override;
  void layer_norm(const LayerNormArgs& args) const override;
  void layer_norm_backward(const LayerNormBackwardArgs& args) const override;
  void rms_norm(const RmsNormArgs& args) const override;
  void rms_norm_backward(const RmsNormBackwardArgs& args) const override;

  void channel_norm_stats(const ChannelStatsArgs& args) const override;
  void channel_norm(const NormedMap& of, const Tensor& y) const override;
  void channel_norm_backward(const ChannelNormBackwardArgs& args) const override;
  void scaled_sum(const Tensor& u, const Tensor& w, const Tensor& x,
                  const Tensor& y) const override;
  void scaled_sum_backward(const Tensor& x, const Tensor& dy, const Tensor& dw) const override;
  void running_value(const RunningValueArgs& args, const ValueNorm& of) const override;
  void value_norm(const ValueNorm& of, const Tensor& x, const Tensor& y) const override;
  void value_norm_backward(const ValueNormBackwardArgs& args) const override;
  void token_conv(const TokenConvArgs& args) const override;
  void token_conv_backward(const TokenConvBackwardArgs& args) const override;
  void rotate(const RotateArgs& args) const override;

  void gather_rows(const Tensor& table, const Tensor& index, const Tensor& y) const override;
  void scatter_add_rows(const Tensor& x, const Tensor& index, const Tensor& table) const override;

  void region_sums(const RegionSumsArgs& args) const override;
  void region_sums_backward(const RegionSumsBackwardArgs& args) const override;
  void region_areas(const RegionAreasArgs& args) const override;

  void adamw(const AdamWArgs& args, const std::vector<AdamWTensors>& of) const override;
  void sgd(const SgdArgs& args, const std::vector<SgdTensors>& of) const override;
  void ema(double decay, const std::vector<Averaged>& of) const override;

  void attention(const AttentionArgs& args, const AttentionInputs& in, const Tensor& out,
                 const Tensor& lse) const override;
  void attention_backward(const AttentionArgs& args, const AttentionInputs& in,
                          const AttentionUpstream& upstream,
                          const AttentionGradients& to) const override;
  void unit_attention(const UnitAttentionArgs& args, const UnitAttentionInputs& in,
                      const Tensor& out, const Tensor& lse) const override;
  void unit_attention_backward(const UnitAttentionArgs& args, const UnitAttentionInputs& in,
                               const AttentionUpstream& upstream,
                               const UnitAttentionGradients& to) const override;
  void linear_attention(const LinearAttentionArgs& args, const LinearAttentionInputs& in,
                        const Tensor& out, const LinearAttentionSums& sums) const override;
  void linear_attention_backward(const LinearAttentionArgs& args, const LinearAttentionInputs& in,
                                 const LinearAttentionUpstream& upstream,
                                 const LinearAttentionGradients& to) const override;

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
