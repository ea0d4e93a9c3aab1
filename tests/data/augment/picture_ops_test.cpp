// RandAugment's operations against Pillow and timm.
#include "data/augment/pictures/picture_ops.h"

#include <catch2/catch.hpp>

#include <charconv>
#include <set>

#include "data/augment/pictures/rand_augment.h"
#include "data/augment/transforms.h"
#include "tensor/safetensors.h"
#include "tests/data/config.h"
#include "tests/data/files.h"
#include "tests/data/readers.h"
#include "tests/support/paths.h"

using namespace fovea;
using namespace fovea::data;
using namespace fovea::data::test;

namespace {

Image picture_of(const Tensor& pixels) {
  const auto values = pixels.values<std::uint8_t>();
  return {pixels.size(0), pixels.size(1), pixels.size(2), {values.begin(), values.end()}};
}

// "Rotate/1/9.3/0/bicubic": operation, increasing, level, other way, interpolation.
std::vector<std::string> words_of(const std::string& key) {
  std::vector<std::string> words(1);
  for (const char c : key) {
    if (c == '/') {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  return words;
}

AugmentOp op_called(const std::string& name) {
  for (const AugmentOp op : all_augment_ops()) {
    if (name_of(op) == name) return op;
  }
  throw ConfigError("no operation " + name);
}

AugmentStyle style(bool increasing = true) {
  return {increasing, Resampling::kBicubic, {124, 116, 104}};
}

std::vector<float> planes(std::int64_t count, int seed) {
  std::vector<float> x;
  for (std::int64_t i = 0; i < count; ++i)
    x.push_back(static_cast<float>((i * 7919 + seed * 31) % 256) / 255.0f);
  return x;
}

}  // namespace

TEST_CASE("rand_augment: every operation gives Pillow's pixels", "[data][fixture]") {
  const Device host(DeviceType::kCpu, heap_memory(), nullptr);
  const TensorFile file = read_safetensors(
      fovea::test::source_dir() + "/tests/fixtures/pillow/rand_augment.safetensors", host);
  std::set<std::string> ops;
  for (const auto& [key, expected] : file.tensors) {
    if (key == "image") continue;
    INFO(key);
    const std::vector<std::string> words = words_of(key);
    REQUIRE(words.size() == 5);
    AugmentStyle own = style(words[1] == "1");
    if (words[4] == "bilinear") own.interpolation = Resampling::kBilinear;
    Image picture = picture_of(file.tensors.at("image"));
    apply(op_called(words[0]), std::stod(words[2]), words[3] == "1", own, picture);
    const Image want = picture_of(expected);
    int different = 0, largest = 0;
    for (std::size_t i = 0; i < want.pixels.size(); ++i) {
      const int distance = std::abs(int{picture.pixels[i]} - int{want.pixels[i]});
      different += distance > 0 ? 1 : 0;
      largest = std::max(largest, distance);
    }
    CHECK(different == 0);
    CHECK(largest == 0);
    ops.insert(words[0]);
  }
  CHECK(ops.size() == all_augment_ops().size());
}

TEST_CASE("rand_augment: magnitude 0 of the increasing set changes nothing", "[data]") {
  // Large enough for equalize, and without the ends that autocontrast stretches to.
  Image original = pattern(32, 40, 3, 5);
  for (std::uint8_t& value : original.pixels) value = static_cast<std::uint8_t>(40 + value / 2);
  for (const AugmentOp op : all_augment_ops()) {
    INFO(name_of(op));
    Image picture = original;
    apply(op, 0, false, style(), picture);
    // Those without a level work whatever it is, and timm's least posterize keeps four bits.
    const bool has_level = op != AugmentOp::kAutoContrast && op != AugmentOp::kEqualize &&
                           op != AugmentOp::kInvert && op != AugmentOp::kPosterize;
    CHECK((picture.pixels == original.pixels) == has_level);
  }
}

TEST_CASE("rand_augment: growing levels change more, both ways", "[data]") {
  const Image original = pattern(16, 16, 3, 2);
  const auto distance = [&](AugmentOp op, double level, bool other_way) {
    Image picture = original;
    apply(op, level, other_way, style(), picture);
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < picture.pixels.size(); ++i)
      sum += std::abs(int{picture.pixels[i]} - int{original.pixels[i]});
    return sum;
  };
  for (const AugmentOp op : {AugmentOp::kSolarize, AugmentOp::kSolarizeAdd, AugmentOp::kColour,
                             AugmentOp::kContrast, AugmentOp::kBrightness, AugmentOp::kSharpness}) {
    INFO(name_of(op));
    CHECK(distance(op, 3, false) < distance(op, 9, false));
    if (op == AugmentOp::kSolarize || op == AugmentOp::kSolarizeAdd) continue;
    CHECK(distance(op, 3, true) < distance(op, 9, true));
  }
}

TEST_CASE("rand_augment: flat, tiny and grey pictures", "[data]") {
  for (const auto& [h, w, c] : {std::tuple{1, 1, 3}, {2, 5, 1}, {7, 3, 3}}) {
    for (const AugmentOp op : all_augment_ops()) {
      INFO(name_of(op) << " " << h << " " << w << " " << c);
      Image flat{h, w, c, std::vector<std::uint8_t>(static_cast<std::size_t>(h * w * c), 77)};
      apply(op, 9, true, {true, Resampling::kBicubic, {77, 77, 77}}, flat);
      const std::set<int> values(flat.pixels.begin(), flat.pixels.end());
      CHECK(values.size() == 1);
    }
  }
}

TEST_CASE("rand_augment: draws two of the operations, each with its probability", "[data]") {
  const auto make = [](const std::string& more) {
    return make_picture_transform(component("{\"type\": \"rand_augment\"" + more + "}"), "augment");
  };
  const std::vector<float> original = planes(3 * 8 * 8, 1);
  const std::vector<double> mean = {0.5, 0.5, 0.5};
  const auto changed = [&](const PictureTransform& transform, int count) {
    int changes = 0;
    for (std::uint64_t seed = 0; seed < static_cast<std::uint64_t>(count); ++seed) {
      std::vector<float> x = original;
      transform.apply({3, 8, 8, x.data()}, {RandomStream(seed), mean});
      changes += x != original ? 1 : 0;
    }
    return changes;
  };
  CHECK(changed(*make(", \"prob\": 0"), 40) == 0);
  CHECK(changed(*make(", \"num_ops\": 0"), 40) == 0);
  // 1 - (1 - 0.5)^2 of the pictures, but for operations that happen to change nothing.
  const int standard = changed(*make(""), 1000);
  CHECK((standard > 620 && standard < 800));
  CHECK(changed(*make(", \"num_ops\": 8, \"prob\": 1"), 40) >= 39);
}

TEST_CASE("picture ops: to 8 bits and back is exact, values outside are cut off", "[data]") {
  Image all{16, 16, 1, {}};
  for (int v = 0; v < 256; ++v) all.pixels.push_back(static_cast<std::uint8_t>(v));
  std::vector<float> x(256);
  to_planes(all, 255, {1, 16, 16, x.data()});
  CHECK(to_image({1, 16, 16, x.data()}).pixels == all.pixels);
  std::vector<float> wild = {-1.0f, 2.0f, 0.4999f / 255, 0.5001f / 255};
  CHECK(to_image({1, 2, 2, wild.data()}).pixels == std::vector<std::uint8_t>{0, 255, 0, 1});
}
