// What the layer attentions with queries, keys and values have in common. kcla 2.0.
#pragma once

#include <optional>
#include <vector>

#include "layer_attention/channel_conv.h"
#include "layer_attention/layer_attention.h"
#include "nn/convolution.h"

namespace fovea::layer_attention {

/// Options of all of them.
struct HeadOptions {
  std::optional<std::int64_t> head_dim = 16;
  double drop_path = 0.2;
  std::optional<bool> relu_after_bn;

  std::int64_t head_dim_for(Family family) const;
};
schema::Fields<HeadOptions> head_fields(const HeadOptions& defaults = {});

/// Raw results of the layers of the stage up to this one.
struct History {
  std::vector<Tensor> pooled;  // (b, c)
  std::vector<Tensor> maps;    // (b, c, h, w)

  void add(const Tensor& y, const Tensor& x) {
    pooled.push_back(y);
    maps.push_back(x);
  }
};

/// Of all layers: (b, heads, layers, n).
struct KeysAndValues {
  Tensor keys, values;
};

/// Keys and values that each layer made of its own map.
struct Cache {
  std::vector<Tensor> keys;    // (b, heads, 1, head_dim)
  std::vector<Tensor> values;  // (b, heads, 1, head_dim h w)
};

/// (b, heads, 1, n) of every layer -> (b, heads, layers, n).
Tensor stack(const std::vector<Tensor>& layers);

/// Repeats one number for each head over its channels: (b, heads) -> (b, channels).
Tensor per_channel(const Tensor& x, std::int64_t channels);

/// Depthwise 3x3 convolution without bias.
std::unique_ptr<nn::Conv2d> make_value_conv(const nn::Build& build, std::int64_t channels);

/// Wq, Wk (channel convolutions) and Wv (depthwise 3x3), and their heads: head i is the i-th run of
/// head_dim channels. Registered under the empty name.
class Projections final : public nn::Module {
 public:
  Projections(const nn::Build& build, std::int64_t channels, std::int64_t num_heads,
              bool with_keys = true);
  std::string type() const override { return "Projections"; }

  std::int64_t num_heads() const { return num_heads_; }
  std::int64_t head_dim() const { return head_dim_; }

  // y: (b, c) -> (b, heads, 1, head_dim).
  Tensor query(const Tensor& y) { return split(q_(y)); }
  Tensor key(const Tensor& y) { return split((*k_)(y)); }
  /// The same before the channels are split into heads: (b, c).
  Tensor flat_query(const Tensor& y) { return q_(y); }
  Tensor flat_key(const Tensor& y) { return (*k_)(y); }
  /// x: (b, c, h, w) -> (b, heads, 1, head_dim h w).
  Tensor value(const Tensor& x);
  /// Wv of a map, as a map.
  Tensor value_map(const Tensor& x) { return v_(x); }

  /// (b, c) -> (b, heads, 1, head_dim); no copy.
  Tensor split(const Tensor& y) const;
  /// gate f_V(x) in one pass over the map; gate (b, heads).
  Tensor gated_value(const Tensor& x, const Tensor& gate) const;
  /// sum_i weights_i values_i; weights (b, heads, 1, layers), values (b, heads, layers, n), as a
  /// map like x.
  Tensor combine(const Tensor& weights, const Tensor& values, const Tensor& x) const;

 private:
  std::int64_t num_heads_, head_dim_;
  ChannelConv& q_;
  ChannelConv* k_ = nullptr;
  nn::Conv2d& v_;
};

/// Base of the variants whose results are normalised and added to the block's output.
class Headwise : public LayerAttention {
 public:
  Headwise(const char* name, const Slot& slot, const HeadOptions& options, bool relu,
           bool with_keys = true);
  Join join() const override { return join_; }

 protected:
  bool first() const { return slot_.layer == 0; }
  const Slot& slot() const { return slot_; }
  /// This layer's keys and values of all maps so far; `key` is called with each map pooled.
  KeysAndValues recomputed(const History& seen, const std::function<Tensor(const Tensor&)>& key);
  KeysAndValues recomputed(const History& seen) {
    return recomputed(seen, [this](const Tensor& y) { return p_.key(y); });
  }

  Projections& p_;
  Join join_;

 private:
  Slot slot_;
};

/// Names of variants that follow the public code of MRLA in every family.
std::array<Names, 3> mrla_names();

}  // namespace fovea::layer_attention
