#include <algorithm>
#include <cmath>
#include <vector>

#include "data/augment/transform_entry.h"

namespace fovea::data {
namespace {

void lower_resolution(std::span<float> values, const VolumeSides& size, double zoom) {
  VolumeSides small = size;
  // Slices that are far apart are left alone.
  for (std::size_t axis = turns_in_plane(size) ? 1 : 0; axis < 3; ++axis)
    small[axis] = std::max<std::int64_t>(
        1, static_cast<std::int64_t>(std::nearbyint(static_cast<double>(size[axis]) * zoom)));
  std::vector<float> few;
  const auto near = [&](std::int64_t i, std::size_t axis) {
    return (2 * i + 1) * size[axis] / (2 * small[axis]);
  };
  for (std::int64_t d = 0; d < small[0]; ++d) {
    for (std::int64_t h = 0; h < small[1]; ++h) {
      for (std::int64_t w = 0; w < small[2]; ++w)
        few.push_back(values[static_cast<std::size_t>(
            voxel_index(size, near(d, 0), near(h, 1), near(w, 2)))]);
    }
  }
  const std::vector<float> back = resample_volume(few, small, size);
  std::copy(back.begin(), back.end(), values.begin());
}

class LowResolution final : public ChannelTransform {
 public:
  explicit LowResolution(const NoOptions&) : ChannelTransform(0.25, 0.5) {}

 private:
  void change(std::span<float> values, const VolumeSides& size,
              const RandomStream& draws) const override {
    lower_resolution(values, size, draw_between(draws, 1, 0.5, 1));
  }
};

}  // namespace

FOVEA_TRANSFORM(low_resolution, LowResolution, kVolumes,
                "shrink to 0.5 to 1 of the size (nearest) and back (linear), with probability "
                "0.25, then each channel with 0.5",
                schema::Fields<NoOptions>{})

}  // namespace fovea::data
