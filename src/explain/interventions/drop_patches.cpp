#include "explain/interventions/drop_patches.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "base/shown.h"
#include "base/suggest.h"
#include "explain/maps/tokens.h"

namespace fovea::explain {
namespace {

[[noreturn]] void refuse_patches(const std::string& text, const std::string& why) {
  throw ConfigError(
      fmt::format("--drop-patches {}: {}; expected numbers and ranges of patches, for example "
                  "12,13,30-41, or a share of them from 0% to 100%, for example 50%",
                  shown(text), why));
}

double share_of(const std::string& text) {
  double percent = 0;
  const char* const end = text.data() + text.size() - 1;  // "%"
  const auto [stop, error] = std::from_chars(text.data(), end, percent);
  if (error != std::errc() || stop != end || !(percent >= 0 && percent <= 100))
    refuse_patches(text, "is no share");
  return percent / 100;
}

Baseline baseline_named(const std::string& word) {
  std::vector<std::string> names;
  for (const auto& [name, baseline] : baselines()) {
    if (name == word) return baseline;
    names.push_back(name);
  }
  throw ConfigError(fmt::format("--baseline {}: no such baseline{} (known: {})", shown(word),
                                did_you_mean(word, names), fmt::join(names, ", ")));
}

}  // namespace

std::string PatchDrop::described() const {
  std::string name;
  for (const auto& [known, kind] : baselines())
    if (kind == baseline.baseline) name = known;
  return fmt::format("{}, {}{}", text, name, share ? fmt::format(", seed {}", seed) : "");
}

PatchDrop patch_drop(const std::string& text, const std::string& baseline, std::uint64_t seed) {
  PatchDrop drop{.baseline = {.baseline = baseline_named(baseline)}, .seed = seed, .text = text};
  if (text.ends_with('%')) {
    drop.share = share_of(text);
    return drop;
  }
  drop.ranges = number_ranges(text, [&](const std::string& word) {
    refuse_patches(text, fmt::format("\"{}\" is no patch and no range of patches", shown(word)));
  });
  return drop;
}

std::vector<std::int64_t> dropped_patches(const PatchDrop& drop, const Units& units,
                                          const RandomStream& sample) {
  std::vector<std::int64_t> patches;
  if (drop.share) {
    const auto count = std::llround(*drop.share * static_cast<double>(units.count()));
    patches = sample.permutation(units.count());
    patches.resize(as_index(count));
  }
  for (const auto& [first, last] : drop.ranges) {
    FOVEA_CHECK(last < units.count(), ConfigError,
                fmt::format("--drop-patches {}: no patch {}; images of {} x {} pixels have {} x {} "
                            "patches here, 0 to {}",
                            drop.text, last, units.height, units.width, units.rows, units.cols,
                            units.count() - 1));
    for (std::int64_t patch = first; patch <= last; ++patch) patches.push_back(patch);
  }
  std::ranges::sort(patches);
  patches.erase(std::unique(patches.begin(), patches.end()), patches.end());
  return patches;
}

RandomStream drawing_patches(const PatchDrop& drop, std::int64_t i) {
  return RandomStream(drop.seed).fork("drop patches").fork(static_cast<std::uint64_t>(i));
}

Tensor without_patches(const Tensor& images, const PatchDrop& drop, GridSize patches,
                       const Colours& colours, const std::vector<RandomStream>& samples) {
  const Units units = units_of(patches, {images.size(2), images.size(3)});
  const std::vector<std::int64_t> unit_of_pixel = units.of_pixels();
  std::vector<float> values;
  for (std::int64_t i = 0; i < images.size(0); ++i) {
    Image image = image_at(images, i);
    const Image base = baseline_image(image, drop.baseline, colours);
    std::vector<bool> gone(as_index(units.count()), false);
    for (const std::int64_t patch : dropped_patches(drop, units, samples[as_index(i)]))
      gone[as_index(patch)] = true;
    for (std::size_t p = 0; p < image.values.size(); ++p) {
      if (gone[as_index(unit_of_pixel[p % unit_of_pixel.size()])]) image.values[p] = base.values[p];
    }
    values.insert(values.end(), image.values.begin(), image.values.end());
  }
  return Tensor::from(values, images.shape(), images.device());
}

}  // namespace fovea::explain
