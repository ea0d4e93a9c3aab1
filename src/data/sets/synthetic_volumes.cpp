// Phantoms: ellipsoids of several classes with noise, drawn by a generator, so that all that is
// done with volumes can be tried without files. Volume i is a function of the seed and i.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <memory>
#include <optional>

#include "data/registry.h"
#include "tensor/random.h"

namespace fovea::data {
namespace {

struct PhantomOptions : VolumeSetOptions {
  std::int64_t num_classes = 3;
  std::array<std::int64_t, 3> size = {24, 40, 40};
  std::array<double, 3> voxel = {2, 1, 1};
  std::int64_t train_size = 16;
  std::int64_t test_size = 4;
  double voxel_noise = 0.1;
  std::int64_t shape_seed = 0;

  std::optional<SampleShape> sample_shape() const {
    return SampleShape{.channels = 1,
                       .height = img_size[1],
                       .width = img_size[2],
                       .classes = num_classes,
                       .label_maps = true,
                       .depth = img_size[0]};
  }
};

VolumeInfo phantom_info(const PhantomOptions& o) {
  VolumeInfo info;
  for (int c = 0; c < o.num_classes; ++c) {
    info.class_names.push_back(c == 0 ? "background" : fmt::format("ellipsoid {}", c));
    info.label_values.push_back(c);
  }
  return info;
}

class Phantoms final : public VolumePart {
 public:
  Phantoms(const Place& place, const PhantomOptions& o)
      : VolumePart(phantom_info(o)),
        o_(o),
        part_(name_of(place.split)),
        stream_(RandomStream(static_cast<std::uint64_t>(o.shape_seed))
                    .fork("phantoms")
                    .fork(name_of(place.split))) {
    labels_.assign(
        static_cast<std::size_t>(place.split == Split::kTest ? o.test_size : o.train_size), 0);
  }

  LabelledVoxels read(std::int64_t index) const override {
    const RandomStream random = stream_.fork(static_cast<std::uint64_t>(index));
    LabelledVoxels volume;
    // Sides differ by up to a quarter.
    std::array<std::int64_t, 3> size;
    for (std::size_t axis = 0; axis < 3; ++axis)
      size[axis] = o_.size[axis] - random.below(o_.size[axis] / 4 + 1, axis);
    static_cast<VolumeSize&>(volume) = {size[0], size[1], size[2], o_.voxel};
    const RandomStream grain = random.fork("noise");
    const auto voxels = static_cast<std::size_t>(volume.voxels());
    volume.labels.assign(voxels, 0);
    for (std::int64_t c = 1; c < o_.num_classes; ++c)
      draw(random.fork(static_cast<std::uint64_t>(c)), size, static_cast<std::uint8_t>(c),
           volume.labels);
    for (std::size_t i = 0; i < voxels; ++i) {
      const double shade =
          0.2 + 0.8 * static_cast<double>(volume.labels[i]) / static_cast<double>(o_.num_classes);
      volume.values.push_back(static_cast<float>(shade + o_.voxel_noise * grain.normal(i)));
    }
    return volume;
  }

  std::string name(std::int64_t index) const override {
    return fmt::format("synthetic_volumes {}:{}", part_, index);
  }
  std::vector<std::filesystem::path> files() const override { return {}; }
  std::string recipe() const override {
    return fmt::format(
        "synthetic_volumes: num_classes {} size {} {} {} voxel {} {} {} train_size {} test_size {} "
        "voxel_noise {} shape_seed {}",
        o_.num_classes, o_.size[0], o_.size[1], o_.size[2], o_.voxel[0], o_.voxel[1], o_.voxel[2],
        o_.train_size, o_.test_size, o_.voxel_noise, o_.shape_seed);
  }

 private:
  // Half axes of 15 to 30 % of the sides, all of it inside.
  static void draw(const RandomStream& random, const std::array<std::int64_t, 3>& size,
                   std::uint8_t label, std::vector<std::uint8_t>& labels) {
    std::array<double, 3> radius, centre;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const auto side = static_cast<double>(size[axis]);
      radius[axis] = side * (0.15 + 0.15 * double{random.uniform(2 * axis)});
      centre[axis] =
          radius[axis] + (side - 2 * radius[axis]) * double{random.uniform(2 * axis + 1)};
    }
    std::size_t i = 0;
    for (std::int64_t d = 0; d < size[0]; ++d) {
      for (std::int64_t h = 0; h < size[1]; ++h) {
        for (std::int64_t w = 0; w < size[2]; ++w, ++i) {
          double squares = 0;
          const std::array<std::int64_t, 3> place{d, h, w};
          for (std::size_t axis = 0; axis < 3; ++axis) {
            const double x = (static_cast<double>(place[axis]) + 0.5 - centre[axis]) / radius[axis];
            squares += x * x;
          }
          if (squares <= 1) labels[i] = label;
        }
      }
    }
  }

  PhantomOptions o_;
  std::string_view part_;
  RandomStream stream_;
};

std::unique_ptr<VolumePart> open_phantoms(const Place& place, const PhantomOptions& o) {
  if (place.split == Split::kVal) return nullptr;
  return std::make_unique<Phantoms>(place, o);
}

}  // namespace

FOVEA_DATASET(synthetic_volumes, open_phantoms,
              "ellipsoids drawn by a generator, with a class for "
              "every voxel",
              "datasets/synthetic.md",
              schema::Fields<PhantomOptions>{}
                  .add("num_classes", &PhantomOptions::num_classes, schema::in_range(2, 20),
                       "the background, and one class for each ellipsoid")
                  .add("size", &PhantomOptions::size, schema::in_range(4, 1024),
                       "largest depth, height and width of a volume in voxels")
                  .add("voxel", &PhantomOptions::voxel, schema::greater_than(0),
                       "size of a voxel in millimetres")
                  .add("train_size", &PhantomOptions::train_size, schema::at_least(1),
                       "volumes of train")
                  .add("test_size", &PhantomOptions::test_size, schema::at_least(1),
                       "volumes of test")
                  .add("voxel_noise", &PhantomOptions::voxel_noise, schema::at_least(0),
                       "standard deviation of the noise")
                  .add("shape_seed", &PhantomOptions::shape_seed, "seed of the generator"))

}  // namespace fovea::data
