#include "data/audio/resample.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <numbers>

#include "base/error.h"

using namespace fovea;
using namespace fovea::data;

namespace {

std::vector<float> sine(double hertz, double rate, std::int64_t samples) {
  std::vector<float> wave;
  for (std::int64_t i = 0; i < samples; ++i)
    wave.push_back(
        static_cast<float>(std::sin(2 * std::numbers::pi * hertz * static_cast<double>(i) / rate)));
  return wave;
}

double loudness(const std::vector<float>& x) {
  double sum = 0;
  for (const float value : x) sum += double{value} * double{value};
  return std::sqrt(sum / static_cast<double>(x.size()));
}

}  // namespace

TEST_CASE("resample: a tone stays that tone at every rate", "[data]") {
  for (const auto& [from, to] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {8000, 16000}, {16000, 8000}, {44100, 16000}, {48000, 44100}, {8000, 7919}}) {
    CAPTURE(from, to);
    const std::int64_t n = from / 5;
    const std::vector<float> y = resample(sine(1000, static_cast<double>(from), n), from, to);
    CHECK(std::ssize(y) == resampled_count(n, from, to));
    const std::vector<float> expected = sine(1000, static_cast<double>(to), std::ssize(y));
    double worst = 0;
    // (The ends hear the silence around the recording.)
    for (std::size_t i = y.size() / 4; i < 3 * y.size() / 4; ++i)
      worst = std::max(worst, std::abs(double{y[i]} - double{expected[i]}));
    CHECK(worst < 2e-3);
  }
}

TEST_CASE("resample: what the lower rate cannot hold is gone, not folded", "[data]") {
  const std::vector<float> y = resample(sine(6000, 16000, 16000), 16000, 8000);
  CHECK(loudness({y.begin() + 1000, y.end() - 1000}) < 1e-3);
}

TEST_CASE("resample: constants, lengths and equal rates", "[data]") {
  const std::vector<float> ones(3000, 1.0f);
  const std::vector<float> y = resample(ones, 3, 2);
  CHECK(y.size() == 2000);
  CHECK(y[1000] == Approx(1).epsilon(1e-5));
  CHECK(resample(ones, 16000, 16000) == ones);
  CHECK(resample(std::vector<float>{}, 8000, 16000).empty());
  CHECK(resampled_count(1, 48000, 8000) == 1);
  CHECK_THROWS_WITH(resample(ones, 0, 8000), "resample: 0 Hz to 8000 Hz; expected 1 or more");
}
