#include <array>

#include "data/augment/pictures/warp.h"
#include "data/augment/transform_entry.h"

namespace fovea::data {
namespace {

struct GaussianBlurOptions {
  double prob = 0.5;
  std::array<std::int64_t, 2> blur_limit = {3, 7};
};

class GaussianBlur final : public PictureTransform {
 public:
  explicit GaussianBlur(const GaussianBlurOptions& o) : o_(o) {}
  void apply(Planes x, const TransformContext& context) const override {
    if (!happens(context.stream, o_.prob)) return;
    const std::int64_t least = o_.blur_limit[0] / 2;
    const std::int64_t radius = least + context.stream.below(o_.blur_limit[1] / 2 - least + 1, 1);
    // OpenCV's rule for the size k = 2 radius + 1.
    smooth(x, radius, 0.3 * (static_cast<double>(radius) - 1) + 0.8);
  }

 private:
  GaussianBlurOptions o_;
};

}  // namespace

FOVEA_TRANSFORM(gaussian_blur, GaussianBlur, kPictures | kMaskedPictures | kBoxedPictures,
                "smooth by an odd kernel; masks stay",
                schema::Fields<GaussianBlurOptions>{}
                    .add("prob", &GaussianBlurOptions::prob, schema::in_range(0, 1), "probability")
                    .add("blur_limit", &GaussianBlurOptions::blur_limit, schema::in_range(3, 99),
                         "smallest and largest size of the kernel, odd")
                    .check([](const GaussianBlurOptions& o) {
                      const auto [least, most] = o.blur_limit;
                      return least <= most && least % 2 == 1 && most % 2 == 1
                                 ? std::string()
                                 : std::string(
                                       "blur_limit must be two odd numbers, the smaller "
                                       "first");
                    }))

}  // namespace fovea::data
