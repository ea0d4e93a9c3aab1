// SaCo, the salience-guided faithfulness coefficient (Wu et al., On the faithfulness of vision
// transformer explanations, CVPR 2024). explain B.4.
#pragma once

#include "explain/scores/score.h"

namespace fovea::explain {

/// The units of each of `count` groups: ranks floor(i n / count) to below floor((i + 1) n / count)
/// in the order of falling relevance. No more groups than units.
std::vector<std::vector<std::int64_t>> relevance_groups(std::span<const double> relevance,
                                                        std::int64_t count);
/// The sum of relevance in each group.
std::vector<double> group_sums(std::span<const double> relevance,
                               std::span<const std::vector<std::int64_t>> groups);
/// How much the probability of the class falls when the units of one group alone are replaced.
std::vector<double> group_drops(const Explained& explained,
                                std::span<const std::vector<std::int64_t>> groups,
                                const BaselineOptions& options);

/// In [-1, 1]: 1 where groups with more relevance take more away. 0 if all sums are equal.
///   F = sum w / sum |w| over pairs i < j, w = s_i - s_j if D_i >= D_j, else s_j - s_i.
/// Throws ShapeError unless both are as long.
double saco(std::span<const double> sums, std::span<const double> drops);

}  // namespace fovea::explain
