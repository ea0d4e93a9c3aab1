// Rotary positions on interleaved pairs. dgsa 2.3, gdla 2.10.
#pragma once

#include <optional>

#include "attention/attention.h"

namespace fovea::attention {

/// x: (b, n, heads * head_dim); cos, sin: (n, head_dim / 2). Pair i of a head:
/// (a, b) = (x[2i], x[2i+1]) -> (a cos - b sin, a sin + b cos).
Tensor rotate_pairs(const Tensor& x, std::int64_t head_dim, const Tensor& cos, const Tensor& sin);

/// Rotates heads of one width by the tables of the context or, where it has none and there is a
/// base, by position * base^(-2 i / head_dim) for pair i, positions from 0 in order of the tokens.
class Rotary {
 public:
  /// Throws ConfigError if there is a base and head_dim is odd.
  Rotary(std::optional<double> base, std::int64_t head_dim);
  bool applies(const Context& context) const { return base_ || context.rope_cos.defined(); }
  /// (b, n, heads * head_dim) -> the same; x itself where there are no positions.
  Tensor operator()(const Tensor& x, const Context& context);

 private:
  void make_tables(std::int64_t n, const Tensor& like);

  std::optional<double> base_;
  std::int64_t head_dim_;
  Tensor cos_, sin_;  // of the last number of tokens
};

/// Adds "rope_base" to the fields of a variant.
template <class Options>
schema::Fields<Options>& add_rope(schema::Fields<Options>& fields) {
  return fields.add("rope_base", &Options::rope_base, schema::greater_than(1),
                    "rotary positions of queries and keys with this base (10000), in order of the "
                    "tokens; null = none");
}

}  // namespace fovea::attention
