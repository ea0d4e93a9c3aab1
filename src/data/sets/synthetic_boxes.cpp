// Drawn shapes with boxes and masks: a small task of detection that needs no file, for tests and
// first steps. Image i is a function of the seed and i.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "data/registry.h"
#include "data/sets/drawn_shapes.h"
#include "tensor/random.h"

namespace fovea::data {
namespace {

struct DrawnBoxOptions : BoxOptions {
  std::int64_t num_classes = 3;
  std::int64_t img_size = 64;
  std::int64_t shapes = 4;
  double empty = 0;
  double crowds = 0;
  std::int64_t train_size = 64;
  std::int64_t test_size = 16;
  double pixel_noise = 0.05;
  std::int64_t shape_seed = 0;
  std::optional<SampleShape> sample_shape() const { return usual_shape(num_classes); }
};

// One to `shapes` shapes, later ones over earlier ones, each of its class's colour by and large. A
// box holds what is seen of its shape; of one that is covered nothing is left.
class SyntheticBoxes final : public BoxPart {
 public:
  SyntheticBoxes(const Place& place, const DrawnBoxOptions& o)
      : o_(o),
        part_(name_of(place.split)),
        stream_(RandomStream(static_cast<std::uint64_t>(o.shape_seed))
                    .fork("synthetic_boxes")
                    .fork(part_)) {
    BoxInfo info;
    for (std::int64_t k = 0; k < o.num_classes; ++k)
      info.class_names.emplace_back(kShapes[static_cast<std::size_t>(k)].name);
    info.has_masks = true;
    info.mean = {0.3};
    info.std = {0.25};
    describe(std::move(info));
    const std::int64_t size = place.split == Split::kTest ? o.test_size : o.train_size;
    for (std::int64_t i = 0; i < size; ++i) add(described(i));
  }

  Image read(std::int64_t index) const override {
    const RandomStream random = draws(index);
    const RandomStream colours = random.fork("colours"), noise = random.fork("noise");
    const std::vector<Drawn> shapes = shapes_of(index);
    const std::vector<std::int64_t> owners = owners_of(index, shapes);
    Image picture{image(index).height, image(index).width, 3, {}};
    picture.pixels.reserve(3 * owners.size());
    for (const std::int64_t owner : owners) {
      for (std::uint64_t c = 0; c < 3; ++c) {
        double value = 0.05 + 0.2 * double{colours.uniform(c)};
        if (owner >= 0) {
          const auto n = static_cast<std::size_t>(owner);
          value = colour(shapes[n].shape, c) + 0.15 * double{colours.uniform(3 * (n + 1) + c)};
        }
        value += o_.pixel_noise * noise.normal(picture.pixels.size());
        picture.pixels.push_back(
            static_cast<std::uint8_t>(std::clamp(value * 255.0 + 0.5, 0.0, 255.0)));
      }
    }
    return picture;
  }

  std::vector<MaskRuns> read_masks(std::int64_t index) const override {
    const std::vector<std::int64_t> owners = owners_of(index, shapes_of(index));
    std::vector<MaskRuns> masks;
    for (const BoxedObject& object : image(index).objects) {
      std::vector<std::uint8_t> mask;
      mask.reserve(owners.size());
      for (const std::int64_t owner : owners) mask.push_back(owner == object.record ? 1 : 0);
      masks.push_back(encode_mask(mask, image(index).height, image(index).width, name(index)));
    }
    return masks;
  }

  std::vector<std::filesystem::path> files() const override { return {}; }
  std::string recipe() const override {
    return fmt::format(
        "synthetic_boxes: num_classes {} img_size {} shapes {} empty {} crowds {} train_size {} "
        "test_size {} pixel_noise {} shape_seed {}",
        o_.num_classes, o_.img_size, o_.shapes, o_.empty, o_.crowds, o_.train_size, o_.test_size,
        o_.pixel_noise, o_.shape_seed);
  }

 private:
  RandomStream draws(std::int64_t index) const {
    return stream_.fork(static_cast<std::uint64_t>(index));
  }
  // Of each class another mixture, so that little is to be learned about shapes.
  static double colour(std::size_t shape, std::uint64_t channel) {
    return 0.35 + 0.5 * std::fmod(0.37 * static_cast<double>((shape + 1) * (1 + channel)), 1.0);
  }
  // Three quarters of the longer side at least, tall or wide.
  std::array<std::int64_t, 2> size_of(const RandomStream& random) const {
    const RandomStream size = random.fork("size");
    const std::int64_t other = o_.img_size - size.below(o_.img_size / 4 + 1, 0);
    if (size.uniform(1) < 0.5f) return {o_.img_size, other};
    return {other, o_.img_size};
  }

  std::vector<Drawn> shapes_of(std::int64_t index) const {
    const RandomStream random = draws(index);
    const RandomStream number = random.fork("number");
    if (double{number.uniform(0)} < o_.empty) return {};
    const auto [height, width] = size_of(random);
    std::vector<Drawn> shapes;
    for (std::int64_t n = 0; n < 1 + number.below(o_.shapes, 1); ++n) {
      const auto draw = static_cast<std::uint64_t>(4 * n);
      const std::int64_t shape = random.below(o_.num_classes, draw + 3);
      shapes.push_back(
          drawn_at(random, draw, height, width, 0.08, 0.17, static_cast<std::size_t>(shape)));
    }
    return shapes;
  }

  // The shape that is seen at each pixel, or -1.
  std::vector<std::int64_t> owners_of(std::int64_t index, const std::vector<Drawn>& shapes) const {
    const auto [height, width] = size_of(draws(index));
    std::vector<std::int64_t> owners(static_cast<std::size_t>(height * width), -1);
    for (std::int64_t i = 0; i < height; ++i) {
      for (std::int64_t j = 0; j < width; ++j) {
        for (std::size_t n = 0; n < shapes.size(); ++n) {
          if (shapes[n].covers(i, j))
            owners[static_cast<std::size_t>(i * width + j)] = static_cast<std::int64_t>(n);
        }
      }
    }
    return owners;
  }

  BoxedImage described(std::int64_t index) const {
    const RandomStream random = draws(index);
    const auto [height, width] = size_of(random);
    BoxedImage image{fmt::format("synthetic_boxes {}:{}", part_, index), height, width};
    const std::vector<Drawn> shapes = shapes_of(index);
    const std::vector<std::int64_t> owners = owners_of(index, shapes);
    const auto tall = static_cast<double>(height), wide = static_cast<double>(width);
    std::vector<BoxedObject> objects(shapes.size());
    for (std::size_t n = 0; n < shapes.size(); ++n) {
      objects[n] = {{wide, tall, 0, 0}, static_cast<std::int64_t>(shapes[n].shape)};
      objects[n].crowd = double{random.fork("crowds").uniform(n)} < o_.crowds;
      objects[n].record = static_cast<std::int64_t>(n);
    }
    for (std::int64_t i = 0; i < height; ++i) {
      for (std::int64_t j = 0; j < width; ++j) {
        const std::int64_t owner = owners[static_cast<std::size_t>(i * width + j)];
        if (owner < 0) continue;
        BoxedObject& object = objects[static_cast<std::size_t>(owner)];
        const auto y = static_cast<double>(i), x = static_cast<double>(j);
        object.box = {std::min(object.box[0], x), std::min(object.box[1], y),
                      std::max(object.box[2], x + 1), std::max(object.box[3], y + 1)};
        ++object.area;
      }
    }
    std::erase_if(objects, [](const BoxedObject& object) { return object.area == 0; });
    image.objects = std::move(objects);
    return image;
  }

  DrawnBoxOptions o_;
  std::string_view part_;
  RandomStream stream_;
};

std::unique_ptr<BoxPart> open_synthetic_boxes(const Place& place, const DrawnBoxOptions& options) {
  if (place.split == Split::kVal) return nullptr;
  return std::make_unique<SyntheticBoxes>(place, options);
}

// Small images stay as they are.
DrawnBoxOptions drawn_box_defaults() {
  DrawnBoxOptions options;
  options.min_size = 64;
  options.max_size = 64;
  return options;
}

}  // namespace

FOVEA_DATASET(synthetic_boxes, open_synthetic_boxes,
              "drawn shapes with boxes and masks; needs no file", "datasets/synthetic.md",
              schema::Fields<DrawnBoxOptions>(drawn_box_defaults())
                  .add("num_classes", &DrawnBoxOptions::num_classes, schema::in_range(1, 10),
                       "number of shapes")
                  .add("img_size", &DrawnBoxOptions::img_size, schema::in_range(16, 1024),
                       "pixels of the longer side; the other one has three quarters of it or more")
                  .add("shapes", &DrawnBoxOptions::shapes, schema::in_range(1, 100),
                       "most shapes on a picture; later ones cover earlier ones")
                  .add("empty", &DrawnBoxOptions::empty, schema::in_range(0, 1),
                       "probability that a picture has no shape")
                  .add("crowds", &DrawnBoxOptions::crowds, schema::in_range(0, 1),
                       "probability that a shape is marked as a crowd")
                  .add("train_size", &DrawnBoxOptions::train_size, schema::in_range(1, 10000000),
                       "samples of train")
                  .add("test_size", &DrawnBoxOptions::test_size, schema::in_range(1, 10000000),
                       "samples of test")
                  .add("pixel_noise", &DrawnBoxOptions::pixel_noise, schema::in_range(0, 1),
                       "standard deviation of the noise that is part of the pictures")
                  .add("shape_seed", &DrawnBoxOptions::shape_seed, schema::at_least(0),
                       "seed of the pictures; does not follow the seed of the run"))

}  // namespace fovea::data
