// The parts of key-correlated layer attention, for its variant and the golden cases. kcla 2.9.
#pragma once

#include <optional>
#include <vector>

#include "layer_attention/heads.h"
#include "nn/norm.h"

namespace fovea::layer_attention {

/// `heads` numbers spaced evenly by logarithm from p to 1 / p; p alone for one head. Computed in
/// float32, as the public code does.
std::vector<float> log_uniform(double p, std::int64_t heads);

enum class Transition {
  kConvBn,  // grouped 1x1 convolution (if the width changes), BN, keys by a kernel of its own
  kConvBnSharedKey,  // always, with a bias, keys by the layer's own kernel: public code,
                     // segmentation
  kAlgorithm1,  // the paper's Algorithm 1: one convolution that the heads share, no temperature
};
enum class TemperatureOrder { kCode, kPaper };
enum class ValueCache { kRaw, kTransformed };

/// Null: as in the code of the slot's family.
struct KclaOptions : HeadOptions {
  KclaOptions() { head_dim = std::nullopt; }
  double p = 0.7;
  std::optional<double> clamp = 10;
  std::optional<double> z_eps;
  std::optional<TemperatureOrder> temperature_order;
  bool sqrt_head_dim = false;
  bool same_temperature = false;
  bool use_exp = true;
  bool head_attention = true;
  std::optional<bool> phi;
  ValueCache value_cache = ValueCache::kRaw;
  bool cross_stage = true;
  std::optional<Transition> transition;
  std::optional<bool> reset_inside_stage;
  std::optional<std::int64_t> reinit_index;
};
/// With every null option resolved for a family.
KclaOptions resolved(KclaOptions options, Family family);

/// The running sum of maps and of their weights.
struct KclaState {
  Tensor u;  // (b, c, h, w)
  Tensor z;  // (b, heads)
  std::vector<Tensor> weights = {};  // for a probe: of each map that is in the sum, (b, heads)
};

/// |K| of every head: k (b, heads, 1, head_dim) -> (b, heads). Its gradient at zero is zero.
Tensor key_norms(const Tensor& k);

/// Algorithm 1 of the paper, read literally: `conv` takes the average of every head from head_dim
/// to c / heads channels with stride 2, `f_k` is a convolution along the channels of the result.
///   U = conv(u / z),  z = exp(|f_k(GAP(U))|),  the state is (z U, z)
class Algorithm1 final : public nn::Module {
 public:
  /// num_heads and head_dim of the state that comes in; channels of the one that goes out.
  Algorithm1(const nn::Build& build, std::int64_t num_heads, std::int64_t head_dim,
             std::int64_t channels);
  std::string type() const override { return "Algorithm1"; }
  /// next_heads: of the state that goes out.
  KclaState operator()(const KclaState& state, std::int64_t next_heads);

 private:
  nn::Conv2d& conv_;
  ChannelConv& f_k_;
};

}  // namespace fovea::layer_attention
