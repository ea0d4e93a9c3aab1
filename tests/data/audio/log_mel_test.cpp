#include "data/audio/log_mel.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <numbers>

#include "base/error.h"

using namespace fovea;
using namespace fovea::data;

namespace {

std::vector<float> tone(double hertz, double rate, std::size_t samples) {
  std::vector<float> wave;
  for (std::size_t i = 0; i < samples; ++i)
    wave.push_back(
        static_cast<float>(std::sin(2 * std::numbers::pi * hertz * static_cast<double>(i) / rate)));
  return wave;
}

}  // namespace

TEST_CASE("fft: powers are those of the sum written out", "[data]") {
  for (const std::int64_t n : {2, 4, 8, 64}) {
    CAPTURE(n);
    std::vector<double> x, power(static_cast<std::size_t>(n / 2 + 1));
    for (std::int64_t i = 0; i < n; ++i)
      x.push_back(std::sin(1.7 * static_cast<double>(i * i)) + 0.3);
    const RealFft fft(n);
    std::vector<std::complex<double>> scratch;
    fft.power(x.data(), power.data(), scratch);
    CHECK(fft.bins() == n / 2 + 1);
    for (std::int64_t k = 0; k < fft.bins(); ++k) {
      std::complex<double> sum = 0;
      for (std::int64_t i = 0; i < n; ++i)
        sum += x[static_cast<std::size_t>(i)] *
               std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(k * i) /
                                   static_cast<double>(n));
      CHECK(power[static_cast<std::size_t>(k)] == Approx(std::norm(sum)).margin(1e-11));
    }
  }
  CHECK_THROWS_WITH(RealFft(12), "fft: 12 points; expected a power of two, 2 or more");
  CHECK_THROWS_AS(RealFft(1), ConfigError);
}

TEST_CASE("log_mel: a tone is loudest in the band around it", "[data]") {
  const LogMel features(plan_log_mel({.num_mels = 40}, 8000));
  CHECK(features.plan().win_length == 200);
  CHECK(features.plan().hop_length == 80);
  CHECK(features.plan().n_fft == 256);
  const std::vector<double>& shares = features.filterbank();
  for (const double hertz : {300.0, 1000.0, 2500.0}) {
    const std::vector<float> y = features(tone(hertz, 8000, 2000));
    REQUIRE(std::ssize(y) == 40 * features.frames_of(2000));
    const auto loudest = std::max_element(y.begin() + 80, y.begin() + 120) - (y.begin() + 80);
    // The band whose triangle takes most of the nearest bin.
    const auto bin = static_cast<std::int64_t>(std::lround(hertz / 8000 * 256));
    std::int64_t best = 0;
    for (std::int64_t m = 1; m < 40; ++m) {
      const auto share = [&](std::int64_t band) {
        return shares[static_cast<std::size_t>(band * features.bins() + bin)];
      };
      if (share(m) > share(best)) best = m;
    }
    CHECK(std::abs(loudest - best) <= 1);
  }
}

TEST_CASE("log_mel: frames lie inside the recording", "[data]") {
  const LogMel features(plan_log_mel({}, 16000));
  CHECK(features.frames_of(399) == 0);
  CHECK(features.frames_of(400) == 1);
  CHECK(features.frames_of(559) == 1);
  CHECK(features.frames_of(560) == 2);
  CHECK(features(std::vector<float>(399)).empty());
  // Silence has the least power there is.
  for (const float value : features(std::vector<float>(400)))
    CHECK(value == Approx(std::log(1e-10)));
}

TEST_CASE("log_mel: a shorter recording has the frames of the longer one", "[data]") {
  const LogMel features(plan_log_mel({.num_mels = 20}, 8000));
  const std::vector<float> wave = tone(440, 8000, 1500);
  const std::vector<float> all = features(wave);
  const std::vector<float> first = features(std::span(wave).first(700));
  REQUIRE(first.size() < all.size());
  CHECK(std::equal(first.begin(), first.end(), all.begin()));
}

TEST_CASE("log_mel: plans that make no sense are refused", "[data]") {
  CHECK_THROWS_WITH(plan_log_mel({.hop_ms = 0.01}, 8000),
                    "dataset.features.hop_ms: 0.01 ms at 8000 Hz; expected one sample or more");
  CHECK_THROWS_WITH(LogMel(plan_log_mel({.f_max = 5000}, 8000)),
                    "log_mel: bands from 20 to 5000 Hz; expected 0 to at most 4000, half the "
                    "sample rate");
  LogMelPlan plan;
  plan.n_fft = 256;
  CHECK_THROWS_WITH(LogMel(plan), "log_mel: the window has 400 samples; expected 1 to n_fft, 256");
}

TEST_CASE("normalise_channels: mean 0 and deviation 1 in every channel", "[data]") {
  std::vector<float> x = {1, 10, 3, 10, 5, 10};
  normalise_channels(x, 2);
  CHECK(x[0] == Approx(-1.22474).epsilon(1e-4));
  CHECK(x[2] == Approx(0).margin(1e-6));
  CHECK(x[4] == Approx(1.22474).epsilon(1e-4));
  CHECK(x[1] == 0);  // constant channels stay finite
  std::vector<float> none;
  normalise_channels(none, 2);
  CHECK(none.empty());
}
