// Golden cases of papers/gdla 6.4: how slices and pictures are turned and brought to one size.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "data/augment/geometry.h"
#include "data/augment/resize.h"
#include "data/augment/zoom.h"
#include "verify/runners.h"

namespace fovea::verify {
namespace {

// A plane of a case, of any type, and its values.
struct Plane {
  Plane(std::int64_t height, std::int64_t width)
      : values(static_cast<std::size_t>(height * width)), planes{1, height, width, values.data()} {}
  explicit Plane(const Tensor& x) : Plane(x.size(0), x.size(1)) {
    std::size_t i = 0;
    for (const double value : to_doubles(x)) values[i++] = static_cast<float>(value);
  }
  Plane(const Plane&) = delete;
  Plane& operator=(const Plane&) = delete;

  std::vector<double> all() const { return {values.begin(), values.end()}; }

  std::vector<float> values;
  data::Planes planes;
};

std::pair<std::int64_t, std::int64_t> size_of(const Case& c) {
  const std::vector<std::int64_t> out = c.config().integers("out");
  return {out.at(0), out.at(1)};
}

void run_zoom(const Case& c, Checker& check) {
  const auto [height, width] = size_of(c);
  c.config().only("rule",
                  "zoom=(out/in); coordinate o*(in-1)/(out-1); order 3 = cubic B-spline with "
                  "mirror prefilter, order 0 = floor(c+0.5)");
  c.check_all_read();
  const Plane image(c.at("input/image"));
  const Plane label(c.at("input/label"));
  const Plane zoomed(height, width);
  data::zoom_spline(image.planes, zoomed.planes);
  check.compare("output/image_order3", zoomed.all());
  data::zoom_nearest(label.planes, zoomed.planes);
  check.compare("output/label_order0", zoomed.all());
}

void run_rotate(const Case& c, Checker& check) {
  const double angle = c.number("angle");
  c.config().only("order", 0);
  c.config().only("reshape", false);
  c.check_all_read();
  for (const char* name : {"image", "label"}) {
    const Plane plane(c.at(std::string("input/") + name));
    data::rotate_nearest(plane.planes, angle);
    check.compare(std::string("output/") + name, plane.all());
  }
}

void run_rot90_flip(const Case& c, Checker& check) {
  const Plane label(c.at("input/label"));
  const data::Planes turned = data::rot90(label.planes, c.integer("k"));
  switch (c.integer("axis")) {
    case 0:
      data::flip_vertically(turned);
      break;
    case 1:
      data::flip_horizontally(turned);
      break;
    default:
      c.config().refuse("axis");
  }
  check.compare("output/label", label.all());
}

data::Image picture_of(const Tensor& bytes) {
  data::Image image{bytes.size(0), bytes.size(1), bytes.rank() == 3 ? bytes.size(2) : 1, {}};
  for (const double value : to_doubles(bytes))
    image.pixels.push_back(static_cast<std::uint8_t>(value));
  return image;
}

// The planes of a picture, not scaled.
struct Pixels {
  explicit Pixels(const data::Image& image)
      : values(image.pixels.size()),
        planes{image.channels, image.height, image.width, values.data()} {
    data::to_planes(image, 1, planes);
  }
  std::vector<double> all() const { return {values.begin(), values.end()}; }

  std::vector<float> values;
  data::Planes planes;
};

// Sums of another order round to the other side where they lie on a half, but nowhere else.
void compare_rounded(const Case& c, Checker& check, const std::vector<double>& got,
                     const std::vector<double>& unrounded) {
  check.compare_within("output/resized_u8", got, 1);
  const std::vector<double> expected = to_doubles(c.at("output/resized_u8"));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double from_half = std::abs(unrounded[i] - std::floor(unrounded[i]) - 0.5);
    if (got[i] != expected[i] && from_half > 1e-3)
      check.fail(fmt::format("output/resized_u8: element {} is {}, expected {}; the sum is {}", i,
                             got[i], expected[i], unrounded[i]));
  }
}

void run_rgb_preprocess(const Case& c, Checker& check) {
  const auto [height, width] = size_of(c);
  c.config().only(
      "steps",
      "antialiased bilinear resize, round half to even to uint8, min-max over the whole "
      "image with eps 1e-8; mask nearest (floor(i*in/out)), min-max, truncate to "
      "integer");
  c.check_all_read();
  const data::Image image = picture_of(c.at("input/image_hwc_u8"));
  const Pixels whole(image);
  const Pixels unrounded(data::resize(image, height, width));
  data::resize(whole.planes, unrounded.planes);
  check.compare("output/resized_float", unrounded.all());
  Pixels resized(data::resize(image, height, width, {.round_once = true}));
  compare_rounded(c, check, resized.all(), unrounded.all());
  // From the case's own bytes, so that a tie above does not count here too.
  const std::vector<double> bytes = to_doubles(c.at("output/resized_u8"));
  std::transform(bytes.begin(), bytes.end(), resized.values.begin(),
                 [](double value) { return static_cast<float>(value); });
  data::stretch(resized.planes);
  check.compare("output/image", resized.all());
  const data::Image mask = picture_of(c.at("input/mask_u8"));
  const Pixels small(data::resize(mask, height, width, {.how = data::Resampling::kNearestCorner}));
  data::stretch(small.planes);
  std::vector<double> labels = small.all();
  for (double& value : labels) value = std::trunc(value);
  check.compare("output/mask", labels);
}

}  // namespace

Table gdla_data() {
  Table table;
  table.add("scipy_zoom") = run_zoom;
  table.add("scipy_rotate") = run_rotate;
  table.add("rot90_flip") = run_rot90_flip;
  table.add("rgb_preprocess") = run_rgb_preprocess;
  return table;
}

}  // namespace fovea::verify
