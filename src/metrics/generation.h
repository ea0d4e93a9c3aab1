// Scores of generated images from what a classifier makes of them: the Frechet distance of features
// (Heusel et al., NeurIPS 2017) and the inception score of classes (Salimans et al., NeurIPS 2016).
// The published ones take features of an Inception-v3 of ImageNet; those of another classifier are
// proxies, and comparable only among samples that the same classifier has seen. mala 8.
#pragma once

#include <cstdint>
#include <vector>

#include "metrics/metric_info.h"
#include "tensor/tensor.h"

namespace fovea::metrics {

inline const MetricInfo kProxyFid{.name = "proxy_fid", .larger_is_better = false, .decimals = 3};
inline const MetricInfo kProxyIs{.name = "proxy_is", .decimals = 3};

/// Mean and unbiased covariance of rows.
struct FeatureStatistics {
  std::int64_t rows = 0;
  std::vector<double> mean;        // (d)
  std::vector<double> covariance;  // (d, d) row-major
};
/// features (n, d) floating. Throws ShapeError for fewer than two rows.
FeatureStatistics feature_statistics(const Tensor& features);

/// |m1 - m2|^2 + tr(S1 + S2 - 2 (S1 S2)^(1/2)), with the eigenvalues of the symmetric form
/// S1^(1/2) S2 S1^(1/2), of which negative ones are rounding and count as 0. Throws ShapeError for
/// features of different widths.
double frechet_distance(const FeatureStatistics& a, const FeatureStatistics& b);

struct InceptionScore {
  double mean = 0;
  double std = 0;  // population, over the parts
};
/// exp(mean of KL(p(y | x) || p(y))) of each of `splits` parts of the rows, in their order.
/// logits (n, classes) floating. Throws ShapeError for fewer rows than splits.
InceptionScore inception_score(const Tensor& logits, std::int64_t splits = 10);

}  // namespace fovea::metrics
