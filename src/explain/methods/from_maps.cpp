#include "explain/methods/from_maps.h"

#include <fmt/format.h>

#include "base/error.h"

namespace fovea::explain {

Explanation of_tokens(const Subject& subject, bool is_signed,
                      const std::function<std::vector<double>(std::int64_t item)>& of_sample) {
  if (!subject.reads_text()) return on_grid(subject, subject.grid(), is_signed, of_sample);
  Explanation result{{}, subject.size(), is_signed};
  for (std::int64_t item = 0; item < subject.batch(); ++item) {
    const std::vector<double> words = of_sample(item);
    std::size_t next = 0;
    for (std::int64_t j = 0; j < result.grid.w; ++j) {
      const bool valid = subject.valid()[static_cast<std::size_t>(item * result.grid.w + j)] != 0;
      result.values.push_back(valid ? words.at(next++) : 0);
    }
  }
  return result;
}

Explanation on_grid(const Subject& subject, GridSize grid, bool is_signed,
                    const std::function<std::vector<double>(std::int64_t item)>& of_sample) {
  Explanation result{{}, grid, is_signed};
  for (std::int64_t item = 0; item < subject.batch(); ++item) {
    const std::vector<double> patches = of_sample(item);
    FOVEA_CHECK(
        std::ssize(patches) == grid.count(), ShapeError,
        fmt::format("explanation: {} values on a grid of {} x {}", patches.size(), grid.h, grid.w));
    result.values.insert(result.values.end(), patches.begin(), patches.end());
  }
  return result;
}

void check_one_grid(const Recording& recording, const std::string& method) {
  FOVEA_CHECK(recording.one_grid, ConfigError,
              fmt::format("{}: the network has grids of several sizes, windows or reduced keys; "
                          "expected one where all blocks see the same tokens",
                          method));
}

Explanation of_layer(const Subject& subject, const RecordedLayer& layer, Weighing weighing) {
  return on_grid(subject, layer.grid, weighing == Weighing::kSignedGradient,
                 [&](std::int64_t item) {
                   const auto n = static_cast<std::size_t>(layer.grid.count());
                   return token_map_of(layer, item, weighing)
                       .times(std::vector<double>(n, 1 / static_cast<double>(n)));
                 });
}

}  // namespace fovea::explain
