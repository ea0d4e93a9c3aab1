// How a relevance of tokens for tokens is read as a relevance of patches or words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "visualise/maps/rollouts/rollout.h"

namespace fovea::explain {

using visualise::Matrix;

/// An index of a std::vector.
inline std::size_t as_index(std::int64_t i) { return static_cast<std::size_t>(i); }

/// Where a network's output comes from: the class token, or the mean over the other tokens.
enum class Pooling { kClass, kMean };

struct TokenLayout {
  std::int64_t prefix = 0;  // class and register tokens, in front
  Pooling pooling = Pooling::kMean;
};

/// The weights of rows that an output is read from, sum 1: of n tokens the first, or all behind the
/// prefix alike. Throws ConfigError for a class token without prefix, ShapeError where the prefix
/// leaves no token.
std::vector<double> reading_weights(std::int64_t n, const TokenLayout& layout);
/// These weights times an (n, n) relevance, without the columns of the prefix: (n - prefix).
std::vector<double> reading_row(const Matrix& relevance, const TokenLayout& layout);
/// Weights of all tokens without those of the prefix.
std::vector<double> behind_prefix(const std::vector<double>& row, const TokenLayout& layout);

/// row M, for as many weights as M has rows.
std::vector<double> times(const std::vector<double>& row, const Matrix& matrix);

}  // namespace fovea::explain
