// How pictures with masks are brought to the size of training without changing their aspect ratio:
// a random scale, a part with several classes, and what is missing. mala 7.3; mmseg's Resize,
// RandomCrop and Pad.
#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "data/augment/transform_entry.h"

namespace fovea::data {
namespace {

struct RescaleOptions {
  std::int64_t shorter = 512;
  std::int64_t longer = 2048;
  std::array<double, 2> ratio = {0.5, 2};
};

/// Both limits times a number that is uniform in `ratio`, rounded down; the picture is made as
/// large as both allow.
class RandomRescale final : public ReshapingTransform {
 public:
  explicit RandomRescale(const RescaleOptions& o) : o_(o) {}
  void reshape(MaskedPicture& picture, const TransformContext& context) const override {
    const double ratio = draw_between(context.stream, 0, o_.ratio[0], o_.ratio[1]);
    const auto limit = [&](std::int64_t side) {
      return std::max<std::int64_t>(1,
                                    static_cast<std::int64_t>(static_cast<double>(side) * ratio));
    };
    const auto [height, width] = rescaled_size(picture.image.height(), picture.image.width(),
                                               limit(o_.shorter), limit(o_.longer));
    picture.resize(height, width);
  }

 private:
  RescaleOptions o_;
};

struct ClassCropOptions {
  std::array<std::int64_t, 2> size = {512, 512};
  double max_share = 0.75;
  std::int64_t tries = 10;
};

/// A part at a uniform place. It is drawn again, `tries` times at most, while it has one class only
/// or one class has max_share or more of its pixels with a class.
class RandomClassCrop final : public ReshapingTransform {
 public:
  explicit RandomClassCrop(const ClassCropOptions& o) : o_(o) {}
  void reshape(MaskedPicture& picture, const TransformContext& context) const override {
    const std::int64_t height = picture.image.height(), width = picture.image.width();
    const std::int64_t tall = std::min(o_.size[0], height), wide = std::min(o_.size[1], width);
    Box part;
    for (std::int64_t attempt = 0; attempt <= o_.tries; ++attempt) {
      const RandomStream draws = context.stream.fork(static_cast<std::uint64_t>(attempt));
      part = {draws.below(height - tall + 1, 0), draws.below(width - wide + 1, 1), tall, wide};
      if (attempt == o_.tries || o_.max_share == 1 || is_mixed(picture, part)) break;
    }
    picture.keep(part);
  }

 private:
  bool is_mixed(MaskedPicture& picture, const Box& part) const {
    const Planes mask = picture.mask.planes();
    std::map<int, std::int64_t> pixels;
    for (std::int64_t y = part.top; y < part.top + part.height; ++y) {
      const float* row = mask.data + y * mask.width + part.left;
      for (std::int64_t x = 0; x < part.width;) {  // runs of one value
        const std::int64_t first = x;
        while (x < part.width && row[x] == row[first]) ++x;
        // Soft masks have two classes.
        pixels[picture.labels      ? static_cast<int>(row[first])
               : row[first] < 0.5f ? 1
                                   : 2] += x - first;
      }
    }
    pixels.erase(0);
    std::int64_t most = 0, all = 0;
    for (const auto& [label, count] : pixels) {
      most = std::max(most, count);
      all += count;
    }
    return pixels.size() > 1 && static_cast<double>(most) < o_.max_share * static_cast<double>(all);
  }

  ClassCropOptions o_;
};

struct PadOptions {
  std::array<std::int64_t, 2> size = {512, 512};
};

/// With the mean of each channel, which is 0 once that is removed.
class Pad final : public ReshapingTransform {
 public:
  explicit Pad(const PadOptions& o) : o_(o) {}
  void reshape(MaskedPicture& picture, const TransformContext& context) const override {
    std::vector<float> fill(static_cast<std::size_t>(picture.image.planes().channels), 0.0f);
    std::copy(context.mean.begin(), context.mean.end(), fill.begin());
    picture.pad({0, 0, std::max(o_.size[0], picture.image.height()),
                 std::max(o_.size[1], picture.image.width())},
                fill);
  }

 private:
  PadOptions o_;
};

}  // namespace

FOVEA_TRANSFORM(random_rescale, RandomRescale, kMaskedPictures,
                "resize to a random scale, keeping the aspect ratio: as large as both limits allow",
                schema::Fields<RescaleOptions>{}
                    .add("shorter", &RescaleOptions::shorter, schema::in_range(1, 8192),
                         "limit of the shorter side at a ratio of 1, in pixels")
                    .add("longer", &RescaleOptions::longer, schema::in_range(1, 65536),
                         "limit of the longer side")
                    .add("ratio", &RescaleOptions::ratio, schema::greater_than(0),
                         "smallest and largest factor of both limits")
                    .check([](const RescaleOptions& o) {
                      return o.ratio[0] <= o.ratio[1]
                                 ? std::string()
                                 : std::string("ratio must be a smallest and a largest number");
                    }))

FOVEA_TRANSFORM(random_class_crop, RandomClassCrop, kMaskedPictures,
                "keep a part at a random place in which no class has too large a share",
                schema::Fields<ClassCropOptions>{}
                    .add("size", &ClassCropOptions::size, schema::in_range(1, 8192),
                         "height and width of the part; a smaller side is kept whole")
                    .add("max_share", &ClassCropOptions::max_share,
                         schema::greater_than(0) && schema::at_most(1),
                         "every class has less than this share of the pixels that are not ignored; "
                         "1: the first place is taken")
                    .add("tries", &ClassCropOptions::tries, schema::in_range(0, 1000),
                         "places that are drawn after the first; the last one is taken as it is"))

FOVEA_TRANSFORM(pad, Pad, kMaskedPictures,
                "add pixels below and to the right: the mean of the channels, without a label",
                schema::Fields<PadOptions>{}.add("size", &PadOptions::size,
                                                 schema::in_range(1, 8192),
                                                 "least height and width"))

}  // namespace fovea::data
