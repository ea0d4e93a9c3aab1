// Shapes drawn by a generator: a small classification task that needs no file, for tests and first
// steps. Class, place, size and colours of sample i are functions of the seed and i.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string_view>

#include "data/registry.h"
#include "tensor/random.h"

namespace fovea::data {
namespace {

struct Options : ImageOptions {
  std::int64_t num_classes = 4;
  std::int64_t img_size = 16;
  std::int64_t in_chans = 3;
  std::int64_t train_size = 512;
  std::int64_t test_size = 128;
  double pixel_noise = 0.05;
  std::int64_t shape_seed = 0;
};

// Whether a point (y, x) in units of the radius, y downwards, lies on a shape.
struct ShapeClass {
  std::string_view name;
  bool (*covers)(double y, double x);
};

constexpr std::array<ShapeClass, 10> kShapes = {{
    {"disc", [](double y, double x) { return y * y + x * x <= 1.0; }},
    {"cross", [](double y, double x) { return std::min(std::abs(y), std::abs(x)) <= 0.3; }},
    {"frame", [](double y, double x) { return std::max(std::abs(y), std::abs(x)) >= 0.6; }},
    {"stripes", [](double y, double) { return std::abs(std::abs(y) - 0.65) <= 0.35; }},
    {"square", [](double, double) { return true; }},
    {"ring", [](double y, double x) { return std::abs(y * y + x * x - 0.7) <= 0.3; }},
    {"bars", [](double, double x) { return std::abs(std::abs(x) - 0.65) <= 0.35; }},
    {"triangle", [](double y, double x) { return 2.0 * std::abs(x) <= y + 1.0; }},
    {"diagonal", [](double y, double x) { return std::abs(y - x) <= 0.4; }},
    {"checker", [](double y, double x) { return (y < 0.0) == (x < 0.0); }},
}};

class Synthetic final : public Source {
 public:
  Synthetic(const Place& place, const Options& o)
      : o_(o),
        part_(name_of(place.split)),
        stream_(
            RandomStream(static_cast<std::uint64_t>(o.shape_seed)).fork("synthetic").fork(part_)) {
    for (std::int64_t k = 0; k < o.num_classes; ++k) {
      info_.class_names.emplace_back(kShapes[static_cast<std::size_t>(k)].name);
    }
    info_.channels = o.in_chans;
    info_.height = info_.width = o.img_size;
    info_.mean = {0.5};
    info_.std = {0.25};
    const std::int64_t count = place.split == Split::kTest ? o.test_size : o.train_size;
    for (std::int64_t i = 0; i < count; ++i) labels_.push_back(i % o.num_classes);
  }

  Image read(std::int64_t index) const override {
    const RandomStream draws = stream_.fork(static_cast<std::uint64_t>(index));
    const double side = static_cast<double>(o_.img_size);
    const double radius = side * (0.25 + 0.15 * double{draws.uniform(0)});
    const double top = radius + (side - 2.0 * radius) * double{draws.uniform(1)};
    const double left = radius + (side - 2.0 * radius) * double{draws.uniform(2)};
    const auto covers = kShapes[static_cast<std::size_t>(index % o_.num_classes)].covers;
    const RandomStream colours = draws.fork("colours");
    const RandomStream noise = draws.fork("noise");
    Image image{o_.img_size, o_.img_size, o_.in_chans, {}};
    for (std::int64_t i = 0; i < o_.img_size; ++i) {
      for (std::int64_t j = 0; j < o_.img_size; ++j) {
        const double y = (static_cast<double>(i) + 0.5 - top) / radius;
        const double x = (static_cast<double>(j) + 0.5 - left) / radius;
        const bool inside = std::abs(y) <= 1.0 && std::abs(x) <= 1.0 && covers(y, x);
        for (std::int64_t c = 0; c < o_.in_chans; ++c) {
          const double shade = double{colours.uniform(static_cast<std::uint64_t>(c))} * 0.3;
          const double value = (inside ? 0.65 + shade : 0.05 + shade) +
                               o_.pixel_noise * noise.normal(image.pixels.size());
          image.pixels.push_back(
              static_cast<std::uint8_t>(std::clamp(value * 255.0 + 0.5, 0.0, 255.0)));
        }
      }
    }
    return image;
  }

  std::string name(std::int64_t index) const override {
    return fmt::format("synthetic {}:{}", part_, index);
  }
  std::vector<std::filesystem::path> files() const override { return {}; }
  std::string recipe() const override {
    return fmt::format(
        "synthetic: num_classes {} img_size {} in_chans {} train_size {} "
        "test_size {} pixel_noise {} shape_seed {}",
        o_.num_classes, o_.img_size, o_.in_chans, o_.train_size, o_.test_size, o_.pixel_noise,
        o_.shape_seed);
  }
  // Generating costs more than keeping.
  bool in_memory() const override { return false; }

 private:
  Options o_;
  std::string_view part_;
  RandomStream stream_;
};

std::unique_ptr<Source> open(const Place& place, const Options& options) {
  if (place.split == Split::kVal) return nullptr;
  return std::make_unique<Synthetic>(place, options);
}

}  // namespace

FOVEA_DATASET(
    synthetic, open, "drawn shapes; needs no file", "datasets/synthetic.md",
    schema::Fields<Options>{}
        .add("num_classes", &Options::num_classes, schema::in_range(2, 10), "number of shapes")
        .add("img_size", &Options::img_size, schema::in_range(4, 1024), "pixels a side")
        .add("in_chans", &Options::in_chans, schema::in_range(1, 16), "channels")
        .add("train_size", &Options::train_size, schema::in_range(1, 10000000), "samples of train")
        .add("test_size", &Options::test_size, schema::in_range(1, 10000000), "samples of test")
        .add("pixel_noise", &Options::pixel_noise, schema::in_range(0, 1),
             "standard deviation of the noise that is part of the pictures")
        .add("shape_seed", &Options::shape_seed, schema::at_least(0),
             "seed of the pictures; does not follow the seed of the run"))

}  // namespace fovea::data
