// Drawn landscapes in which a network has to find one object: pictures as large as photographs, on
// which maps of attention can be read. Sample i is a function of the seed and i.
#include <fmt/format.h>

#include <memory>

#include "data/registry.h"
#include "data/sets/drawn_scene.h"
#include "tensor/random.h"

namespace fovea::data {
namespace {

struct SyntheticSceneOptions : ImageOptions {
  std::int64_t img_size = 224;
  std::int64_t train_size = 600;
  std::int64_t test_size = 60;
  std::int64_t shape_seed = 0;
};

class SyntheticScenes final : public Source {
 public:
  SyntheticScenes(const Place& place, const SyntheticSceneOptions& o)
      : o_(o),
        part_(name_of(place.split)),
        stream_(RandomStream(static_cast<std::uint64_t>(o.shape_seed))
                    .fork("synthetic_scenes")
                    .fork(part_)) {
    info_.channels = 3;
    info_.height = info_.width = o.img_size;
    info_.mean = {0.5};
    info_.std = {0.25};
    info_.class_names.assign(kSceneObjects.begin(), kSceneObjects.end());
    const std::int64_t size = place.split == Split::kTest ? o.test_size : o.train_size;
    for (std::int64_t i = 0; i < size; ++i)
      labels_.push_back(i % static_cast<std::int64_t>(kSceneObjects.size()));
  }

  Image read(std::int64_t index) const override {
    const auto object = static_cast<std::size_t>(labels_[static_cast<std::size_t>(index)]);
    return drawn_scene(stream_.fork(static_cast<std::uint64_t>(index)), object, o_.img_size);
  }
  std::string name(std::int64_t index) const override {
    return fmt::format("synthetic_scenes {}:{}", part_, index);
  }
  std::vector<std::filesystem::path> files() const override { return {}; }
  // Drawing costs more than keeping.
  bool in_memory() const override { return false; }
  std::string recipe() const override {
    return fmt::format("synthetic_scenes: img_size {} train_size {} test_size {} shape_seed {}",
                       o_.img_size, o_.train_size, o_.test_size, o_.shape_seed);
  }

 private:
  SyntheticSceneOptions o_;
  std::string_view part_;
  RandomStream stream_;
};

std::unique_ptr<Source> open_scenes(const Place& place, const SyntheticSceneOptions& options) {
  if (place.split == Split::kVal) return nullptr;
  return std::make_unique<SyntheticScenes>(place, options);
}

}  // namespace

FOVEA_DATASET(synthetic_scenes, open_scenes, "drawn landscapes with one object each; needs no file",
              "datasets/synthetic.md",
              schema::Fields<SyntheticSceneOptions>{}
                  .add("img_size", &SyntheticSceneOptions::img_size, schema::in_range(4, 1024),
                       "pixels a side")
                  .add("train_size", &SyntheticSceneOptions::train_size,
                       schema::in_range(1, 10000000), "samples of train")
                  .add("test_size", &SyntheticSceneOptions::test_size,
                       schema::in_range(1, 10000000), "samples of test")
                  .add("shape_seed", &SyntheticSceneOptions::shape_seed, schema::at_least(0),
                       "seed of the pictures; does not follow the seed of the run"))

}  // namespace fovea::data
