// Rotary positions on interleaved pairs: angles of tokens in a row, or on a grid. dgsa 2.3,
// gdla 2.10, mala 3.5.
#pragma once

#include <optional>
#include <vector>

#include "attention/attention.h"
#include "base/last_made.h"
#include "ops/attention/linear_attention.h"

namespace fovea::attention {

/// position * base^(-2 i / head_dim) for pair i, positions from `first` in order of the tokens.
ops::RotaryTables sequence_rotary(std::int64_t n, std::int64_t head_dim, double base, DType dtype,
                                  const Device& device, std::int64_t first = 0);

/// head_dim / 4 rates from 1 down to 1 / 10000, both included. Throws ConfigError, naming `place`,
/// unless 4 divides head_dim.
std::vector<double> grid_rates(const char* place, std::int64_t head_dim);
/// The first half of the pairs turns by row * rate, the second by column * rate, both counted from
/// 0; tokens before the grid do not turn. mala 3.5.
ops::RotaryTables grid_rotary(const std::vector<double>& rates, std::int64_t prefix_tokens,
                              std::int64_t grid_h, std::int64_t grid_w, DType dtype,
                              const Device& device);

enum class RotaryKind { kNone, kSequence, kGrid };

/// Positions of heads of one width: the context's tables or, where it has none, tables of the given
/// kind, which are made once for each size.
class Rotary {
 public:
  static constexpr double kBase = 10000;

  /// Positions in a sequence with this base; none without. Throws ConfigError if there is a base
  /// and head_dim is odd.
  Rotary(std::optional<double> base, std::int64_t head_dim);
  /// Throws ConfigError if head_dim does not fit.
  Rotary(RotaryKind kind, std::int64_t head_dim);

  bool applies(const Context& context) const {
    return kind_ != RotaryKind::kNone || context.rope_cos.defined();
  }
  /// For n tokens; undefined where there are no positions. Throws ShapeError for tokens that are
  /// on no grid.
  ops::RotaryTables tables(std::int64_t n, const Tensor& like, const Context& context);
  /// (b, n, heads * head_dim) -> the same; x itself where there are no positions.
  Tensor operator()(const Tensor& x, const Context& context);

 private:
  RotaryKind kind_;
  double base_ = kBase;
  std::int64_t head_dim_;
  std::vector<double> rates_;  // on a grid
  struct Key {
    std::int64_t n, prefix_tokens, grid_w;
    DType dtype;
    Device device;
    bool operator==(const Key& other) const {
      return n == other.n && prefix_tokens == other.prefix_tokens && grid_w == other.grid_w &&
             dtype == other.dtype && device.is(other.device);
    }
  };
  LastMade<Key, ops::RotaryTables> tables_;
};

/// Adds "rope_base" to the fields of a variant.
template <class Options>
schema::Fields<Options>& add_rope(schema::Fields<Options>& fields) {
  return fields.add("rope_base", &Options::rope_base, schema::greater_than(1),
                    "rotary positions of queries and keys with this base (10000), in order of the "
                    "tokens; null = none");
}

}  // namespace fovea::attention
