// Noise on samples, for training and for measuring robustness (dgsa section 8): the keys of an
// experiment file, and the draw of training noise. The types themselves are in corruptions.h
// (images) and text_noise.h.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schema/fields.h"
#include "tensor/random.h"

namespace fovea::data {

/// A type of noise by its name, with a level in (0, 1).
struct NoiseLevel {
  std::string type;
  double level = 0.1;
};

/// Which types and levels are used, and how often.
struct Noise {
  std::string preset = {};  // "noisy_train": the types of NoiseKind::preset
  std::vector<std::string> types = {};
  std::vector<double> levels = {0.1, 0.2, 0.3, 0.4, 0.5};
  double prob = 0.5;  // training only
  double fill = 0.0;  // of images: grey value of an occlusion

  bool empty() const { return types.empty() || levels.empty(); }
};

/// The noise of a kind of data.
struct NoiseKind {
  std::vector<std::string> types;   // all there are
  std::vector<std::string> preset;  // those of "noisy_train"
  std::string level_help;           // what a level means
  bool has_fill = false;
};

struct NoiseBySplit {
  Noise train;
  Noise eval;  // the grid that a robustness evaluation walks through; never applied by itself
};
/// The keys of dataset.noise.
schema::Fields<NoiseBySplit> noise_fields(const NoiseKind& kind);

/// The noise with the types of its preset filled in.
Noise resolved(Noise noise, const NoiseKind& kind);

/// The index of a type by its name; `what` is the word for a type. Throws ConfigError with the
/// nearest name.
std::size_t find_noise_type(const char* what, std::string_view name,
                            std::span<const std::string_view> names);

/// Training noise: with probability `prob` one type and one level, drawn uniformly.
std::optional<NoiseLevel> draw_noise(const Noise& noise, const RandomStream& stream);

}  // namespace fovea::data
