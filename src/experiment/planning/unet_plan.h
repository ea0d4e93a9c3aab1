// nnU-Net version 2's rules for patch size, batch size and topology of a U-Net: those of its
// ExperimentPlanner and get_pool_and_conv_props. Isensee et al., "nnU-Net", Nature Methods 18
// (2021).
#pragma once

#include <cstdint>
#include <vector>

namespace fovea::experiment {

/// What the rules look at. Of volumes three axes (depth, height, width), of images two.
struct UNetFingerprint {
  std::vector<double> spacing;       // to which all is resampled, in millimetres; of images 1
  std::vector<double> median_shape;  // at that spacing, in voxels
  std::int64_t cases = 0;            // of train
  std::int64_t channels = 1;
  std::int64_t classes = 2;  // maps that the network gives, the background too
};

struct UNetRules {
  double memory_gib = 8;            // of the device that nnU-Net plans for
  std::int64_t base_features = 32;  // of the first stage; twice as many in each further one
};

struct UNetPlan {
  std::vector<std::int64_t> patch_size;
  std::int64_t batch_size = 0;
  std::vector<std::int64_t> features_per_stage;                  // at most 320, of images 512
  std::vector<std::vector<std::int64_t>> strides, kernel_sizes;  // by stage and axis
  /// Elements of all feature maps of a sample, by which nnU-Net estimates memory.
  std::int64_t feature_map_elements = 0;
};

/// How often each axis is halved: while it keeps 4 voxels or more, and only axes whose voxels are
/// less than twice the smallest. Kernels are 1 along axes that are coarser than that, else 3.
struct UNetTopology {
  std::vector<std::vector<std::int64_t>> strides, kernel_sizes;
  std::vector<std::int64_t> divisor;     // 2 to the number of halvings
  std::vector<std::int64_t> patch_size;  // rounded up to multiples of it
};
UNetTopology unet_topology(const std::vector<double>& spacing,
                           const std::vector<std::int64_t>& patch_size);

/// The patch is as large as the median volume where memory allows, else cut along the axis that is
/// largest relative to it; the batch fills memory, but holds no more than 5 % of the voxels of
/// train, and 2 samples at least. Throws ConfigError for spacings and shapes that are not positive,
/// and where not even the smallest patch fits.
UNetPlan plan_unet(const UNetFingerprint& fingerprint, const UNetRules& rules = {});

}  // namespace fovea::experiment
