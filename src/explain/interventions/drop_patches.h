// Patches of an image that are removed before a network sees it: --drop-patches. Drawn at random
// for every sample they are the PatchDrop of Naseer et al., Intriguing properties of vision
// transformers, 2021.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "explain/baselines.h"
#include "explain/interventions/number_ranges.h"
#include "explain/maps/token_map.h"
#include "explain/units.h"
#include "tensor/random.h"

namespace fovea::explain {

/// Which patches go, and what stands in their place. They stay tokens: a baseline replaces their
/// pixels.
struct PatchDrop {
  std::vector<NumberRange> ranges = {};  // of patches
  std::optional<double> share = {};      // drawn for every sample
  BaselineOptions baseline = {};
  std::uint64_t seed = 1;
  std::string text = {};  // as it was given

  /// "12,13,30-41, zero", "50%, zero, seed 1": for records and pictures.
  std::string described() const;
};

/// Numbers and ranges of patches, row by row from 0, apart by commas, "12,13,30-41", or a share of
/// them, "50%". `baseline`: a word of Baseline. Throws ConfigError, which names --drop-patches or
/// --baseline.
PatchDrop patch_drop(const std::string& text, const std::string& baseline, std::uint64_t seed);

/// The numbers of patches that go, ascending. Of a share, round(share x count) that `sample` draws;
/// those of a smaller share are among those of a larger one. Throws ConfigError for a number that
/// is not there.
std::vector<std::int64_t> dropped_patches(const PatchDrop& drop, const Units& units,
                                          const RandomStream& sample);
/// What draws the patches of sample i of a split, the same for every run.
RandomStream drawing_patches(const PatchDrop& drop, std::int64_t i);

/// The images (b, c, h, w), of samples that draw by these streams, with the baseline in place of
/// dropped patches. `patches`: as for units_of() (units.h).
Tensor without_patches(const Tensor& images, const PatchDrop& drop, GridSize patches,
                       const Colours& colours, const std::vector<RandomStream>& samples);

}  // namespace fovea::explain
