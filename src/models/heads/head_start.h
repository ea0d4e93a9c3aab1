// Initial weights of detection heads. mala 4.5.
#pragma once

#include "nn/module.h"

namespace fovea::models {

/// Gives the weight of a layer new values from normal(0, stddev); biases 0.
void start_normal(const nn::Module& layer, const nn::Build& build, double stddev);

/// The same with stddev sqrt(2 / fan_out) of a convolution (kaiming), biases 0.
void start_kaiming(const nn::Module& convolution, const nn::Build& build);

}  // namespace fovea::models
