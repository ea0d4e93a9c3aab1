// Parts of pictures with their objects, and objects that are too small to be learned.
#include <algorithm>
#include <array>
#include <vector>

#include "data/augment/transform_entry.h"

namespace fovea::data {
namespace {

struct SizeCropOptions {
  double prob = 0.5;
  std::vector<std::int64_t> min_size = {400, 500, 600};
  std::int64_t max_size = 4200;
  std::array<std::int64_t, 2> crop = {384, 600};
  double min_visible = 0;
};

/// With `prob`: resized to one of the sizes for the shorter side, then a part whose height and
/// width are uniform in `crop`, or in what there is of it. A `resize` follows in the list of
/// transforms (mmdet's RandomCrop of type absolute_range; DETR's RandomSizeCrop). mala 7.2, "3x+MS"
/// (b).
class RandomSizeCrop final : public BoxTransform {
 public:
  explicit RandomSizeCrop(const SizeCropOptions& o) : o_(o) {}
  void apply(BoxedPicture& picture, const TransformContext& context) const override {
    const RandomStream& draws = context.stream;
    if (!happens(draws, o_.prob)) return;
    if (!o_.min_size.empty()) {
      const auto k = static_cast<std::size_t>(draws.below(std::ssize(o_.min_size), 1));
      const auto [height, width] =
          rescaled_size(picture.height(), picture.width(), o_.min_size[k], o_.max_size);
      picture.resize(height, width);
    }
    const auto side = [&](std::int64_t whole, std::uint64_t draw) {
      const std::int64_t least = std::min(whole, o_.crop[0]), most = std::min(whole, o_.crop[1]);
      return least + draws.below(most - least + 1, draw);
    };
    const std::int64_t tall = side(picture.height(), 2), wide = side(picture.width(), 3);
    picture.crop({draws.below(picture.height() - tall + 1, 4),
                  draws.below(picture.width() - wide + 1, 5), tall, wide},
                 o_.min_visible);
  }

 private:
  SizeCropOptions o_;
};

struct ObjectFilterOptions {
  double min_side = 1;
  double min_area = 0;
};

/// Where it stands in the list decides in which pixels.
class FilterObjects final : public BoxTransform {
 public:
  explicit FilterObjects(const ObjectFilterOptions& o) : o_(o) {}
  void apply(BoxedPicture& picture, const TransformContext&) const override {
    picture.drop_if([&](const BoxedObject& object) {
      return object.width() < o_.min_side || object.height() < o_.min_side ||
             object.width() * object.height() < o_.min_area;
    });
  }

 private:
  ObjectFilterOptions o_;
};

}  // namespace

FOVEA_TRANSFORM(
    random_size_crop, RandomSizeCrop, kBoxedPictures,
    "resize and keep a random part of random size; a resize should follow",
    schema::Fields<SizeCropOptions>{}
        .add("prob", &SizeCropOptions::prob, schema::in_range(0, 1), "probability")
        .add(
            "min_size", &SizeCropOptions::min_size, schema::in_range(1, 8192),
            "pixels of the shorter side before the crop, of which one is drawn; empty: not resized")
        .add("max_size", &SizeCropOptions::max_size, schema::in_range(1, 8192),
             "most pixels of the longer side before the crop")
        .add("crop", &SizeCropOptions::crop, schema::in_range(1, 8192),
             "least and most pixels of a side that are kept")
        .add("min_visible", &SizeCropOptions::min_visible, schema::in_range(0, 1),
             "objects of which a smaller share of the box is left are dropped")
        .check([](const SizeCropOptions& o) {
          return o.crop[0] <= o.crop[1] ? std::string()
                                        : std::string("crop must be a least and a most number");
        }))

FOVEA_TRANSFORM(filter_objects, FilterObjects, kBoxedPictures,
                "drop objects whose boxes are small, in pixels of this place in the list",
                schema::Fields<ObjectFilterOptions>{}
                    .add("min_side", &ObjectFilterOptions::min_side, schema::at_least(0),
                         "least width and height of a box")
                    .add("min_area", &ObjectFilterOptions::min_area, schema::at_least(0),
                         "least width times height"))

}  // namespace fovea::data
