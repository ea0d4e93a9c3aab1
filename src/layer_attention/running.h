// Sums over layers that stand for all earlier keys and values. kcla 2.8.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tensor/tensor.h"

namespace fovea::layer_attention {

/// How a comparator of kcla figure 3 sees earlier layers.
enum class Form { kRecompute, kRecurrent };
std::vector<std::pair<std::string, Form>> form_names();
inline constexpr const char* kFormHelp =
    "recompute: keys and values of all layers are made again with this layer's weights; recurrent: "
    "each layer adds its own to a sum";

/// S = sum_i K_i^T V_i, z = sum_i K_i.
struct RunningSums {
  Tensor s;  // (b, heads, head_dim, n)
  Tensor z;  // (b, heads, 1, head_dim)

  /// key: (b, heads, 1, head_dim), value: (b, heads, 1, n).
  void add(const Tensor& key, const Tensor& value);
  /// q S / (q . (z + eps)): (b, heads, 1, n).
  Tensor normalised(const Tensor& query, double eps) const;
};

}  // namespace fovea::layer_attention
