// How the scores of a query over the keys answer to its length: softmax sharpens with it, linear
// attention does not feel it, magnitude-aware linear attention sharpens in proportion. mala section
// 9, figure 2.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace fovea::visualise {

// Scores of one query (d) with all keys (n, d), row by row -> (n).
/// softmax(q k^T d^-1/2).
std::vector<double> softmax_scores(std::span<const double> q, std::span<const double> keys);
/// phi(q) phi(k)^T over its sum; takes features. mala 3.8.
std::vector<double> linear_scores(std::span<const double> q, std::span<const double> keys);
/// Takes features: beta Sim - gamma with Sim = d^-1/2 / n phi(q) phi(k)^T, z its sum, beta = 1 + 1 /
/// z, gamma = z / n. mala 3.2.
std::vector<double> mala_scores(std::span<const double> q, std::span<const double> keys);

/// The query a u of figure 2, u a fixed direction, and its keys.
struct MagnitudeSettings {
  std::int64_t keys = 16;
  std::int64_t dim = 64;
  double key_std = 0.5;
  std::vector<double> factors = {1, 2, 4, 8};  // a
  std::uint64_t seed = 0;
};

/// One panel of the figure.
struct MagnitudeResponse {
  std::string mechanism;
  double factor = 0;
  std::vector<double> scores;  // keys in the order of their softmax scores at a = 1, largest first
  double entropy = 0;          // of |score| / sum |score|, in nats
  double maximum = 0, minimum = 0;
};

/// u and the keys (n, d).
struct QueryAndKeys {
  std::vector<double> query, keys;
};
/// Those of figure 2, drawn at random. Throws ConfigError for fewer than two keys or no dimension.
QueryAndKeys drawn_query(const MagnitudeSettings& settings);

/// Mechanism by mechanism, each with all factors: softmax of a u; linear attention of phi(a u), and
/// of a phi(u), where it is the length of the features that grows; MALA of a phi(u). phi is ELU
/// + 1. Throws ConfigError for factors not above 0.
std::vector<MagnitudeResponse> magnitude_responses(const QueryAndKeys& of,
                                                   const std::vector<double>& factors);

/// Columns mechanism,factor,entropy,maximum,key,score.
std::string magnitude_csv(const std::vector<MagnitudeResponse>& responses);
/// Bars, a row for each mechanism and a column for each factor, as .png or .svg, and magnitude_csv
/// beside it. Throws ConfigError for another ending.
void write_magnitude(const std::filesystem::path& path,
                     const std::vector<MagnitudeResponse>& responses);

}  // namespace fovea::visualise
