#include "explain/methods/from_maps.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace fovea::explain {
namespace {

// How much of an output is read from each row of a grid, sum 1.
std::vector<double> rows_read(const Subject& subject, const GridSize& grid, std::int64_t item,
                              const LayerMaps& maps) {
  if (subject.has_region() && !maps.of_score) return subject.shares_of_region(grid, item);
  return std::vector<double>(as_index(grid.count()), 1 / static_cast<double>(grid.count()));
}

// The first stage that the output is read from; all behind it are, too, in equal parts. A
// classifier reads the last one alone, and so does a network of pixels that ends in a decoder of
// attention. One whose decoder has no attention reads every level of its encoder (ours).
std::size_t first_read(const Subject& subject, const std::vector<StageMaps>& stages) {
  const bool decodes = std::any_of(stages.begin(), stages.end(),
                                   [](const StageMaps& stage) { return stage.skip.has_value(); });
  return subject.segments() && !decodes ? 0 : stages.size() - 1;
}

}  // namespace

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
        fmt::format("explanation: {} values on a grid of {}", patches.size(), text_of(grid)));
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

LayerMaps weighed_maps(Weighing weighing) {
  return {[weighing](const RecordedLayer& layer, std::int64_t item) {
            return token_map_of(layer, item, weighing);
          },
          weighing == Weighing::kSignedGradient,
          weighing != Weighing::kRollout && weighing != Weighing::kWeights};
}

Explanation of_layer(const Subject& subject, const RecordedLayer& layer, const LayerMaps& maps) {
  FOVEA_CHECK(
      layer.grid.count() > 0, ConfigError,
      fmt::format("explanation: the tokens of {} lie on no grid that is known; expected one",
                  layer.module));
  return on_grid(subject, layer.grid, maps.is_signed, [&](std::int64_t item) {
    return maps.of(layer, item).times(rows_read(subject, layer.grid, item, maps));
  });
}

Explanation of_stages(const Subject& subject, const Recording& recording, const LayerMaps& maps,
                      StageRule rule, const std::string& method) {
  return on_grid(subject, recording.layers.front().grid, maps.is_signed, [&](std::int64_t item) {
    const std::vector<StageMaps> stages = stages_of(recording, item, maps.of, method);
    const std::size_t first = first_read(subject, stages);
    std::vector<std::vector<double>> readings(stages.size());
    for (std::size_t s = first; s < stages.size(); ++s) {
      readings[s] = rows_read(subject, stages[s].grid, item, maps);
      for (double& weight : readings[s]) weight /= static_cast<double>(stages.size() - first);
    }
    return through_stages(stages, rule, std::move(readings));
  });
}

}  // namespace fovea::explain
