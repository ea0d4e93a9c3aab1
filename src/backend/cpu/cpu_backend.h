// The host backend. Kernels are grouped by family, one source file each; inner loops that want
// vector instructions live in simd/ and are compiled once per instruction set.
#pragma once

#include <memory>

#include "backend/backend.h"
#include "backend/cpu/thread_pool.h"

namespace fovea::cpu {

class CpuBackend final : public Backend {
 public:
  explicit CpuBackend(int threads);
  std::string name() const override { return "cpu"; }
  std::string description() const override;

  // memory.cpp
  void copy_from_host(const void*, const Tensor&) const override;
  void copy_to_host(const Tensor&, void*) const override;
  void fill(const Tensor& y, double value) const override;
  void cast(const Tensor& x, const Tensor& y) const override;
  void copy(const CopyArgs&, const Tensor& src, const Tensor& dst) const override;
  // elementwise.cpp
  void unary(UnaryOp, UnaryParams, const Tensor& x, const Tensor& y) const override;
  void unary_backward(UnaryOp, UnaryParams, const Tensor& x, const Tensor& y, const Tensor& dy,
                      const Tensor& dx) const override;
  void binary(BinaryOp, const Tensor& a, const Tensor& b, const Tensor& y) const override;
  void where(const Tensor& condition, const Tensor& a, const Tensor& b,
             const Tensor& y) const override;
  void axpy(double alpha, const Tensor& x, const Tensor& y) const override;
  void gated(UnaryOp, bool gate_last, const Tensor& x, const Tensor& y) const override;
  void gated_backward(UnaryOp, bool gate_last, const Tensor& x, const Tensor& dy,
                      const Tensor& dx) const override;
  // reduce.cpp
  void reduce(ReduceOp, const Tensor& x, const Tensor& y) const override;
  void arg_reduce(bool maximum, const Tensor& x, const Tensor& y) const override;
  double sum_squares(const Tensor&) const override;
  bool all_finite(const Tensor&) const override;
  // gemm.cpp
  void gemm(const GemmArgs&, const Tensor& a, const Tensor& b, const Tensor& bias,
            const Tensor& c) const override;
  // softmax.cpp
  void softmax(const SoftmaxArgs&, const Tensor& x, const Tensor& mask,
               const Tensor& y) const override;
  void softmax_backward(const SoftmaxArgs&, const Tensor& y, const Tensor& dy,
                        const Tensor& dx) const override;
  // norm.cpp
  void layer_norm(double eps, const Tensor& x, const Tensor& weight, const Tensor& bias,
                  const Tensor& y, const Tensor& mean, const Tensor& rstd) const override;
  void layer_norm_backward(const Tensor& x, const Tensor& weight, const Tensor& mean,
                           const Tensor& rstd, const Tensor& dy, const Tensor& dx,
                           const Tensor& dweight, const Tensor& dbias) const override;
  void rms_norm(double eps, const Tensor& x, const Tensor& weight, const Tensor& y,
                const Tensor& rstd) const override;
  void rms_norm_backward(const Tensor& x, const Tensor& weight, const Tensor& rstd,
                         const Tensor& dy, const Tensor& dx, const Tensor& dweight) const override;
  // channel_norm.cpp
  void channel_norm_stats(std::int64_t groups, double eps, const Tensor& x, const Tensor& mean,
                          const Tensor& rstd) const override;
  void channel_norm(const ChannelNormArgs&, const Tensor& x, const ChannelNorm&,
                    const Tensor& residual, const Tensor& y) const override;
  void channel_norm_backward(const ChannelNormArgs&, const Tensor& x, const ChannelNorm&,
                             const Tensor& residual, const Tensor& y, const Tensor& dy,
                             const ChannelNormGradients&) const override;
  // conv.cpp
  void conv(const ConvArgs&, const ConvInput& x, const Tensor& weight, const Tensor& bias,
            const Tensor& y) const override;
  void conv_backward_data(const ConvArgs&, const Tensor& weight, const Tensor& dy,
                          const Tensor& dx) const override;
  void conv_backward_weight(const ConvArgs&, const ConvInput& x, const Tensor& dy,
                            const Tensor& dweight) const override;
  // token_conv.cpp
  void token_conv(const Tensor& x, const Tensor& weight, const Tensor& bias,
                  const Tensor& y) const override;
  void token_conv_backward(const Tensor& x, const Tensor& weight, const Tensor& dy,
                           const Tensor& dx, const Tensor& dweight,
                           const Tensor& dbias) const override;
  // value_norm.cpp
  void running_value(double eps, const Tensor& before, const Tensor& w, const Tensor& x,
                     const ValueNorm&) const override;
  void value_norm(const ValueNorm&, const Tensor& x, const Tensor& y) const override;
  void value_norm_backward(const ValueNorm&, const Tensor& w, const Tensor& x, const Tensor& dy,
                           const ValueNormGradients&) const override;
  // pool.cpp
  void pool(const PoolArgs&, const Tensor& x, const Tensor& y, const Tensor& argmax) const override;
  void pool_backward(const PoolArgs&, const Tensor& dy, const Tensor& argmax,
                     const Tensor& dx) const override;
  // resize.cpp
  void resize(const ResizeArgs&, const Tensor& x, const Tensor& y) const override;
  void resize_backward(const ResizeArgs&, const Tensor& dy, const Tensor& dx) const override;
  // indexing.cpp
  void gather_rows(const Tensor& table, const Tensor& index, const Tensor& y) const override;
  void scatter_add_rows(const Tensor& x, const Tensor& index, const Tensor& table) const override;
  void gather(int axis, const Tensor& x, const Tensor& index, const Tensor& y) const override;
  void scatter_add(int axis, const Tensor& x, const Tensor& index, const Tensor& y) const override;
  // random.cpp
  void random_uniform(std::uint64_t key, double low, double high, const Tensor& y) const override;
  void random_normal(std::uint64_t key, double mean, double stddev, double low, double high,
                     const Tensor& y) const override;
  void dropout(std::uint64_t key, double p, std::int64_t block, const Tensor& x,
               const Tensor& y) const override;
  // attention.cpp
  void attention(const AttentionArgs&, const Tensor& q, const Tensor& k, const Tensor& v,
                 const Tensor& mask, const Tensor& out, const Tensor& lse) const override;
  void attention_backward(const AttentionArgs&, const Tensor& q, const Tensor& k, const Tensor& v,
                          const Tensor& mask, const Tensor& lse, const Tensor& dout,
                          const Tensor& dq, const Tensor& dk, const Tensor& dv) const override;
  void two_map_attention(const AttentionArgs&, const Tensor& q, const Tensor& k, const Tensor& v,
                         const Tensor& c1, const Tensor& c2, const Tensor& mask, const Tensor& out,
                         const Tensor& lse) const override;
  void two_map_attention_backward(const AttentionArgs&, const Tensor& q, const Tensor& k,
                                  const Tensor& v, const Tensor& c1, const Tensor& c2,
                                  const Tensor& mask, const Tensor& lse, const Tensor& dout,
                                  const Tensor& dq, const Tensor& dk, const Tensor& dv,
                                  const Tensor& dc1, const Tensor& dc2) const override;
  // loss.cpp
  void cross_entropy(double smoothing, std::int64_t ignore_index, const Tensor& logits,
                     const Tensor& target, const Tensor& loss, const Tensor& lse) const override;
  void cross_entropy_backward(double smoothing, std::int64_t ignore_index, const Tensor& logits,
                              const Tensor& target, const Tensor& lse, const Tensor& dloss,
                              const Tensor& dlogits) const override;
  // optimiser.cpp
  void adamw(const AdamWArgs&, const Tensor& grad, const Tensor& param, const Tensor& m,
             const Tensor& v) const override;
  void sgd(const SgdArgs&, const Tensor& grad, const Tensor& param,
           const Tensor& momentum) const override;
  void ema(double decay, const Tensor& x, const Tensor& average) const override;

 private:
  /// a and b are bfloat16, c is that or float32, bias is float32.
  void gemm_bfloat16(const GemmArgs&, const Tensor& a, const Tensor& b, const Tensor& bias,
                     const Tensor& c) const;
  /// Calls body(begin, end) over [0, count) in pieces of `grain` elements; the pieces do not depend
  /// on the number of threads.
  void parallel(std::int64_t count, std::int64_t grain,
                const std::function<void(std::int64_t begin, std::int64_t end)>& body) const;

  mutable ThreadPool pool_;
};

}  // namespace fovea::cpu
