// What a score loses with each patch, window or word. explain A.15.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "explain/methods/places.h"
#include "ops/shape.h"
#include "tensor/host.h"

namespace fovea::explain {
namespace {

enum class Watched { kLogit, kProbability };

struct OcclusionOptions : BaselineOptions {
  std::optional<std::vector<std::int64_t>> units;
  std::optional<std::int64_t> window, stride;
  Watched score = Watched::kLogit;
};

struct Box {
  std::int64_t top, bottom, left, right;  // behind the last row and column
  std::int64_t front = 0, back = 1;       // slices
};

// The blocks of a grid: rows from floor(i h / rows), columns and slices likewise.
std::vector<Box> blocks_of(const GridSize& size, const GridSize& units) {
  std::vector<Box> boxes;
  for (std::int64_t k = 0; k < units.d; ++k) {
    for (std::int64_t i = 0; i < units.h; ++i) {
      for (std::int64_t j = 0; j < units.w; ++j)
        boxes.push_back({i * size.h / units.h, (i + 1) * size.h / units.h, j * size.w / units.w,
                         (j + 1) * size.w / units.w, k * size.d / units.d,
                         (k + 1) * size.d / units.d});
    }
  }
  return boxes;
}

// Windows of a side, a stride apart; the last ones end with the image.
std::vector<Box> windows_of(const GridSize& size, std::int64_t window, std::int64_t stride) {
  const auto begins = [&](std::int64_t length) {
    std::vector<std::int64_t> all;
    for (std::int64_t i = 0; i + window < length; i += stride) all.push_back(i);
    all.push_back(std::max<std::int64_t>(0, length - window));
    return all;
  };
  std::vector<Box> boxes;
  for (const std::int64_t y : begins(size.h)) {
    for (const std::int64_t x : begins(size.w))
      boxes.push_back({y, std::min(y + window, size.h), x, std::min(x + window, size.w)});
  }
  return boxes;
}

// x with a box of the baseline. `size`: of an input; words are (n, dim) in place of (c, spatial).
std::vector<double> occluded(std::vector<double> x, const std::vector<double>& base,
                             const GridSize& size, std::int64_t channels, const Box& box,
                             bool words) {
  const std::int64_t places = size.count();
  const auto items = std::ssize(x) / (channels * places);
  for (std::int64_t i = 0; i < items; ++i) {
    for (std::int64_t c = 0; c < channels; ++c) {
      for (std::int64_t s = box.front; s < box.back; ++s) {
        for (std::int64_t y = box.top; y < box.bottom; ++y) {
          for (std::int64_t z = box.left; z < box.right; ++z) {
            const std::int64_t at = (s * size.h + y) * size.w + z;
            const std::int64_t place =
                words ? (i * places + at) * channels + c : (i * channels + c) * places + at;
            x[static_cast<std::size_t>(place)] = base[static_cast<std::size_t>(place)];
          }
        }
      }
    }
  }
  return x;
}

// Scores of the targets without each box: (boxes, b).
std::vector<double> scores_without(const ExplanationRequest& request, const OcclusionOptions& o,
                                   const std::vector<Box>& boxes) {
  const Subject& subject = request.subject;
  const Tensor& x = subject.x();
  const std::int64_t channels = x.size(subject.reads_text() ? 2 : 1);
  const std::vector<double> values = host_doubles(x);
  const std::vector<double> base = host_doubles(baseline_of(request, o, "occlusion"));
  std::vector<double> scores;
  for (std::size_t first = 0; first < boxes.size();) {
    const std::size_t count =
        std::min(static_cast<std::size_t>(groups_of(request)), boxes.size() - first);
    std::vector<double> all;
    for (std::size_t k = first; k < first + count; ++k) {
      const auto one =
          occluded(values, base, subject.size(), channels, boxes[k], subject.reads_text());
      all.insert(all.end(), one.begin(), one.end());
    }
    Shape shape = x.shape();
    shape[0] *= static_cast<std::int64_t>(count);
    const auto found = subject.target_scores(from_doubles(all, shape, x.dtype(), x.device()),
                                             request.targets, o.score == Watched::kProbability);
    scores.insert(scores.end(), found.begin(), found.end());
    first += count;
  }
  return scores;
}

GridSize units_of(const Subject& subject, const OcclusionOptions& o) {
  constexpr std::int64_t kUnits = 14, kUnitsOfVolume = 6;
  const GridSize size = subject.size();
  if (subject.reads_text()) return size;
  const bool volume = size.d > 1;
  if (o.units) {
    const std::vector<std::int64_t>& u = *o.units;
    FOVEA_CHECK(u.size() == (volume ? 3U : 2U), ConfigError,
                fmt::format("occlusion: units has {} numbers; expected {}", u.size(),
                            volume ? "3 for volumes" : "2 for images"));
    const GridSize given{u[u.size() - 2], u.back(), volume ? u[0] : 1};
    FOVEA_CHECK(given.d >= 1 && given.h >= 1 && given.w >= 1 && given.d <= size.d &&
                    given.h <= size.h && given.w <= size.w,
                ConfigError,
                fmt::format("occlusion: units are {}; expected from 1 to {}", text_of(given),
                            text_of(size)));
    return given;
  }
  if (subject.grid().count() > 0) return subject.grid();
  const std::int64_t most = volume ? kUnitsOfVolume : kUnits;
  return {std::min(most, size.h), std::min(most, size.w), std::min(most, size.d)};
}

Explanation occlusion(const ExplanationRequest& request, const OcclusionOptions& o) {
  const Subject& subject = request.subject;
  const bool probability = o.score == Watched::kProbability;
  FOVEA_CHECK(!probability || !subject.segments(), ConfigError,
              "occlusion: a segmentation has no probability of a class; expected score=logit");
  FOVEA_CHECK(!o.window || (!o.units && !subject.reads_text()), ConfigError,
              "occlusion: window is for images, and in place of units");
  FOVEA_CHECK(!o.window || subject.size().d == 1, ConfigError,
              "occlusion: window is for images; expected units for volumes");
  FOVEA_CHECK(o.window || !o.stride, ConfigError, "occlusion: stride is for windows; set window");
  const GridSize size = subject.size(), units = units_of(subject, o);
  const std::vector<Box> boxes =
      o.window ? windows_of(size, *o.window, o.stride.value_or(*o.window)) : blocks_of(size, units);
  const auto clean = subject.target_scores(subject.x(), request.targets, probability);
  const std::vector<double> without = scores_without(request, o, boxes);
  Explanation result{{}, o.window ? size : units, true};
  const std::size_t b = clean.size();
  for (std::size_t i = 0; i < b; ++i) {
    std::vector<double> map(static_cast<std::size_t>(result.grid.count()), 0.0);
    std::vector<double> covered(map.size(), 0.0);
    for (std::size_t k = 0; k < boxes.size(); ++k) {
      const double loss = clean[i] - without[k * b + i];
      if (!o.window) {
        const bool padding = subject.reads_text() && subject.valid()[i * map.size() + k] == 0;
        map[k] = padding ? 0 : loss;
        continue;
      }
      for (std::int64_t y = boxes[k].top; y < boxes[k].bottom; ++y) {
        for (std::int64_t x = boxes[k].left; x < boxes[k].right; ++x) {
          map[static_cast<std::size_t>(y * size.w + x)] += loss;
          covered[static_cast<std::size_t>(y * size.w + x)] += 1;
        }
      }
    }
    for (std::size_t j = 0; j < map.size(); ++j) {
      if (covered[j] > 0) map[j] /= covered[j];
    }
    result.values.insert(result.values.end(), map.begin(), map.end());
  }
  return result;
}

schema::Fields<OcclusionOptions> occlusion_fields() {
  schema::Fields<OcclusionOptions> fields;
  fields
      .add("units", &OcclusionOptions::units, schema::at_least(1),
           "rows and columns of equal blocks, of volumes slices, rows and columns; null = the "
           "patches of the network, else 14 x 14, of volumes 6 x 6 x 6")
      .add("window", &OcclusionOptions::window, schema::at_least(1),
           "side of windows in pixels, in place of units: a pixel's value is the mean over those "
           "that cover it")
      .add("stride", &OcclusionOptions::stride, schema::at_least(1),
           "pixels between windows; null = window");
  add_baseline(fields);
  fields.add_enum("score", &OcclusionOptions::score,
                  {{"logit", Watched::kLogit}, {"prob", Watched::kProbability}},
                  "what is watched: the logit of the class or its probability");
  return fields;
}

}  // namespace

FOVEA_EXPLANATION(occlusion,
                  {.title = "what the score loses without a patch or word",
                   .source = "Zeiler & Fergus, 2014"},
                  occlusion_fields(), occlusion)

}  // namespace fovea::explain
