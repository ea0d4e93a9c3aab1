// Sizes of training: of one or several scales, and large-scale jitter (Ghiasi et al., "Simple
// copy-paste is a strong data augmentation method for instance segmentation", CVPR 2021).
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "data/augment/transform_entry.h"

namespace fovea::data {
namespace {

struct MultiScaleOptions {
  std::vector<std::int64_t> min_size = {800};
  std::int64_t max_size = 1333;
  bool antialias = false;
};

/// One of the sizes for the shorter side, each as likely; the longer side has at most max_size.
/// mala 7.2.
class MultiScale final : public BoxTransform {
 public:
  explicit MultiScale(const MultiScaleOptions& o) : o_(o) {}
  bool sets_size() const override { return true; }
  void apply(BoxedPicture& picture, const TransformContext& context) const override {
    const auto k = static_cast<std::size_t>(context.stream.below(std::ssize(o_.min_size), 0));
    const auto [height, width] =
        rescaled_size(picture.height(), picture.width(), o_.min_size[k], o_.max_size);
    picture.resize(height, width, o_.antialias);
  }

 private:
  MultiScaleOptions o_;
};

struct JitterOptions {
  std::int64_t size = 1024;
  std::array<double, 2> scale = {0.1, 2};
  double min_visible = 0;
  bool antialias = false;
};

/// The longer side becomes `size` times a number that is uniform in `scale`; of what is larger than
/// size x size, a part at a uniform place is kept. What is smaller stays so, and gets its zeros in
/// the batch. The part is cut before it is resized, since enlarging what is thrown away is costly.
class LargeScaleJitter final : public BoxTransform {
 public:
  explicit LargeScaleJitter(const JitterOptions& o) : o_(o) {}
  bool sets_size() const override { return true; }
  void apply(BoxedPicture& picture, const TransformContext& context) const override {
    const RandomStream& draws = context.stream;
    const std::int64_t longer = std::max(picture.height(), picture.width());
    const double drawn = draw_between(draws, 0, o_.scale[0], o_.scale[1]);
    const double scale = drawn * static_cast<double>(o_.size) / static_cast<double>(longer);
    const auto most = static_cast<std::int64_t>(
        std::max(1.0, std::floor(static_cast<double>(o_.size) / scale + 0.5)));
    const std::int64_t tall = std::min(picture.height(), most);
    const std::int64_t wide = std::min(picture.width(), most);
    picture.crop({draws.below(picture.height() - tall + 1, 1),
                  draws.below(picture.width() - wide + 1, 2), tall, wide},
                 o_.min_visible);
    const auto scaled = [&](std::int64_t side) {
      const auto pixels = static_cast<std::int64_t>(static_cast<double>(side) * scale + 0.5);
      return std::clamp<std::int64_t>(pixels, 1, o_.size);
    };
    picture.resize(scaled(tall), scaled(wide), o_.antialias);
  }

 private:
  JitterOptions o_;
};

}  // namespace

FOVEA_TRANSFORM(resize, MultiScale, kBoxedPictures,
                "resize to one of several sizes, keeping the aspect ratio",
                schema::Fields<MultiScaleOptions>{}
                    .add("min_size", &MultiScaleOptions::min_size, schema::in_range(1, 8192),
                         "pixels of the shorter side, of which one is drawn")
                    .add("max_size", &MultiScaleOptions::max_size, schema::in_range(1, 8192),
                         "most pixels of the longer side")
                    .add("antialias", &MultiScaleOptions::antialias,
                         "average over pixels when shrinking")
                    .check([](const MultiScaleOptions& o) {
                      return o.min_size.empty() ? std::string("min_size is empty") : std::string();
                    }))

FOVEA_TRANSFORM(large_scale_jitter, LargeScaleJitter, kBoxedPictures,
                "resize by a factor from a wide range, then keep a random part of fixed size",
                schema::Fields<JitterOptions>{}
                    .add("size", &JitterOptions::size, schema::in_range(1, 8192),
                         "pixels of a side that are kept at most")
                    .add("scale", &JitterOptions::scale, schema::in_range(0.01, 10),
                         "smallest and largest longer side in units of size")
                    .add("min_visible", &JitterOptions::min_visible, schema::in_range(0, 1),
                         "objects of which a smaller share of the box is left are dropped")
                    .add("antialias", &JitterOptions::antialias,
                         "average over pixels when shrinking")
                    .check([](const JitterOptions& o) {
                      return o.scale[0] <= o.scale[1]
                                 ? std::string()
                                 : std::string("scale must be a smallest and a largest number");
                    }))

}  // namespace fovea::data
