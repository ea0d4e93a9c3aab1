// The map that a linear attention implies. explain C.10.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace fovea::explain {

enum class Feature { kEluPlusOne, kRelu };

/// A_ij = phi(q_i) . phi(k_j) / (sum_j phi(q_i) . phi(k_j) + eps), (n, n). q, k: (n, dim) of one
/// head. Throws ShapeError unless both are as large.
std::vector<double> linear_map(std::span<const double> q, std::span<const double> k, std::int64_t n,
                               Feature feature, double eps);

}  // namespace fovea::explain
