// Principal components of what a layer makes of patches, and their scores as colours: patches of
// one colour look alike to the layer. As in figure 1 of DINOv2 (Oquab et al., 2024).
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/tensor.h"
#include "visualise/maps/rollouts/rollout.h"

namespace fovea::visualise {

/// The directions in which vectors vary most, the first one most of all.
struct PrincipalComponents {
  Matrix axes;                    // (count, dim), of length 1
  Matrix scores;                  // (n, count): vectors less their mean, along the axes
  std::vector<double> variances;  // along the axes; divided by n - 1
  std::vector<double> shares;     // of the variance of all channels; 0 where nothing varies
};

/// The eigenvectors of the covariance of `vectors`, (n, dim) float64. Of the two directions of an
/// axis it has the one whose largest entry is positive, the first of these where several are within
/// a millionth of the largest. Directions in which less than 1e-12 of the variance lies have scores
/// of 0; axes of equal variance may be any of their plane. Throws ShapeError for less than two
/// vectors or fewer channels than `count`, NumericError for values that are not finite.
PrincipalComponents principal_components(const Tensor& vectors, std::int64_t count);

/// Each column to [0, 1], from the value that the share `outside` lies below to the one that as
/// many lie above; values beyond are clamped, so that single outliers do not take all colours. A
/// column of one value is 0.5.
Matrix component_colours(const Matrix& scores, double outside = 0.01);

}  // namespace fovea::visualise
