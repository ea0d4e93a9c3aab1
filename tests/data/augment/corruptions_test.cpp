#include "data/augment/corruptions.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "base/error.h"

using namespace fovea;
using namespace fovea::data;

namespace {

struct Picture {
  std::vector<float> values;
  Planes planes;
  Picture(std::int64_t c, std::int64_t h, std::int64_t w, float constant)
      : values(static_cast<std::size_t>(c * h * w), constant), planes{c, h, w, values.data()} {}
  Picture(std::int64_t c, std::int64_t h, std::int64_t w) : Picture(c, h, w, 0.0f) {
    const RandomStream stream(5);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = stream.uniform(i);
  }
  Picture(const Picture& other) : values(other.values), planes(other.planes) {
    planes.data = values.data();
  }
  double mean() const {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  }
  double deviation() const {
    const double m = mean();
    double sum = 0.0;
    for (const float v : values) sum += (double{v} - m) * (double{v} - m);
    return std::sqrt(sum / static_cast<double>(values.size()));
  }
};

}  // namespace

TEST_CASE("corrupt: every type stays in [0, 1], changes the image, and repeats itself", "[data]") {
  const auto size = GENERATE(std::pair{12, 10}, std::pair{1, 1}, std::pair{3, 17});
  for (const Corruption type : all_corruptions()) {
    for (const double level : {0.1, 0.5, 0.93}) {
      INFO(name_of(type) << " at " << level);
      const Picture original(3, size.first, size.second);
      Picture a = original;
      Picture b = original;
      corrupt(a.planes, {type, level}, RandomStream(3));
      corrupt(b.planes, {type, level}, RandomStream(3));
      CHECK(a.values == b.values);
      CHECK(*std::min_element(a.values.begin(), a.values.end()) >= 0.0f);
      CHECK(*std::max_element(a.values.begin(), a.values.end()) <= 1.0f);
      if (size.first > 1) CHECK(a.values != original.values);
    }
  }
}

TEST_CASE("corrupt: other streams and levels draw other noise", "[data]") {
  for (const Corruption type : {Corruption::kGaussian, Corruption::kShot, Corruption::kSaltPepper,
                                Corruption::kImpulse, Corruption::kSpeckle}) {
    INFO(name_of(type));
    Picture a(1, 8, 8);
    Picture b = a;
    corrupt(a.planes, {type, 0.3}, RandomStream(1));
    corrupt(b.planes, {type, 0.3}, RandomStream(2));
    CHECK(a.values != b.values);
  }
  // The draws depend on the level too: two levels are not scaled copies of one field.
  Picture low(1, 8, 8, 0.5f);
  Picture high(1, 8, 8, 0.5f);
  corrupt(low.planes, {Corruption::kGaussian, 0.01}, RandomStream(1));
  corrupt(high.planes, {Corruption::kGaussian, 0.02}, RandomStream(1));
  CHECK(std::abs((high.values[0] - 0.5f) - 2.0f * (low.values[0] - 0.5f)) > 1e-4f);
}

TEST_CASE("corruptions: moments of the random types", "[data]") {
  const double s = 0.1;
  const double x = 0.5;
  const auto draw = [&](Corruption type) {
    Picture p(1, 128, 128, static_cast<float>(x));
    corrupt(p.planes, {type, s}, RandomStream(11));
    return p;
  };
  CHECK(draw(Corruption::kGaussian).mean() == Approx(x).margin(0.004));
  CHECK(draw(Corruption::kGaussian).deviation() == Approx(s).epsilon(0.03));
  CHECK(draw(Corruption::kSpeckle).deviation() == Approx(s * x).epsilon(0.03));
  CHECK(draw(Corruption::kShot).mean() == Approx(x).margin(0.004));
  CHECK(draw(Corruption::kShot).deviation() == Approx(s * std::sqrt(x)).epsilon(0.03));
  for (const Corruption type : {Corruption::kSaltPepper, Corruption::kImpulse}) {
    const Picture p = draw(type);
    const auto share = [&](float value) {
      return static_cast<double>(std::count(p.values.begin(), p.values.end(), value)) /
             (128.0 * 128.0);
    };
    CHECK(share(0.0f) == Approx(s / 2).margin(0.008));
    CHECK(share(1.0f) == Approx(s / 2).margin(0.008));
  }
}

TEST_CASE("shot: counts for given uniforms, also where exp(-mean) underflows", "[data]") {
  // c = 4, mean 2: cumulative 0.1353, 0.4060, 0.6767, 0.8571, ...
  std::vector<float> x(4, 0.5f);
  shot({1, 1, 4, x.data()}, 0.5, std::vector<float>{0.0f, 0.2f, 0.5f, 0.8f});
  CHECK(x == std::vector<float>{0.0f, 0.25f, 0.5f, 0.75f});
  // c = 10,000, mean 5,000: the median lies beside the mean.
  std::vector<float> fine(1, 0.5f);
  shot({1, 1, 1, fine.data()}, 0.01, std::vector<float>{0.5f});
  CHECK(fine[0] == Approx(0.5f).margin(2e-4));
}

TEST_CASE("salt_pepper: all channels of a pixel change together, impulse's do not", "[data]") {
  Picture p(3, 16, 16, 0.5f);
  corrupt(p.planes, {Corruption::kSaltPepper, 0.4}, RandomStream(2));
  for (std::size_t i = 0; i < 256; ++i) {
    CHECK(p.values[i] == p.values[i + 256]);
    CHECK(p.values[i] == p.values[i + 512]);
  }
  Picture q(3, 16, 16, 0.5f);
  corrupt(q.planes, {Corruption::kImpulse, 0.4}, RandomStream(2));
  CHECK_FALSE(std::equal(q.values.begin(), q.values.begin() + 256, q.values.begin() + 256));
}

TEST_CASE("blurs: constants stay, an impulse keeps its mass and its direction", "[data]") {
  for (const Corruption type : {Corruption::kGaussianBlur, Corruption::kMotionBlur}) {
    Picture flat(2, 9, 7, 0.25f);
    corrupt(flat.planes, {type, 0.3}, RandomStream(1));
    for (const float v : flat.values) CHECK(v == Approx(0.25f).epsilon(1e-6));
  }
  Picture dot(1, 21, 21, 0.0f);
  dot.values[10 * 21 + 10] = 1.0f;
  Picture gauss = dot;
  gaussian_blur(gauss.planes, 0.25);  // sigma 1, radius 4
  CHECK(gauss.mean() * 441.0 == Approx(1.0).epsilon(1e-5));
  CHECK(gauss.values[10 * 21 + 14] > 0.0f);
  CHECK(gauss.values[10 * 21 + 15] == 0.0f);
  const int steps[4][2] = {{0, 1}, {-1, 1}, {1, 0}, {1, 1}};
  for (std::size_t a = 0; a < 4; ++a) {
    Picture motion = dot;
    motion_blur(motion.planes, 0.2, (static_cast<double>(a) + 0.5) / 4.0);  // five samples
    const auto at = [&](int k) {
      return motion
          .values[static_cast<std::size_t>((10 + k * steps[a][0]) * 21 + 10 + k * steps[a][1])];
    };
    CHECK(at(2) == Approx(0.2f));
    CHECK(at(-2) == Approx(0.2f));
    CHECK(at(3) == 0.0f);
  }
}

TEST_CASE("occlusion: one square of the right size inside the image", "[data]") {
  for (const double u : {0.0, 0.5, 0.999999}) {
    Picture p(2, 8, 10, 1.0f);
    occlusion(p.planes, 0.3, u, u, 0.5);  // side floor(sqrt(24) + 0.5) = 5
    CHECK(std::count(p.values.begin(), p.values.end(), 0.5f) == 2 * 25);
  }
  Picture thin(1, 2, 50, 1.0f);
  occlusion(thin.planes, 0.9, 0.7, 0.7);  // side 9, cut to height 2
  CHECK(std::count(thin.values.begin(), thin.values.end(), 0.0f) == 18);
}

TEST_CASE("contrast and brightness: exact values", "[data]") {
  std::vector<float> x = {0.0f, 1.0f, 0.25f, 0.25f};  // two channels
  contrast({2, 1, 2, x.data()}, 0.5);
  CHECK(x == std::vector<float>{0.25f, 0.75f, 0.25f, 0.25f});
  std::vector<float> y = {0.25f, 0.9f};
  brightness({1, 1, 2, y.data()}, 0.5);
  CHECK(y == std::vector<float>{0.75f, 1.0f});
}

TEST_CASE("draw_noise: probability, and every pair is drawn", "[data]") {
  Noise noise = resolved({.preset = "noisy_train"}, image_noise());
  CHECK(noise.types.size() * noise.levels.size() == 30);
  const auto apply_noise = [&](Planes x, const RandomStream& stream) {
    const auto drawn = draw_noise(noise, stream);
    if (drawn) corrupt(x, *drawn, stream, noise.fill);
    return drawn.has_value();
  };
  int corrupted = 0;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    Picture p(1, 1, 1, 0.5f);
    corrupted += apply_noise(p.planes, RandomStream(9).fork(i)) ? 1 : 0;
  }
  CHECK(corrupted == Approx(1000).margin(80));
  noise = {.types = {"brightness"}, .levels = {0.125, 0.25, 0.375}, .prob = 1.0};
  std::set<float> seen;
  for (std::uint64_t i = 0; i < 64; ++i) {
    Picture p(1, 1, 1, 0.5f);
    apply_noise(p.planes, RandomStream(9).fork(i));
    seen.insert(p.values[0]);
  }
  CHECK(seen == std::set<float>{0.625f, 0.75f, 0.875f});
  noise.prob = 0.0;
  Picture p(1, 1, 1, 0.5f);
  CHECK_FALSE(apply_noise(p.planes, RandomStream(9)));
}

TEST_CASE("corruptions: wrong names, levels and fields are refused", "[data]") {
  CHECK(corruption_from_name("motion_blur") == Corruption::kMotionBlur);
  CHECK_THROWS_WITH(corruption_from_name("gausian"), Catch::Contains("did you mean \"gaussian\"?"));
  Picture p(1, 2, 2);
  CHECK_THROWS_AS(corrupt(p.planes, {Corruption::kShot, 0.0}, RandomStream(1)), ConfigError);
  CHECK_THROWS_AS(corrupt(p.planes, {Corruption::kShot, 1.0}, RandomStream(1)), ConfigError);
  CHECK_THROWS_AS(gaussian(p.planes, 0.1, std::vector<float>(3)), ShapeError);
}
