// From samples to batches: one rule a name.
#include "data/collate.h"

#include <catch2/catch.hpp>

#include <array>

#include "base/error.h"

using namespace fovea;
using namespace fovea::data;

namespace {

Device host() { return Device(DeviceType::kCpu, heap_memory(), nullptr); }

const std::vector<Field> kFields = {
    {"image", DType::kFloat32, Collate::kStack, {2, 3}},
    {"label", DType::kInt64, Collate::kStack, {}},
    {"tokens", DType::kInt64, Collate::kPad, {}},
    {"sound", DType::kFloat32, Collate::kPad, {2}, 4},
    {"boxes", DType::kFloat32, Collate::kList, {4}},
};

// Sample `n` has n tokens, n pieces of sound and n boxes.
void fill(Sample& sample, std::int64_t n) {
  const auto value = static_cast<float>(n);
  for (float& pixel : sample.at("image").values<float>()) pixel = value;
  *sample.at("label").data<std::int64_t>() = n;
  const auto count = static_cast<std::size_t>(n);
  sample.set("tokens", Tensor::from(std::vector<std::int64_t>(count, 10 * n), {n}, host()));
  sample.set("sound", Tensor::from(std::vector<float>(2 * count, value), {n, 2}, host()));
  sample.set("boxes", Tensor::from(std::vector<float>(4 * count, value), {n, 4}, host()));
  sample.geometry.original_size = {n, n};
  sample.index = 100 + n;
}

template <class T>
std::vector<T> list(const Tensor& tensor) {
  const auto values = tensor.values<T>();
  return {values.begin(), values.end()};
}

}  // namespace

TEST_CASE("collate: stacked, padded and listed tensors of a batch", "[data]") {
  Collator collator(kFields, 3, host());
  Sample sample;
  for (const std::int64_t n : {2, 0, 3}) {
    collator.next(sample);
    fill(sample, n);
    collator.add(sample);
  }
  CHECK_THROWS_WITH(collator.next(sample), Catch::Contains("has 3 rows, which are all taken"));
  const Batch batch = collator.finish();
  CHECK(batch.size() == 3);
  CHECK(batch.indices == std::vector<std::int64_t>{102, 100, 103});
  CHECK(batch.at("image").shape() == Shape{3, 2, 3});
  CHECK(list<float>(batch.at("image"))[17] == 3.0f);
  CHECK(list<std::int64_t>(batch.at("label")) == std::vector<std::int64_t>{2, 0, 3});
  CHECK(batch.at("tokens").shape() == Shape{3, 3});
  CHECK(list<std::int64_t>(batch.at("tokens")) ==
        std::vector<std::int64_t>{20, 20, 0, 0, 0, 0, 30, 30, 30});
  CHECK(batch.lengths.at("tokens") == std::vector<std::int64_t>{2, 0, 3});
  CHECK(batch.at("sound").shape() == Shape{3, 4, 2});  // at least 4 long
  CHECK(list<float>(batch.at("sound")) ==
        std::vector<float>{2, 2, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 3, 3, 3, 3, 3, 0, 0});
  CHECK(batch.lengths.count("image") == 0);
  REQUIRE(batch.lists.at("boxes").size() == 3);
  CHECK(batch.lists.at("boxes")[1].shape() == Shape{0, 4});
  CHECK(batch.lists.at("boxes")[2].shape() == Shape{3, 4});
  CHECK(batch.geometry[2].original_size == std::vector<std::int64_t>{3, 3});
  CHECK_FALSE(batch.has("boxes"));
  CHECK_THROWS_WITH(batch.at("mask"),
                    Catch::Contains("holds no \"mask\"; it holds image, label, tokens, sound"));
}

TEST_CASE("collate: samples are written where they stay, and left out without a trace", "[data]") {
  Collator collator(kFields, 3, host());
  const void* first = nullptr;
  Sample sample;
  for (const std::int64_t n : {4, 5, 6}) {
    collator.next(sample);
    fill(sample, n);
    if (n == 4) first = sample.at("image").host_memory();
    if (n != 5) collator.add(sample);  // 5 could not be read
  }
  const Batch batch = collator.finish();
  CHECK(batch.at("image").host_memory() == first);
  CHECK(batch.at("image").shape() == Shape{2, 2, 3});
  CHECK(list<std::int64_t>(batch.at("label")) == std::vector<std::int64_t>{4, 6});
  CHECK(batch.lengths.at("tokens") == std::vector<std::int64_t>{4, 6});
  CHECK(Collator(kFields, 3, host()).finish().size() == 0);
}

TEST_CASE("collate: a sample that is not what its data set says is refused by name", "[data]") {
  const auto refused = [](const char* name, const Tensor& tensor, const std::string& part) {
    Collator collator(kFields, 1, host());
    Sample sample;
    collator.next(sample);
    fill(sample, 2);
    sample.set(name, tensor);
    CHECK_THROWS_WITH(collator.add(sample), Catch::Contains(part));
  };
  refused("tokens", Tensor::from(std::vector<float>{1}, {1}, host()),
          "\"tokens\" of a sample is float32 (1)");
  refused("boxes", Tensor::from(std::vector<float>{1, 2}, {1, 2}, host()),
          "expected float32 any number of (4)");
  refused("sound", Tensor::from(std::vector<float>{1, 2}, {2}, host()), "any number of (2)");
  refused("image", Tensor::empty({3, 3}, DType::kFloat32, host()), "is float32 (3, 3)");
  refused("image", Tensor::empty({2, 3}, DType::kFloat32, host()), "was replaced");
  Collator collator(kFields, 1, host());
  Sample sample;
  collator.next(sample);
  CHECK_THROWS_WITH(collator.add(sample), Catch::Contains("holds no \"tokens\""));
}

TEST_CASE("collate: images of different sizes grow to the largest, zeros behind", "[data]") {
  Field image{"image", DType::kFloat32, Collate::kGrow, {2, kAnySize, kAnySize}};
  image.multiple = 4;
  const std::vector<Field> fields = {
      image, {"masks", DType::kUint8, Collate::kList, {kAnySize, kAnySize}}};
  Collator collator(fields, 3, host());
  Sample sample;
  const std::vector<std::array<std::int64_t, 2>> sizes = {{2, 5}, {3, 1}};
  for (const auto& [h, w] : sizes) {
    collator.next(sample);
    std::vector<float> pixels(static_cast<std::size_t>(2 * h * w));
    for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<float>(i + 1);
    sample.set("image", Tensor::from(pixels, {2, h, w}, host()));
    sample.set("masks", Tensor::empty({h - 2, h, w}, DType::kUint8, host()));  // none and one
    collator.add(sample);
  }
  const Batch batch = collator.finish();
  const Tensor& images = batch.at("image");
  REQUIRE(images.shape() == Shape{2, 2, 4, 8});
  for (std::int64_t n = 0; n < 2; ++n) {
    const auto [h, w] = sizes[static_cast<std::size_t>(n)];
    for (std::int64_t c = 0; c < 2; ++c) {
      for (std::int64_t i = 0; i < 4; ++i) {
        for (std::int64_t j = 0; j < 8; ++j) {
          INFO(n << " " << c << " " << i << " " << j);
          const bool inside = i < h && j < w;
          const auto own = static_cast<float>((c * h + i) * w + j + 1);
          CHECK(images.data<float>()[((n * 2 + c) * 4 + i) * 8 + j] == (inside ? own : 0.0f));
        }
      }
    }
  }
  CHECK(batch.lists.at("masks")[0].shape() == Shape{0, 2, 5});
  CHECK(batch.lists.at("masks")[1].shape() == Shape{1, 3, 1});
}

TEST_CASE("collate: axes that are not free must fit", "[data]") {
  const std::vector<Field> fields = {
      {"image", DType::kFloat32, Collate::kGrow, {2, kAnySize, kAnySize}}};
  Collator collator(fields, 1, host());
  Sample sample;
  collator.next(sample);
  sample.set("image", Tensor::empty({3, 4, 4}, DType::kFloat32, host()));
  CHECK_THROWS_WITH(collator.add(sample), Catch::Contains("(3, 4, 4)"));
  sample.set("image", Tensor::empty({4, 4}, DType::kFloat32, host()));
  CHECK_THROWS_AS(collator.add(sample), ShapeError);
}
