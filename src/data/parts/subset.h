// Choosing samples: class-balanced limits, parts that are held out, folds. Pure functions of labels
// and seeds, so that the same samples are chosen on every machine and in every run.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/random.h"

namespace fovea::data {

/// The first `count` samples, taken from the classes in turn (class 0's first sample, class 1's
/// first, ..., class 0's second, ...), each class in the order of `indices`; all samples if there
/// are fewer. A smaller count chooses a subset of what a larger one does. indices: positions in
/// `labels`, ascending. Returned ascending. count >= 0.
std::vector<std::int64_t> balanced_subset(const std::vector<std::int64_t>& labels,
                                          const std::vector<std::int64_t>& indices,
                                          std::int64_t count);

/// What stays in train and what is held out of it, both ascending.
struct SplitIndices {
  std::vector<std::int64_t> train;
  std::vector<std::int64_t> val;
};

/// The indices are shuffled by `stream`, the first floor((1 - fraction) n + 0.5) stay in train.
SplitIndices random_split(const std::vector<std::int64_t>& indices, double fraction,
                          const RandomStream& stream);

/// The same within each class, shuffled by stream.fork(class) (dgsa section 7).
SplitIndices stratified_split(const std::vector<std::int64_t>& labels,
                              const std::vector<std::int64_t>& indices, double fraction,
                              const RandomStream& stream);
/// The draw of validation parts: RandomStream(seed).fork("val_split").
SplitIndices stratified_split(const std::vector<std::int64_t>& labels,
                              const std::vector<std::int64_t>& indices, double fraction,
                              std::uint64_t seed);

/// Every `every`-th sample of each class is val: those with places every - 1, 2 every - 1, ... in
/// the order of `indices`.
SplitIndices regular_split(const std::vector<std::int64_t>& labels,
                           const std::vector<std::int64_t>& indices, std::int64_t every);

/// Places 0..n-1 held out in fold `fold` of `folds`, ascending, as nnU-Net makes its
/// splits_final.json: scikit-learn's KFold(n_splits=folds, shuffle=True, random_state=12345) over
/// the sorted names of the cases. 0 <= fold < folds <= n < 2^32.
std::vector<std::int64_t> held_out_of_fold(std::int64_t n, std::int64_t fold, std::int64_t folds);

/// Places in `labels` held out in fold `fold` of `folds`, ascending; every class has about the same
/// share of each fold: scikit-learn's StratifiedKFold(n_splits=folds, shuffle=True,
/// random_state=seed). 0 <= fold < folds <= labels.size() < 2^32.
std::vector<std::int64_t> held_out_of_stratified_fold(const std::vector<std::int64_t>& labels,
                                                      std::int64_t fold, std::int64_t folds,
                                                      std::uint32_t seed);

}  // namespace fovea::data
