#include <cmath>
#include <vector>

#include "data/augment/transform_entry.h"

namespace fovea::data {
namespace {

// Along one axis, the volume mirrored at its ends with the last voxel twice (scipy's "reflect").
void blur_axis(std::span<float> values, const VolumeSides& size, std::size_t axis,
               const std::vector<float>& kernel) {
  const std::int64_t side = size[axis];
  const std::int64_t step = axis == 0 ? size[1] * size[2] : axis == 1 ? size[2] : 1;
  const std::int64_t reach = std::ssize(kernel) - 1;
  std::vector<float> line(static_cast<std::size_t>(side + 2 * reach));
  for (std::int64_t at = 0; at < std::ssize(values); ++at) {
    if (at / step % side != 0) continue;
    float* first = values.data() + at;
    for (std::int64_t i = -reach; i < side + reach; ++i) {
      std::int64_t from = (i % (2 * side) + 2 * side) % (2 * side);
      if (from >= side) from = 2 * side - 1 - from;
      line[static_cast<std::size_t>(i + reach)] = first[from * step];
    }
    for (std::int64_t i = 0; i < side; ++i) {
      const float* centre = line.data() + i + reach;
      float sum = kernel[0] * centre[0];
      for (std::int64_t k = 1; k <= reach; ++k)
        sum += kernel[static_cast<std::size_t>(k)] * (centre[-k] + centre[k]);
      first[i * step] = sum;
    }
  }
}

void blur_volume(std::span<float> values, const VolumeSides& size, double sigma) {
  const auto reach = static_cast<std::int64_t>(4 * sigma + 0.5);
  std::vector<double> weights;
  double sum = 0;
  for (std::int64_t k = 0; k <= reach; ++k) {
    const auto x = static_cast<double>(k);
    weights.push_back(std::exp(-x * x / (2 * sigma * sigma)));
    sum += (k == 0 ? 1 : 2) * weights.back();
  }
  std::vector<float> kernel;
  for (const double weight : weights) kernel.push_back(static_cast<float>(weight / sum));
  for (std::size_t axis = 0; axis < 3; ++axis) blur_axis(values, size, axis, kernel);
}

class VolumeBlur final : public ChannelTransform {
 public:
  explicit VolumeBlur(const NoOptions&) : ChannelTransform(0.2, 0.5) {}

 private:
  void change(std::span<float> values, const VolumeSides& size,
              const RandomStream& draws) const override {
    blur_volume(values, size, draw_between(draws, 1, 0.5, 1));
  }
};

}  // namespace

FOVEA_TRANSFORM(blur, VolumeBlur, kVolumes,
                "smooth by a Gaussian of 0.5 to 1 voxels, with probability 0.2, then each channel "
                "with 0.5",
                schema::Fields<NoOptions>{})

}  // namespace fovea::data
