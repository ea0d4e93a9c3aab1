// Pictures with objects: boxes and masks follow the pixels.
#include "data/augment/boxes/boxed_picture.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "data/augment/transform_entry.h"
#include "tests/data/config.h"
#include "tests/data/files.h"

using namespace fovea;
using namespace fovea::data;

namespace {

// White rectangles on black, one an object, and their masks.
struct Scene {
  Image picture;
  std::vector<BoxedObject> objects;
  std::vector<std::uint8_t> masks;

  Scene(std::int64_t h, std::int64_t w, std::vector<std::array<std::int64_t, 4>> boxes)
      : picture{h, w, 3, std::vector<std::uint8_t>(static_cast<std::size_t>(3 * h * w), 0)} {
    for (const auto& [x1, y1, x2, y2] : boxes) {
      BoxedObject object;
      object.box = {static_cast<double>(x1), static_cast<double>(y1), static_cast<double>(x2),
                    static_cast<double>(y2)};
      object.label = std::ssize(objects);
      object.area = static_cast<double>((x2 - x1) * (y2 - y1));
      objects.push_back(object);
      for (std::int64_t i = 0; i < h; ++i) {
        for (std::int64_t j = 0; j < w; ++j) {
          const bool inside = i >= y1 && i < y2 && j >= x1 && j < x2;
          masks.push_back(inside ? 1 : 0);
          const auto at = static_cast<std::size_t>(3 * (i * w + j));
          if (inside) std::fill_n(picture.pixels.begin() + static_cast<std::ptrdiff_t>(at), 3, 255);
        }
      }
    }
  }
  BoxedPicture made() const { return BoxedPicture(picture, 255.0f, objects, &masks); }
};

// Box of the pixels of a mask.
std::array<double, 4> extent(const BoxedPicture& p, std::size_t k) {
  std::array<double, 4> box = {1e9, 1e9, 0, 0};
  const auto plane = static_cast<std::size_t>(p.height() * p.width());
  for (std::int64_t i = 0; i < p.height(); ++i) {
    for (std::int64_t j = 0; j < p.width(); ++j) {
      if (p.masks()[k * plane + static_cast<std::size_t>(i * p.width() + j)] == 0) continue;
      const auto y = static_cast<double>(i), x = static_cast<double>(j);
      box = {std::min(box[0], x), std::min(box[1], y), std::max(box[2], x + 1),
             std::max(box[3], y + 1)};
    }
  }
  return box;
}

// Whether box, mask and the white pixels of a picture of one object are at one place.
void check_together(BoxedPicture& p) {
  REQUIRE(p.objects().size() == 1);
  CHECK(extent(p, 0) == p.objects()[0].box);
  const Planes x = p.planes();
  for (std::int64_t i = 0; i < x.plane(); ++i)
    CHECK((x.data[i] == 1.0f) == (p.masks()[static_cast<std::size_t>(i)] == 1));
}

std::unique_ptr<const BoxTransform> with_boxes(const std::string& json) {
  return make_box_transform(data::test::component(json), "dataset.augment.0");
}

}  // namespace

TEST_CASE("boxed_picture: mirrors, whole-number resizing and crops move all three together",
          "[data]") {
  const Scene scene(12, 20, {{3, 2, 9, 7}});
  BoxedPicture p = scene.made();
  check_together(p);
  p.flip_horizontally();
  CHECK(p.objects()[0].box == std::array<double, 4>{11, 2, 17, 7});
  check_together(p);
  p.flip_vertically();
  CHECK(p.objects()[0].box == std::array<double, 4>{11, 5, 17, 10});
  check_together(p);
  p.crop({4, 10, 8, 8});
  CHECK(p.objects()[0].box == std::array<double, 4>{1, 1, 7, 6});
  check_together(p);
  p.resize(24, 16);
  CHECK(p.objects()[0].box == std::array<double, 4>{2, 3, 14, 18});
  CHECK(extent(p, 0) == p.objects()[0].box);
  CHECK(p.planes().height == 24);
  CHECK(p.objects()[0].area == 30);  // of its file
}

TEST_CASE("boxed_picture: a mask stays in the middle of its box when shrunk", "[data]") {
  const Scene scene(40, 40, {{8, 8, 32, 32}});
  for (const std::int64_t side : {37, 21, 20, 13, 8}) {
    BoxedPicture p = scene.made();
    p.resize(side, side, side % 2 == 0);
    const auto box = p.objects()[0].box, seen = extent(p, 0);
    INFO(side);
    // Half a new pixel either way, and the same at both ends.
    for (std::size_t k = 0; k < 4; ++k) CHECK(seen[k] == Approx(box[k]).margin(0.5));
    CHECK(seen[0] + seen[2] == Approx(static_cast<double>(side)));
  }
}

TEST_CASE("boxed_picture: crops clip boxes and drop what leaves", "[data]") {
  const Scene scene(20, 20, {{0, 0, 4, 4}, {8, 8, 12, 12}, {2, 2, 10, 6}, {11, 11, 14, 14}});
  BoxedPicture p = scene.made();
  p.crop({3, 3, 8, 8});
  // Of the last one nothing is left (its corner begins where the part ends).
  REQUIRE(p.objects().size() == 3);
  CHECK(p.objects()[0].box == std::array<double, 4>{0, 0, 1, 1});
  CHECK(p.objects()[1].box == std::array<double, 4>{5, 5, 8, 8});
  CHECK(p.objects()[2].box == std::array<double, 4>{0, 0, 7, 3});
  CHECK(p.objects()[2].label == 2);
  CHECK(p.masks().size() == 3 * 64);
  for (std::size_t k = 0; k < 3; ++k) CHECK(extent(p, k) == p.objects()[k].box);
  BoxedPicture strict = scene.made();
  strict.crop({3, 3, 8, 8}, 0.5);  // 1 / 16, 9 / 16 and 21 / 32 are left
  REQUIRE(strict.objects().size() == 2);
  CHECK(strict.objects()[0].label == 1);
  CHECK(extent(strict, 1) == strict.objects()[1].box);
  CHECK_THROWS_AS(strict.crop({0, 0, 9, 2}), ShapeError);
}

TEST_CASE("boxed_picture: boxes beyond the edges are clipped, masks may be absent", "[data]") {
  Scene scene(6, 8, {});
  BoxedObject over;
  over.box = {-3, 2, 20, 9.5};
  BoxedObject outside;
  outside.box = {9, 1, 12, 3};
  BoxedPicture p(scene.picture, 255.0f, {over, outside}, nullptr);
  REQUIRE(p.objects().size() == 1);
  CHECK(p.objects()[0].box == std::array<double, 4>{0, 2, 8, 6});
  CHECK_FALSE(p.has_masks());
  p.flip_horizontally();
  p.resize(3, 4);
  p.crop({0, 0, 2, 2});
  CHECK(p.masks().empty());
  CHECK(p.objects()[0].box == std::array<double, 4>{0, 1, 2, 2});
  CHECK_THROWS_AS(BoxedPicture(scene.picture, 255.0f, {over}, &scene.masks), ShapeError);
  // No object at all, with masks.
  BoxedPicture none(scene.picture, 255.0f, {}, &scene.masks);
  none.resize(12, 16);
  none.crop({1, 1, 4, 4});
  none.flip_vertically();
  CHECK(none.objects().empty());
  CHECK(none.has_masks());
}

TEST_CASE("transforms of pictures with boxes: the same draws move them as any picture", "[data]") {
  const Scene scene(10, 14, {{1, 2, 5, 7}});
  for (const char* name : {"horizontal_flip", "vertical_flip"}) {
    const auto flip = with_boxes(std::string(R"({"type": ")") + name + R"("})");
    const auto plain = data::test::picture(std::string(R"({"type": ")") + name + R"("})");
    int flipped = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      BoxedPicture p = scene.made(), same = scene.made();
      flip->apply(p, {RandomStream(seed), {}});
      plain->apply(same.planes(), {RandomStream(seed), {}});
      const auto a = p.planes().values(), b = same.planes().values();
      CHECK(std::equal(a.begin(), a.end(), b.begin()));
      check_together(p);
      flipped += p.objects()[0].box != scene.objects[0].box ? 1 : 0;
    }
    CHECK(flipped == Approx(10).margin(7));
  }
}

TEST_CASE("transforms of pictures with boxes: those of pixels alone leave objects", "[data]") {
  const Scene scene(10, 14, {{1, 2, 5, 8}});
  const auto change = with_boxes(R"({"type": "random_brightness_contrast", "prob": 1})");
  BoxedPicture p = scene.made();
  change->apply(p, {RandomStream(3), {}});
  CHECK(p.objects()[0].box == scene.objects[0].box);
  CHECK(p.masks() == scene.masks);
  BoxedPicture before = scene.made();
  const auto a = p.planes().values(), b = before.planes().values();
  CHECK_FALSE(std::equal(a.begin(), a.end(), b.begin()));
  for (const TransformEntry& entry : transforms()) {
    if (!entry.changes.has(kBoxedPictures) || !entry.make_for_pictures) continue;
    INFO(entry.name);
    const schema::Component component{entry.name, {}};
    const bool moves = entry.make_for_pictures(component, "")->moves_pixels();
    const auto made = entry.make_for_boxes(component, "");
    CHECK(moves == (dynamic_cast<const PixelsAlone*>(made.get()) == nullptr));
  }
  // Documentation and schema list them apart from those of other pictures.
  CHECK(transform_choices(kBoxedPictures).kind != transform_choices(kPictures).kind);
  CHECK_THROWS_WITH(with_boxes(R"({"type": "random_crop"})"),
                    Catch::Contains("applies to pictures and pictures with masks, not to pictures "
                                    "with boxes"));
}

TEST_CASE("resize: one of the sizes, each drawn, the longer side bound", "[data]") {
  const Scene scene(30, 40, {{4, 6, 20, 18}});
  const auto resize = with_boxes(R"({"type": "resize", "min_size": [15, 30, 60], "max_size": 70})");
  CHECK(resize->sets_size());
  std::set<std::int64_t> heights;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    BoxedPicture p = scene.made();
    resize->apply(p, {RandomStream(seed), {}});
    heights.insert(p.height());
    CHECK(p.objects()[0].box[2] / static_cast<double>(p.width()) == Approx(0.5));
    CHECK(p.objects()[0].box[3] / static_cast<double>(p.height()) == Approx(0.6));
  }
  CHECK(heights == std::set<std::int64_t>{15, 30, 53});  // 60 would be 80 wide
  CHECK_THROWS_WITH(with_boxes(R"({"type": "resize", "min_size": []})"),
                    Catch::Contains("min_size is empty"));
}

TEST_CASE("random_size_crop: sizes within the range, boxes and masks stay together", "[data]") {
  const Scene scene(60, 90, {{10, 10, 70, 50}});
  const auto crop =
      with_boxes(R"({"type": "random_size_crop", "prob": 1, "min_size": [], "crop": [24, 70]})");
  CHECK_FALSE(crop->sets_size());
  std::set<std::int64_t> heights, widths;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    BoxedPicture p = scene.made();
    crop->apply(p, {RandomStream(seed), {}});
    heights.insert(p.height());
    widths.insert(p.width());
    if (!p.objects().empty()) check_together(p);
  }
  CHECK(*heights.begin() >= 24);
  CHECK(*heights.rbegin() <= 60);  // there is no more
  CHECK(*widths.rbegin() <= 70);
  CHECK(*widths.rbegin() > 60);
  CHECK(heights.size() > 15);
  const auto scaled =
      with_boxes(R"({"type": "random_size_crop", "prob": 1, "min_size": [120], "crop": [80, 80]})");
  BoxedPicture p = scene.made();
  scaled->apply(p, {RandomStream(1), {}});
  CHECK(p.height() == 80);
  CHECK(p.width() == 80);
  const auto never = with_boxes(R"({"type": "random_size_crop", "prob": 0})");
  never->apply(p, {RandomStream(1), {}});
  CHECK(p.height() == 80);
}

TEST_CASE("large_scale_jitter: never above its size, small and large factors", "[data]") {
  const Scene scene(40, 60, {{8, 8, 52, 32}});
  const auto jitter = with_boxes(R"({"type": "large_scale_jitter", "size": 48})");
  CHECK(jitter->sets_size());
  std::int64_t small = 0, full = 0, kept = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    BoxedPicture p = scene.made();
    jitter->apply(p, {RandomStream(seed), {}});
    CHECK(p.height() <= 48);
    CHECK(p.width() <= 48);
    small += p.width() < 48 ? 1 : 0;
    full += p.width() == 48 && p.height() == 48 ? 1 : 0;
    for (std::size_t k = 0; k < p.objects().size(); ++k, ++kept) {
      const auto box = p.objects()[k].box, seen = extent(p, k);
      for (std::size_t side = 0; side < 4; ++side)
        CHECK(seen[side] == Approx(box[side]).margin(1.0));
      CHECK(box[2] <= static_cast<double>(p.width()));
    }
  }
  CHECK(small == Approx(47).margin(20));
  CHECK(full == Approx(26).margin(15));
  CHECK(kept > 80);
}

TEST_CASE("filter_objects: small boxes leave with their masks", "[data]") {
  const Scene scene(20, 20, {{0, 0, 2, 9}, {3, 3, 9, 9}, {10, 10, 14, 13}});
  BoxedPicture p = scene.made();
  with_boxes(R"({"type": "filter_objects", "min_side": 3, "min_area": 13})")
      ->apply(p, {RandomStream(1), {}});
  REQUIRE(p.objects().size() == 1);
  CHECK(p.objects()[0].label == 1);
  CHECK(extent(p, 0) == p.objects()[0].box);
}
