#include "data/augment/noise.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>

#include "base/error.h"
#include "base/suggest.h"

namespace fovea::data {
namespace {

using schema::Fields;

Fields<Noise> one_split(const NoiseKind& kind, bool train) {
  Fields<Noise> fields;
  if (train) {
    fields.add("preset", &Noise::preset, schema::one_of({"", "noisy_train"}),
               fmt::format("\"noisy_train\": types {}", fmt::join(kind.preset, ", ")));
  }
  fields
      .add("types", &Noise::types, schema::one_of(kind.types),
           "corruptions to draw from; empty: no noise")
      .add("levels", &Noise::levels, schema::greater_than(0) && schema::less_than(1),
           "levels to draw from" + kind.level_help);
  if (kind.has_fill)
    fields.add("fill", &Noise::fill, schema::in_range(0, 1), "grey value of an occlusion");
  if (train) {
    fields
        .add("prob", &Noise::prob, schema::in_range(0, 1), "share of the samples that is corrupted")
        .check([](const Noise& o) {
          return o.preset.empty() || o.types.empty()
                     ? std::string()
                     : std::string("preset and types are both given; choose one");
        });
  }
  return fields;
}

}  // namespace

Fields<NoiseBySplit> noise_fields(const NoiseKind& kind) {
  return Fields<NoiseBySplit>{}
      .add_object("train", &NoiseBySplit::train, one_split(kind, true),
                  "noise on training samples, drawn anew in every epoch")
      .add_object("eval", &NoiseBySplit::eval, one_split(kind, false),
                  "the types and levels that a robustness evaluation walks through")
      .no_effect();  // only eval reads it
}

Noise resolved(Noise noise, const NoiseKind& kind) {
  if (!noise.preset.empty()) noise.types = kind.preset;
  return noise;
}

std::optional<NoiseLevel> draw_noise(const Noise& noise, const RandomStream& stream) {
  if (noise.empty()) return std::nullopt;
  const RandomStream choice = stream.fork("choice");
  if (double{choice.uniform(0)} >= noise.prob) return std::nullopt;
  const auto pick = [&](std::size_t size, std::uint64_t counter) {
    return static_cast<std::size_t>(choice.below(static_cast<std::int64_t>(size), counter));
  };
  // Counter 1 of below() uses words 2 and 3, clear of the word of the decision above.
  const std::string& type = noise.types[pick(noise.types.size(), 1)];
  return NoiseLevel{type, noise.levels[pick(noise.levels.size(), 2)]};
}

std::size_t find_noise_type(const char* what, std::string_view name,
                            std::span<const std::string_view> names) {
  const auto found = std::find(names.begin(), names.end(), name);
  FOVEA_CHECK(found != names.end(), ConfigError,
              fmt::format("no {} called \"{}\"{} (known: {})", what, name,
                          did_you_mean(name, {names.begin(), names.end()}),
                          fmt::join(names, ", ")));
  return static_cast<std::size_t>(found - names.begin());
}

}  // namespace fovea::data
