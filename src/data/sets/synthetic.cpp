// Shapes drawn by a generator: small tasks that need no file, for tests and first steps. A picture
// of one shape has a class (synthetic), in one of several every pixel has (synthetic_segmentation).
// Sample i is a function of the seed and i.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <string_view>

#include "data/registry.h"
#include "data/sets/drawn_shapes.h"
#include "tensor/random.h"

namespace fovea::data {
namespace {

// What both have.
struct Drawing : ImageOptions {
  std::int64_t num_classes = 4;
  std::int64_t img_size = 16;
  std::int64_t in_chans = 3;
  std::int64_t train_size = 512;
  std::int64_t test_size = 128;
  double pixel_noise = 0.05;
  std::int64_t shape_seed = 0;

  std::int64_t size_of(Split part) const { return part == Split::kTest ? test_size : train_size; }
  std::string recipe(std::string_view type) const {
    return fmt::format(
        "{}: num_classes {} img_size {} in_chans {} train_size {} "
        "test_size {} pixel_noise {} shape_seed {}",
        type, num_classes, img_size, in_chans, train_size, test_size, pixel_noise, shape_seed);
  }
  std::uint8_t shade(double value, const RandomStream& grain, std::size_t pixel) const {
    const double noisy = value + pixel_noise * grain.normal(pixel);
    return static_cast<std::uint8_t>(std::clamp(noisy * 255.0 + 0.5, 0.0, 255.0));
  }
};

struct SyntheticOptions : Drawing {};

struct MaskOptions : Drawing {
  static constexpr Kind kKind = Kind::kLabelMaps;
  std::int64_t shapes = 3;
  bool ignore_edges = false;
  std::optional<SampleShape> sample_shape() const {
    return SampleShape{.channels = in_chans,
                       .height = img_size,
                       .width = img_size,
                       .classes = num_classes,
                       .label_maps = true};
  }
};

// What both kinds of pictures share.
template <class S>
class DrawnPictures : public Source {
 public:
  using Settings = S;
  std::string name(std::int64_t index) const override {
    return fmt::format("{} {}:{}", type_, part_, index);
  }
  std::vector<std::filesystem::path> files() const override { return {}; }
  // Generating costs more than keeping.
  bool in_memory() const override { return false; }

 protected:
  DrawnPictures(std::string_view type, const Place& place, const Settings& o)
      : o_(o),
        type_(type),
        part_(name_of(place.split)),
        stream_(RandomStream(static_cast<std::uint64_t>(o.shape_seed)).fork(type).fork(part_)) {
    info_.channels = o.in_chans;
    info_.height = info_.width = o.img_size;
    info_.mean = {0.5};
    info_.std = {0.25};
    labels_.assign(static_cast<std::size_t>(o.size_of(place.split)), 0);
  }
  RandomStream draws(std::int64_t index) const {
    return stream_.fork(static_cast<std::uint64_t>(index));
  }

  Settings o_;
  std::string_view type_;

 private:
  std::string_view part_;
  RandomStream stream_;
};

class Synthetic final : public DrawnPictures<SyntheticOptions> {
 public:
  Synthetic(const Place& place, const SyntheticOptions& o) : DrawnPictures("synthetic", place, o) {
    for (std::int64_t k = 0; k < o.num_classes; ++k) {
      info_.class_names.emplace_back(kShapes[static_cast<std::size_t>(k)].name);
    }
    for (std::size_t i = 0; i < labels_.size(); ++i)
      labels_[i] = static_cast<std::int64_t>(i) % o.num_classes;
  }

  Image read(std::int64_t index) const override {
    const RandomStream random = draws(index);
    const Drawn shape = drawn_at(random, 0, o_.img_size, o_.img_size, 0.25, 0.15,
                                 static_cast<std::size_t>(index % o_.num_classes));
    const RandomStream colours = random.fork("colours");
    const RandomStream noise = random.fork("noise");
    Image image{o_.img_size, o_.img_size, o_.in_chans, {}};
    for (std::int64_t i = 0; i < o_.img_size; ++i) {
      for (std::int64_t j = 0; j < o_.img_size; ++j) {
        const bool inside = shape.covers(i, j);
        for (std::int64_t c = 0; c < o_.in_chans; ++c) {
          const double shade = double{colours.uniform(static_cast<std::uint64_t>(c))} * 0.3;
          image.pixels.push_back(
              o_.shade(inside ? 0.65 + shade : 0.05 + shade, noise, image.pixels.size()));
        }
      }
    }
    return image;
  }

  std::string recipe() const override { return o_.recipe(type_); }
};

// Several shapes on one picture, the later ones over the earlier; class 0 is what is behind them.
class SyntheticSegmentation final : public DrawnPictures<MaskOptions> {
 public:
  SyntheticSegmentation(const Place& place, const MaskOptions& o)
      : DrawnPictures("synthetic_segmentation", place, o) {
    info_.masks = Masks::kLabels;
    info_.no_label = o.ignore_edges ? kIgnoreLabel : 0;
    info_.class_names = {"background"};
    for (std::int64_t k = 1; k < o.num_classes; ++k)
      info_.class_names.emplace_back(kShapes[static_cast<std::size_t>(k - 1)].name);
    info_.label_values.resize(static_cast<std::size_t>(o.num_classes));
    std::iota(info_.label_values.begin(), info_.label_values.end(), 0);
  }

  Image read(std::int64_t index) const override {
    const RandomStream random = draws(index);
    const RandomStream colours = random.fork("colours");
    const RandomStream noise = random.fork("noise");
    const std::vector<std::uint8_t> classes = classes_of(random);
    Image image{o_.img_size, o_.img_size, o_.in_chans, {}};
    for (const std::uint8_t k : classes) {
      for (std::int64_t c = 0; c < o_.in_chans; ++c) {
        const auto draw = static_cast<std::uint64_t>(k * o_.in_chans + c);
        const double shade = colour(k, c) + 0.1 * double{colours.uniform(draw)};
        image.pixels.push_back(o_.shade(shade, noise, image.pixels.size()));
      }
    }
    return image;
  }

  Image read_mask(std::int64_t index, const Image&) const override {
    const std::vector<std::uint8_t> classes = classes_of(draws(index));
    Image mask{o_.img_size, o_.img_size, 1, {}};
    for (std::int64_t i = 0; i < o_.img_size; ++i) {
      for (std::int64_t j = 0; j < o_.img_size; ++j) {
        const std::uint8_t own = classes[at(i, j)];
        const bool edge =
            (i > 0 && classes[at(i - 1, j)] != own) || (j > 0 && classes[at(i, j - 1)] != own);
        mask.pixels.push_back(o_.ignore_edges && edge ? 0 : static_cast<std::uint8_t>(1 + own));
      }
    }
    return mask;
  }

  std::string recipe() const override {
    return fmt::format("{} shapes {} ignore_edges {}", o_.recipe(type_), o_.shapes,
                       o_.ignore_edges);
  }

 private:
  std::size_t at(std::int64_t i, std::int64_t j) const {
    return static_cast<std::size_t>(i * o_.img_size + j);
  }
  std::vector<std::uint8_t> classes_of(const RandomStream& random) const {
    std::vector<std::uint8_t> classes(static_cast<std::size_t>(o_.img_size * o_.img_size), 0);
    for (std::int64_t n = 0; n < o_.shapes; ++n) {
      const auto draw = static_cast<std::uint64_t>(4 * n);
      const std::int64_t shape = random.below(o_.num_classes - 1, draw + 3);
      const Drawn drawn = drawn_at(random, draw, o_.img_size, o_.img_size, 0.12, 0.12,
                                   static_cast<std::size_t>(shape));
      for (std::int64_t i = 0; i < o_.img_size; ++i) {
        for (std::int64_t j = 0; j < o_.img_size; ++j) {
          if (drawn.covers(i, j)) classes[at(i, j)] = static_cast<std::uint8_t>(1 + shape);
        }
      }
    }
    return classes;
  }
  // Dark behind; of each class another mixture, so that little is to be learned about shapes.
  double colour(std::uint8_t k, std::int64_t channel) const {
    if (k == 0) return 0.05;
    return 0.3 + 0.55 * std::fmod(0.37 * k * static_cast<double>(1 + channel), 1.0);
  }
};

template <class Pictures>
std::unique_ptr<Source> open_synthetic(const Place& place,
                                       const typename Pictures::Settings& options) {
  if (place.split == Split::kVal) return nullptr;
  return std::make_unique<Pictures>(place, options);
}

template <class Settings>
schema::Fields<Settings> drawing_fields(double most_classes, const char* num_classes) {
  using D = Drawing;
  return schema::Fields<Settings>{}
      .add("num_classes", &D::num_classes, schema::in_range(2, most_classes), num_classes)
      .add("img_size", &D::img_size, schema::in_range(4, 1024), "pixels a side")
      .add("in_chans", &D::in_chans, schema::in_range(1, 16), "channels")
      .add("train_size", &D::train_size, schema::in_range(1, 10000000), "samples of train")
      .add("test_size", &D::test_size, schema::in_range(1, 10000000), "samples of test")
      .add("pixel_noise", &D::pixel_noise, schema::in_range(0, 1),
           "standard deviation of the noise that is part of the pictures")
      .add("shape_seed", &D::shape_seed, schema::at_least(0),
           "seed of the pictures; does not follow the seed of the run");
}

}  // namespace

FOVEA_DATASET(synthetic, open_synthetic<Synthetic>, "drawn shapes; needs no file",
              "datasets/synthetic.md", drawing_fields<SyntheticOptions>(10, "number of shapes"))

FOVEA_DATASET(synthetic_segmentation, open_synthetic<SyntheticSegmentation>,
              "drawn shapes, of which every pixel has a class; needs no file",
              "datasets/synthetic.md",
              drawing_fields<MaskOptions>(11, "the background, and a class for each shape")
                  .add("shapes", &MaskOptions::shapes, schema::in_range(1, 100),
                       "shapes on a picture; later ones cover earlier ones")
                  .add("ignore_edges", &MaskOptions::ignore_edges,
                       "ignore pixels next to a pixel of another class"))

}  // namespace fovea::data
