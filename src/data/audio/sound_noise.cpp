#include "data/audio/sound_noise.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>

#include "base/error.h"

namespace fovea::data {
namespace {

constexpr std::array<std::string_view, 1> kSoundNoises = {"white"};

}  // namespace

void corrupt_sound(std::span<float> samples, const NoiseLevel& what, const RandomStream& stream) {
  find_noise_type("corruption of recordings", what.type, kSoundNoises);
  FOVEA_CHECK(what.level > 0.0 && what.level < 1.0, ConfigError,
              fmt::format("{}: level {} is outside (0, 1)", what.type, what.level));
  double squares = 0;
  for (const float sample : samples)
    squares += static_cast<double>(sample) * static_cast<double>(sample);
  if (samples.empty()) return;
  const double rms = std::sqrt(squares / static_cast<double>(samples.size()));
  const RandomStream draws = stream.fork(what.type).fork(std::bit_cast<std::uint64_t>(what.level));
  for (std::size_t i = 0; i < samples.size(); ++i)
    samples[i] += static_cast<float>(what.level * rms * draws.normal(i));
}

const NoiseKind& sound_noise() {
  static const NoiseKind kind{{kSoundNoises.begin(), kSoundNoises.end()},
                              {"white"},
                              ": root mean square of the noise over that of the recording",
                              false};
  return kind;
}

}  // namespace fovea::data
