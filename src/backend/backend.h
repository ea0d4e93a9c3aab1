// The table of primitive kernels. Everything above this layer computes through it and knows neither
// the device nor the library behind a kernel.
//
// Conventions: tensors are contiguous and row-major; outputs are allocated by the caller with the
// right shape and dtype; shapes have been checked at the edge of the operation, so kernels only
// assert. Floating kernels accept float32 and float64; those of the groups elementwise, linear
// algebra, normalisation, convolution, pooling, dropout and attention, and sums, accept bfloat16
// too: parameters (weight, bias, their gradients) and statistics (mean, rstd, lse) are float32
// then, and so is all arithmetic. Subnormal numbers may count as zero. Every kernel gives the same
// bits for any number of threads.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "backend/args.h"
#include "tensor/tensor.h"

namespace fovea {

/// Default bodies report the kernel as missing, so this class is also the stub for a backend that
/// was not built.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string name() const = 0;
  /// Library, instruction set and thread count, for logs and benchmarks.
  virtual std::string description() const { return name(); }

  // Memory. copy_from/to_host move raw bytes.
  virtual void copy_from_host(const void*, const Tensor&) const { missing("copy_from_host"); }
  virtual void copy_to_host(const Tensor&, void*) const { missing("copy_to_host"); }
  virtual void fill(const Tensor& /*y*/, double /*value*/) const { missing("fill"); }
  /// y = x converted to y's dtype; any dtypes.
  virtual void cast(const Tensor& /*x*/, const Tensor& /*y*/) const { missing("cast"); }
  /// Any dtype; accumulate needs a floating one.
  virtual void copy(const CopyArgs&, const Tensor& /*src*/, const Tensor& /*dst*/) const {
    missing("copy");
  }

  // Elementwise.
  virtual void unary(UnaryOp, UnaryParams, const Tensor& /*x*/, const Tensor& /*y*/) const {
    missing("unary");
  }
  /// dx = dy f'(x); y = f(x) is given where the derivative is cheaper from it.
  virtual void unary_backward(UnaryOp, UnaryParams, const Tensor& /*x*/, const Tensor& /*y*/,
                              const Tensor& /*dy*/, const Tensor& /*dx*/) const {
    missing("unary_backward");
  }
  /// y has the broadcast shape. Comparisons also take integer tensors.
  virtual void binary(BinaryOp, const Tensor& /*a*/, const Tensor& /*b*/,
                      const Tensor& /*y*/) const {
    missing("binary");
  }
  /// y = condition ? a : b, all broadcast; condition is uint8.
  virtual void where(const Tensor& /*condition*/, const Tensor& /*a*/, const Tensor& /*b*/,
                     const Tensor& /*y*/) const {
    missing("where");
  }
  /// y += alpha x, same shape.
  virtual void axpy(double /*alpha*/, const Tensor& /*x*/, const Tensor& /*y*/) const {
    missing("axpy");
  }
  /// y = act(a) * b where x = [a, b] on the last axis (or a * act(b) with gate_last); SwiGLU and
  /// kin.
  virtual void gated(UnaryOp, bool /*gate_last*/, const Tensor& /*x*/, const Tensor& /*y*/) const {
    missing("gated");
  }
  virtual void gated_backward(UnaryOp, bool /*gate_last*/, const Tensor& /*x*/,
                              const Tensor& /*dy*/, const Tensor& /*dx*/) const {
    missing("gated_backward");
  }

  // Reductions.
  /// Over the axes whose size is 1 in y but not in x (y has x's rank).
  virtual void reduce(ReduceOp, const Tensor& /*x*/, const Tensor& /*y*/) const {
    missing("reduce");
  }
  /// Index of the first maximum (or minimum) of every row; y is int64.
  virtual void arg_reduce(bool /*maximum*/, const Tensor& /*x*/, const Tensor& /*y*/) const {
    missing("arg_reduce");
  }
  /// Sum of squares of all elements, in float64.
  virtual double sum_squares(const Tensor&) const {
    missing("sum_squares");
    return 0;
  }
  virtual bool all_finite(const Tensor&) const {
    missing("all_finite");
    return true;
  }

  // Linear algebra. bias may be undefined. Where a and b are bfloat16, c is bfloat16 or float32 and
  // bias float32; sums are float32.
  virtual void gemm(const GemmArgs&, const Tensor& /*a*/, const Tensor& /*b*/,
                    const Tensor& /*bias*/, const Tensor& /*c*/) const {
    missing("gemm");
  }

  // Softmax over the last axis. mask (uint8, 1 = allowed) is undefined or has shape (items, keys):
  // rows of x are divided evenly among the items. A row with nothing allowed becomes zero.
  virtual void softmax(const SoftmaxArgs&, const Tensor& /*x*/, const Tensor& /*mask*/,
                       const Tensor& /*y*/) const {
    missing("softmax");
  }
  virtual void softmax_backward(const SoftmaxArgs&, const Tensor& /*y*/, const Tensor& /*dy*/,
                                const Tensor& /*dx*/) const {
    missing("softmax_backward");
  }

  // Normalisation. weight and bias may be undefined, and so may their gradients.
  /// Last axis; mean and rstd have one element a row.
  virtual void layer_norm(double /*eps*/, const Tensor& /*x*/, const Tensor& /*weight*/,
                          const Tensor& /*bias*/, const Tensor& /*y*/, const Tensor& /*mean*/,
                          const Tensor& /*rstd*/) const {
    missing("layer_norm");
  }
  virtual void layer_norm_backward(const Tensor& /*x*/, const Tensor& /*weight*/,
                                   const Tensor& /*mean*/, const Tensor& /*rstd*/,
                                   const Tensor& /*dy*/, const Tensor& /*dx*/,
                                   const Tensor& /*dweight*/, const Tensor& /*dbias*/) const {
    missing("layer_norm_backward");
  }
  virtual void rms_norm(double /*eps*/, const Tensor& /*x*/, const Tensor& /*weight*/,
                        const Tensor& /*y*/, const Tensor& /*rstd*/) const {
    missing("rms_norm");
  }
  virtual void rms_norm_backward(const Tensor& /*x*/, const Tensor& /*weight*/,
                                 const Tensor& /*rstd*/, const Tensor& /*dy*/, const Tensor& /*dx*/,
                                 const Tensor& /*dweight*/) const {
    missing("rms_norm_backward");
  }
  /// x: (b, c, spatial...). groups = 0: statistics per channel over batch and space (batch norm),
  /// mean and rstd are (c); else per item and group (group norm), mean and rstd are (b, groups).
  virtual void channel_norm_stats(std::int64_t /*groups*/, double /*eps*/, const Tensor& /*x*/,
                                  const Tensor& /*mean*/, const Tensor& /*rstd*/) const {
    missing("channel_norm_stats");
  }
  /// y = norm(x) + residual, then a ReLU if asked for; residual is undefined or like x.
  virtual void channel_norm(const ChannelNormArgs&, const Tensor& /*x*/, const ChannelNorm&,
                            const Tensor& /*residual*/, const Tensor& /*y*/) const {
    missing("channel_norm");
  }
  /// For a ReLU behind a residual y or the residual is needed, else neither. The gradient of x or
  /// of the residual may be written over dy.
  virtual void channel_norm_backward(const ChannelNormArgs&, const Tensor& /*x*/,
                                     const ChannelNorm&, const Tensor& /*residual*/,
                                     const Tensor& /*y*/, const Tensor& /*dy*/,
                                     const ChannelNormGradients&) const {
    missing("channel_norm_backward");
  }
  /// u = before + w x, w (b c); before may be undefined. norm.mean and norm.rstd become the
  /// statistics of the convolution of u, unless they are fixed.
  virtual void running_value(double /*eps*/, const Tensor& /*before*/, const Tensor& /*w*/,
                             const Tensor& /*x*/, const ValueNorm&) const {
    missing("running_value");
  }
  virtual void value_norm(const ValueNorm&, const Tensor& /*x*/, const Tensor& /*y*/) const {
    missing("value_norm");
  }
  virtual void value_norm_backward(const ValueNorm&, const Tensor& /*w*/, const Tensor& /*x*/,
                                   const Tensor& /*dy*/, const ValueNormGradients&) const {
    missing("value_norm_backward");
  }

  // Convolution, pooling, resizing.
  virtual void conv(const ConvArgs&, const ConvInput& /*x*/, const Tensor& /*weight*/,
                    const Tensor& /*bias*/, const Tensor& /*y*/) const {
    missing("conv");
  }
  /// dx = gradient of the input; also the forward pass of a transposed convolution.
  virtual void conv_backward_data(const ConvArgs&, const Tensor& /*weight*/, const Tensor& /*dy*/,
                                  const Tensor& /*dx*/) const {
    missing("conv_backward_data");
  }
  virtual void conv_backward_weight(const ConvArgs&, const ConvInput& /*x*/, const Tensor& /*dy*/,
                                    const Tensor& /*dweight*/) const {
    missing("conv_backward_weight");
  }
  /// Depthwise over tokens on a grid: x, y (b, h, w, c), weight (c, 1, kernel_h, kernel_w) with odd
  /// sizes, stride 1, zeros around the grid; bias (c) may be undefined.
  virtual void token_conv(const Tensor& /*x*/, const Tensor& /*weight*/, const Tensor& /*bias*/,
                          const Tensor& /*y*/) const {
    missing("token_conv");
  }
  /// Gradients may be undefined: not wanted.
  virtual void token_conv_backward(const Tensor& /*x*/, const Tensor& /*weight*/,
                                   const Tensor& /*dy*/, const Tensor& /*dx*/,
                                   const Tensor& /*dweight*/, const Tensor& /*dbias*/) const {
    missing("token_conv_backward");
  }
  /// argmax: int64, position of the maximum inside its channel plane; undefined for averages and
  /// where no gradient will be asked for.
  virtual void pool(const PoolArgs&, const Tensor& /*x*/, const Tensor& /*y*/,
                    const Tensor& /*argmax*/) const {
    missing("pool");
  }
  virtual void pool_backward(const PoolArgs&, const Tensor& /*dy*/, const Tensor& /*argmax*/,
                             const Tensor& /*dx*/) const {
    missing("pool_backward");
  }
  virtual void resize(const ResizeArgs&, const Tensor& /*x*/, const Tensor& /*y*/) const {
    missing("resize");
  }
  virtual void resize_backward(const ResizeArgs&, const Tensor& /*dy*/,
                               const Tensor& /*dx*/) const {
    missing("resize_backward");
  }

  // Indexing. index is int64.
  /// y[i, :] = table[index[i], :].
  virtual void gather_rows(const Tensor& /*table*/, const Tensor& /*index*/,
                           const Tensor& /*y*/) const {
    missing("gather_rows");
  }
  /// table[index[i], :] += x[i, :], in order of i.
  virtual void scatter_add_rows(const Tensor& /*x*/, const Tensor& /*index*/,
                                const Tensor& /*table*/) const {
    missing("scatter_add_rows");
  }
  /// y[..., i, ...] = x[..., index[..., i, ...], ...] along `axis`; index has y's shape.
  virtual void gather(int /*axis*/, const Tensor& /*x*/, const Tensor& /*index*/,
                      const Tensor& /*y*/) const {
    missing("gather");
  }
  /// The reverse of gather: y[..., index, ...] += x, in order.
  virtual void scatter_add(int /*axis*/, const Tensor& /*x*/, const Tensor& /*index*/,
                           const Tensor& /*y*/) const {
    missing("scatter_add");
  }

  // Random numbers (tensor/random.h): element i depends on key and i alone.
  virtual void random_uniform(std::uint64_t /*key*/, double /*low*/, double /*high*/,
                              const Tensor& /*y*/) const {
    missing("random_uniform");
  }
  /// Normal, redrawn while outside [low, high].
  virtual void random_normal(std::uint64_t /*key*/, double /*mean*/, double /*stddev*/,
                             double /*low*/, double /*high*/, const Tensor& /*y*/) const {
    missing("random_normal");
  }
  /// y = keep(i / block) x / (1 - p); block > 1 drops whole runs of elements (drop-path). x has a
  /// whole number of blocks.
  virtual void dropout(std::uint64_t /*key*/, double /*p*/, std::int64_t /*block*/,
                       const Tensor& /*x*/, const Tensor& /*y*/) const {
    missing("dropout");
  }

  // Fused attention; memory linear in the number of keys. mask: (batch, keys) uint8 or undefined.
  // out: (batch, queries, heads * v.dim), heads concatenated; lse: (batch, heads, queries), the
  // log-sum-exp of each row of scores (-inf where nothing is allowed: that row of out is zero).
  virtual void attention(const AttentionArgs&, const Tensor& /*q*/, const Tensor& /*k*/,
                         const Tensor& /*v*/, const Tensor& /*mask*/, const Tensor& /*out*/,
                         const Tensor& /*lse*/) const {
    missing("attention");
  }
  /// dq, dk, dv are laid out as q, k, v and may be one tensor; see AttentionArgs::add.
  virtual void attention_backward(const AttentionArgs&, const Tensor& /*q*/, const Tensor& /*k*/,
                                  const Tensor& /*v*/, const Tensor& /*mask*/,
                                  const Tensor& /*lse*/, const Tensor& /*dout*/,
                                  const Tensor& /*dq*/, const Tensor& /*dk*/,
                                  const Tensor& /*dv*/) const {
    missing("attention_backward");
  }
  /// out = (c1 softmax(q k^T) + c2 softmax(q2 k2^T)) v with one coefficient per query and head:
  /// c1, c2: (batch, queries, heads). Covers DIFF (1, -lambda) and M-DGSA (g, g - 1). lse:
  /// (2, batch, heads, queries). Both streams live in the tensors q and k.
  virtual void two_map_attention(const AttentionArgs&, const Tensor& /*q*/, const Tensor& /*k*/,
                                 const Tensor& /*v*/, const Tensor& /*c1*/, const Tensor& /*c2*/,
                                 const Tensor& /*mask*/, const Tensor& /*out*/,
                                 const Tensor& /*lse*/) const {
    missing("two_map_attention");
  }
  /// As attention_backward; writes dc1 and dc2.
  virtual void two_map_attention_backward(const AttentionArgs&, const Tensor& /*q*/,
                                          const Tensor& /*k*/, const Tensor& /*v*/,
                                          const Tensor& /*c1*/, const Tensor& /*c2*/,
                                          const Tensor& /*mask*/, const Tensor& /*lse*/,
                                          const Tensor& /*dout*/, const Tensor& /*dq*/,
                                          const Tensor& /*dk*/, const Tensor& /*dv*/,
                                          const Tensor& /*dc1*/, const Tensor& /*dc2*/) const {
    missing("two_map_attention_backward");
  }

  // Loss. logits: (rows, classes), target: (rows) int64. Rows whose target is ignore_index get loss
  // 0. loss: (rows), lse: (rows).
  virtual void cross_entropy(double /*smoothing*/, std::int64_t /*ignore_index*/,
                             const Tensor& /*logits*/, const Tensor& /*target*/,
                             const Tensor& /*loss*/, const Tensor& /*lse*/) const {
    missing("cross_entropy");
  }
  /// dlogits = dloss[row] * d loss[row] / d logits.
  virtual void cross_entropy_backward(double /*smoothing*/, std::int64_t /*ignore_index*/,
                                      const Tensor& /*logits*/, const Tensor& /*target*/,
                                      const Tensor& /*lse*/, const Tensor& /*dloss*/,
                                      const Tensor& /*dlogits*/) const {
    missing("cross_entropy_backward");
  }

  // Optimiser updates, in place.
  virtual void adamw(const AdamWArgs&, const Tensor& /*grad*/, const Tensor& /*param*/,
                     const Tensor& /*m*/, const Tensor& /*v*/) const {
    missing("adamw");
  }
  virtual void sgd(const SgdArgs&, const Tensor& /*grad*/, const Tensor& /*param*/,
                   const Tensor& /*momentum*/) const {
    missing("sgd");
  }
  /// average = decay average + (1 - decay) x.
  virtual void ema(double /*decay*/, const Tensor& /*x*/, const Tensor& /*average*/) const {
    missing("ema");
  }

 protected:
  /// Throws BackendError naming the kernel. The meta backend does nothing instead.
  virtual void missing(const char* kernel) const;
};

inline const Backend& backend(const Tensor& tensor) { return tensor.device().backend(); }

}  // namespace fovea
