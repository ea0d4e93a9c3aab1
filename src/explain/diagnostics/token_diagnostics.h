// What the tokens between blocks are like: likeness, norms, massive activations. explain C.5, C.7.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

namespace fovea::explain {

struct TokenDiagnosticsOptions {
  double factor = 4;               // a norm is high above factor times the median norm
  std::optional<double> absolute;  // or, where given, above this (150 in Darcet et al. 2024)
};

/// Of one sample's tokens after one block.
struct TokenDiagnostics {
  /// An entry of the tokens, one of the three largest in size; equal ones by place.
  struct Entry {
    std::int64_t token = 0, channel = 0;
    double value = 0;
  };

  double similarity = 0;  // mean over pairs of tokens of their cosine, of a token of zeros 0; NaN
                          // for a single token
  double residual = 0;    // singular_values.h: row_residual
  double median_norm = 0, max_norm = 0, ratio = 0;  // ratio: the largest over the median
  std::int64_t high_norm = 0;                       // tokens with a high norm
  /// Entries above 100 in size and of at least 1000 times the median size (Sun et al., Massive
  /// activations in large language models, 2024).
  std::int64_t massive = 0;
  std::array<Entry, 3> top = {};
};

/// tokens: (n, dim) row-major, patches and class token without registers. Throws ShapeError unless
/// n rows have at least three entries together, NumericError where they are not finite.
TokenDiagnostics diagnose_tokens(std::span<const double> tokens, std::int64_t n,
                                 const TokenDiagnosticsOptions& options);

}  // namespace fovea::explain
