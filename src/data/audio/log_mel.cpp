#include "data/audio/log_mel.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "data/audio/mel_scale.h"

namespace fovea::data {
namespace {

const LogMelPlan& checked(const LogMelPlan& p) {
  FOVEA_CHECK(p.sample_rate > 0 && p.hop_length > 0 && p.num_mels > 0, ConfigError,
              "log_mel: sample rate, hop and number of mel channels must be at least 1");
  FOVEA_CHECK(p.win_length > 0 && p.win_length <= p.n_fft, ConfigError,
              fmt::format("log_mel: the window has {} samples; expected 1 to n_fft, {}",
                          p.win_length, p.n_fft));
  const double nyquist = static_cast<double>(p.sample_rate) / 2;
  FOVEA_CHECK(p.f_min >= 0 && p.f_min < p.f_max && p.f_max <= nyquist, ConfigError,
              fmt::format("log_mel: bands from {} to {} Hz; expected 0 to at most {}, half the "
                          "sample rate",
                          p.f_min, p.f_max, nyquist));
  FOVEA_CHECK(p.floor > 0, ConfigError,
              fmt::format("log_mel: floor is {}; expected more than 0", p.floor));
  return p;
}

}  // namespace

schema::Fields<LogMelOptions> log_mel_fields() {
  using O = LogMelOptions;
  return schema::Fields<O>{}
      .add("num_mels", &O::num_mels, schema::at_least(1), "channels of the log-mel features")
      .add("win_ms", &O::win_ms, schema::greater_than(0), "milliseconds of a window")
      .add("hop_ms", &O::hop_ms, schema::greater_than(0), "milliseconds from frame to frame")
      .add("f_min", &O::f_min, schema::at_least(0), "hertz at which the lowest band begins")
      .add("f_max", &O::f_max, schema::greater_than(0),
           "hertz at which the highest band ends; null = half the sample rate")
      .add("floor", &O::floor, schema::greater_than(0), "least power, before the logarithm");
}

LogMelPlan plan_log_mel(const LogMelOptions& o, std::int64_t sample_rate) {
  const double rate = static_cast<double>(sample_rate);
  const auto samples = [&](const char* key, double ms) {
    const auto count = static_cast<std::int64_t>(std::lround(ms * rate / 1000));
    FOVEA_CHECK(count >= 1, ConfigError,
                fmt::format("dataset.features.{}: {} ms at {} Hz; expected one sample or more", key,
                            ms, sample_rate));
    return count;
  };
  LogMelPlan plan{.sample_rate = sample_rate,
                  .win_length = samples("win_ms", o.win_ms),
                  .hop_length = samples("hop_ms", o.hop_ms),
                  .num_mels = o.num_mels,
                  .f_min = o.f_min,
                  .f_max = o.f_max.value_or(rate / 2),
                  .floor = o.floor};
  plan.n_fft = std::max<std::int64_t>(
      2, static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(plan.win_length))));
  return plan;
}

LogMel::LogMel(const LogMelPlan& plan) : plan_(checked(plan)), fft_(plan.n_fft) {
  for (std::int64_t i = 0; i < plan_.win_length; ++i)
    window_.push_back(0.5 - 0.5 * std::cos(2 * std::numbers::pi * static_cast<double>(i) /
                                           static_cast<double>(plan_.win_length)));
  const auto corner = [&](std::int64_t i) { return band_corner(plan_, i); };
  for (std::int64_t m = 0; m < plan_.num_mels; ++m) {
    const double left = corner(m), top = corner(m + 1), right = corner(m + 2);
    Band band{bins(), 0};
    for (std::int64_t k = 0; k < bins(); ++k) {
      const double hertz = static_cast<double>(k) * static_cast<double>(plan_.sample_rate) /
                           static_cast<double>(plan_.n_fft);
      const double up = (hertz - left) / (top - left), down = (right - hertz) / (right - top);
      const double share = std::max(0.0, std::min(up, down));
      filters_.push_back(share);
      if (share == 0) continue;
      band.first = std::min(band.first, k);
      band.last = k + 1;
    }
    bands_.push_back(band);
  }
}

std::int64_t LogMel::frames_of(std::int64_t samples) const {
  if (samples < plan_.win_length) return 0;
  return 1 + (samples - plan_.win_length) / plan_.hop_length;
}

void LogMel::frame_power(std::span<const float> samples, std::int64_t frame,
                         std::vector<double>& room, std::vector<std::complex<double>>& scratch,
                         double* to) const {
  room.assign(static_cast<std::size_t>(plan_.n_fft), 0.0);
  const float* from = samples.data() + frame * plan_.hop_length;
  for (std::size_t i = 0; i < window_.size(); ++i)
    room[i] = window_[i] * static_cast<double>(from[i]);
  fft_.power(room.data(), to, scratch);
}

std::vector<double> LogMel::power(std::span<const float> samples) const {
  const std::int64_t frames = frames_of(std::ssize(samples));
  std::vector<double> all(static_cast<std::size_t>(frames * bins())), room;
  std::vector<std::complex<double>> scratch;
  for (std::int64_t frame = 0; frame < frames; ++frame)
    frame_power(samples, frame, room, scratch, all.data() + frame * bins());
  return all;
}

std::vector<float> LogMel::operator()(std::span<const float> samples) const {
  const std::int64_t frames = frames_of(std::ssize(samples));
  std::vector<float> features;
  features.reserve(static_cast<std::size_t>(frames * plan_.num_mels));
  std::vector<double> spectrum(static_cast<std::size_t>(bins())), room;
  std::vector<std::complex<double>> scratch;
  for (std::int64_t frame = 0; frame < frames; ++frame) {
    frame_power(samples, frame, room, scratch, spectrum.data());
    const double* shares = filters_.data();
    for (const Band& band : bands_) {
      double sum = 0;
      for (std::int64_t k = band.first; k < band.last; ++k)
        sum += shares[k] * spectrum[static_cast<std::size_t>(k)];
      features.push_back(static_cast<float>(std::log(std::max(sum, plan_.floor))));
      shares += bins();
    }
  }
  return features;
}

void normalise_channels(std::span<float> x, std::int64_t channels) {
  const std::int64_t frames = std::ssize(x) / channels;
  for (std::int64_t c = 0; c < channels && frames > 0; ++c) {
    const auto value = [&](std::int64_t t) -> float& {
      return x[static_cast<std::size_t>(t * channels + c)];
    };
    double sum = 0, squares = 0;
    for (std::int64_t t = 0; t < frames; ++t) sum += static_cast<double>(value(t));
    const double mean = sum / static_cast<double>(frames);
    for (std::int64_t t = 0; t < frames; ++t) {
      const double distance = static_cast<double>(value(t)) - mean;
      squares += distance * distance;
    }
    const double std = std::sqrt(squares / static_cast<double>(frames)) + 1e-5;
    for (std::int64_t t = 0; t < frames; ++t)
      value(t) = static_cast<float>((static_cast<double>(value(t)) - mean) / std);
  }
}

}  // namespace fovea::data
