// Class activation maps: GradCAM (Selvaraju et al., 2017), HiResCAM (Draelos & Carin, 2020) and
// LayerCAM (Jiang et al., 2021), from the activations of a layer and their gradients.
#pragma once

#include <cstdint>
#include <vector>

namespace fovea::explain {

enum class Cam {
  kGradCam,   // [sum_k mean(g_k) a_k]+
  kHiResCam,  // [sum_k g_k a_k]+
  kLayerCam,  // [sum_k [g_k]+ a_k]+
};

/// One sample: activations and d z_c / d a, (channels, places).
std::vector<double> class_activation_map(Cam kind, const std::vector<double>& activations,
                                         const std::vector<double>& gradients,
                                         std::int64_t channels);

/// (map - min) / (1e-7 + max(map - min)), as pytorch-grad-cam scales maps before it averages them.
std::vector<double> scaled_cam(std::vector<double> map);

}  // namespace fovea::explain
