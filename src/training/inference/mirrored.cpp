#include "training/inference/mirrored.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "ops/elementwise.h"
#include "ops/shape.h"

namespace fovea::training {

Inferer::Network mirrored(Inferer::Network network, std::vector<std::int64_t> axes) {
  if (axes.empty()) return network;
  return [network = std::move(network), axes = std::move(axes)](const Tensor& image) {
    check_mirror_axes(axes, image.rank() - 2);
    const std::size_t ways = std::size_t{1} << axes.size();
    std::vector<Tensor> sums;
    for (std::size_t way = 0; way < ways; ++way) {
      const auto turned = [&](Tensor x) {
        for (std::size_t i = 0; i < axes.size(); ++i) {
          if ((way >> i & 1) != 0) x = ops::flip(x, static_cast<int>(axes[i]) + 2);
        }
        return x;
      };
      const std::vector<Tensor> maps = network(turned(image));
      for (std::size_t m = 0; m < maps.size(); ++m) {
        const Tensor map = turned(ops::cast(ops::to(maps[m], image.device()), DType::kFloat32));
        if (m == sums.size()) {
          sums.push_back(map);
        } else {
          sums[m] = ops::add(sums[m], map);
        }
      }
    }
    for (Tensor& sum : sums) sum = ops::mul(sum, 1.0 / static_cast<double>(ways));
    return sums;
  };
}

void check_mirror_axes(const std::vector<std::int64_t>& axes, std::int64_t sample_axes) {
  for (const std::int64_t axis : axes) {
    FOVEA_CHECK(axis < sample_axes, ConfigError,
                fmt::format("eval.inferer.mirror_axes: {}, but samples have {} axes; expected 0 "
                            "to {}",
                            axis, sample_axes, sample_axes - 1));
    FOVEA_CHECK(std::count(axes.begin(), axes.end(), axis) == 1, ConfigError,
                fmt::format("eval.inferer.mirror_axes: {} is given twice", axis));
  }
}

}  // namespace fovea::training
