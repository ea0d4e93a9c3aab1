#include "experiment/planning/unet_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"

namespace fovea::experiment {
namespace {

// nnU-Net's numbers.
constexpr std::int64_t kLeastSide = 4;  // of the coarsest maps
constexpr double kReferenceGib = 8;
constexpr double kReference3d = 560e6, kReference2d = 85e6;  // elements of maps that fill it ...
constexpr double kReferenceBatch3d = 2, kReferenceBatch2d = 12;  // ... with so many samples
constexpr std::int64_t kLeastBatch = 2;
constexpr double kMostOfTrain = 0.05;
constexpr std::int64_t kMostFeatures3d = 320, kMostFeatures2d = 512;
constexpr std::int64_t kConvsPerStage = 2;

using Sides = std::vector<std::int64_t>;

// As Python rounds: halves to the even number.
std::int64_t rounded(double value) { return static_cast<std::int64_t>(std::nearbyint(value)); }

double product(const std::vector<double>& of) {
  return std::accumulate(of.begin(), of.end(), 1.0, std::multiplies<>());
}

double volume(const Sides& sides) {
  return product(std::vector<double>(sides.begin(), sides.end()));
}

class Planner {
 public:
  Planner(const UNetFingerprint& fingerprint, const UNetRules& rules)
      : fingerprint_(fingerprint),
        rules_(rules),
        flat_(fingerprint.spacing.size() == 2),
        reference_((flat_ ? kReference2d : kReference3d) * rules.memory_gib / kReferenceGib),
        reference_batch_(flat_ ? kReferenceBatch2d : kReferenceBatch3d) {}

  UNetPlan run() {
    set(first_patch());
    // For two samples at least, whatever batch the reference is for.
    while (static_cast<double>(plan_.feature_map_elements) / reference_batch_ * 2 > reference_)
      shrink();
    const double fits =
        reference_ / static_cast<double>(plan_.feature_map_elements) * reference_batch_;
    const double of_train = product(fingerprint_.median_shape) *
                            static_cast<double>(fingerprint_.cases) * kMostOfTrain /
                            volume(plan_.patch_size);
    plan_.batch_size = std::max(std::min(rounded(fits), rounded(of_train)), kLeastBatch);
    return plan_;
  }

 private:
  // As many voxels as 256^3 (2048^2) of a cube in millimetres, and nowhere larger than the median.
  Sides first_patch() const {
    const std::vector<double>& spacing = fingerprint_.spacing;
    const auto axes = static_cast<double>(spacing.size());
    const double voxels = flat_ ? 2048.0 * 2048 : 256.0 * 256 * 256;
    const double scale = std::pow(voxels * product(spacing), 1 / axes);
    Sides patch;
    for (std::size_t axis = 0; axis < spacing.size(); ++axis) {
      const auto side = static_cast<double>(rounded(scale / spacing[axis]));
      patch.push_back(
          static_cast<std::int64_t>(std::ceil(std::min(side, fingerprint_.median_shape[axis]))));
    }
    return patch;
  }

  void set(const Sides& patch) {
    const UNetTopology topology = unet_topology(fingerprint_.spacing, patch);
    plan_.patch_size = topology.patch_size;
    plan_.strides = topology.strides;
    plan_.kernel_sizes = topology.kernel_sizes;
    divisor_ = topology.divisor;
    plan_.features_per_stage.clear();
    std::int64_t features = rules_.base_features;
    for (std::size_t stage = 0; stage < plan_.strides.size(); ++stage) {
      features = std::min(features, flat_ ? kMostFeatures2d : kMostFeatures3d);
      plan_.features_per_stage.push_back(features);
      features *= 2;
    }
    plan_.feature_map_elements = elements();
  }

  // compute_conv_feature_map_size() of nnU-Net's networks: outputs of all convolutions, and in the
  // decoder of what enlarges and of the finest head.
  std::int64_t elements() const {
    Sides size = plan_.patch_size;
    std::int64_t sum = 0;
    for (std::size_t stage = 0; stage < plan_.strides.size(); ++stage) {
      std::int64_t voxels = 1;
      for (std::size_t axis = 0; axis < size.size(); ++axis) {
        size[axis] /= plan_.strides[stage][axis];
        voxels *= size[axis];
      }
      const std::int64_t map = voxels * plan_.features_per_stage[stage];
      sum += kConvsPerStage * map;
      if (stage + 1 < plan_.strides.size()) sum += (kConvsPerStage + 1) * map;
      if (stage == 0) sum += voxels * fingerprint_.classes;
    }
    return sum;
  }

  // Less of the axis that is largest relative to the median; of equal ones the last.
  void shrink() {
    Sides patch = plan_.patch_size;
    std::size_t axis = 0;
    const auto share = [&](std::size_t of) {
      return static_cast<double>(patch[of]) / fingerprint_.median_shape[of];
    };
    for (std::size_t other = 1; other < patch.size(); ++other) {
      if (share(other) >= share(axis)) axis = other;
    }
    // A shorter side may be halved less often, and a finer step be enough: 256, 224 (7 x 32) and
    // not 192 where 64 divides 256.
    Sides shorter = patch;
    shorter[axis] -= divisor_[axis];
    patch[axis] -= unet_topology(fingerprint_.spacing, shorter).divisor[axis];
    FOVEA_CHECK(patch[axis] > 0, ConfigError,
                fmt::format("memory of {:g} GiB: too little for any patch of {} features in the "
                            "first stage; give more memory or fewer features",
                            rules_.memory_gib, rules_.base_features));
    set(patch);
  }

  const UNetFingerprint& fingerprint_;
  const UNetRules& rules_;
  bool flat_;
  double reference_, reference_batch_;
  Sides divisor_;
  UNetPlan plan_;
};

}  // namespace

UNetTopology unet_topology(const std::vector<double>& given, const Sides& patch_size) {
  const std::size_t axes = given.size();
  std::vector<double> spacing = given;
  Sides size = patch_size;
  Sides kernel(axes, 1);
  UNetTopology found;
  found.strides.emplace_back(axes, 1);
  found.divisor.assign(axes, 1);
  for (;;) {
    std::vector<std::size_t> long_enough, halved;
    double least = 0;
    for (std::size_t axis = 0; axis < axes; ++axis) {
      if (size[axis] < 2 * kLeastSide) continue;
      least = long_enough.empty() ? spacing[axis] : std::min(least, spacing[axis]);
      long_enough.push_back(axis);
    }
    for (const std::size_t axis : long_enough) {
      if (spacing[axis] / least < 2) halved.push_back(axis);
    }
    if (halved.empty() || (halved.size() == 1 && size[halved[0]] < 3 * kLeastSide)) break;
    const double finest = *std::ranges::min_element(spacing);
    for (std::size_t axis = 0; axis < axes; ++axis) {
      if (spacing[axis] / finest < 2) kernel[axis] = 3;
    }
    Sides stride(axes, 1);
    for (const std::size_t axis : halved) {
      stride[axis] = 2;
      found.divisor[axis] *= 2;
      spacing[axis] *= 2;
      size[axis] = (size[axis] + 1) / 2;
    }
    found.strides.push_back(stride);
    found.kernel_sizes.push_back(kernel);
  }
  found.kernel_sizes.emplace_back(axes, 3);  // of the coarsest stage
  for (std::size_t axis = 0; axis < axes; ++axis) {
    const std::int64_t by = found.divisor[axis];
    found.patch_size.push_back((patch_size[axis] + by - 1) / by * by);
  }
  return found;
}

UNetPlan plan_unet(const UNetFingerprint& fingerprint, const UNetRules& rules) {
  const auto positive = [](const std::vector<double>& of) {
    return std::ranges::all_of(of, [](double value) { return value > 0 && std::isfinite(value); });
  };
  FOVEA_CHECK((fingerprint.spacing.size() == 2 || fingerprint.spacing.size() == 3) &&
                  fingerprint.median_shape.size() == fingerprint.spacing.size() &&
                  positive(fingerprint.spacing) && positive(fingerprint.median_shape),
              ConfigError,
              "plan: spacings and the median shape are to be positive, of 2 or 3 axes");
  // nnU-Net puts the axis of the coarsest spacing first; which axis is cut first depends on it.
  const std::size_t axes = fingerprint.spacing.size();
  std::vector<std::size_t> order(axes);
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (axes == 3) {
    const auto coarsest = std::ranges::max_element(fingerprint.spacing);
    std::rotate(order.begin(), order.begin() + (coarsest - fingerprint.spacing.begin()),
                order.begin() + (coarsest - fingerprint.spacing.begin()) + 1);
  }
  UNetFingerprint turned = fingerprint;
  for (std::size_t k = 0; k < axes; ++k) {
    turned.spacing[k] = fingerprint.spacing[order[k]];
    turned.median_shape[k] = fingerprint.median_shape[order[k]];
  }
  UNetPlan plan = Planner(turned, rules).run();
  const auto turn_back = [&](Sides& sides) {
    const Sides from = sides;
    for (std::size_t k = 0; k < axes; ++k) sides[order[k]] = from[k];
  };
  turn_back(plan.patch_size);
  for (Sides& stride : plan.strides) turn_back(stride);
  for (Sides& kernel : plan.kernel_sizes) turn_back(kernel);
  return plan;
}

}  // namespace fovea::experiment
