// The same seed gives the same batches for ever: their order, augmentation and noise, bit for bit.
#include <catch2/catch.hpp>

#include "base/hash.h"
#include "data/loader.h"
#include "tests/data/config.h"
#include "tests/data/files.h"

using namespace fovea;
using namespace fovea::data;
using namespace fovea::data::test;

namespace {

template <class T>
void add(std::string& bytes, std::span<const T> values) {
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
}

// Of all batches of an epoch: which samples, and what is in them.
std::string hash_of(const schema::Component& component, Split split, const LoaderOptions& options,
                    std::int64_t epoch) {
  Loader loader(make_dataset(component, split), options,
                Device(DeviceType::kCpu, heap_memory(), nullptr));
  loader.start(epoch);
  std::string bytes;
  while (const auto batch = loader.next()) {
    add<std::int64_t>(bytes, batch->indices);
    for (const auto& [name, tensor] : *batch) {
      bytes.append(reinterpret_cast<const char*>(tensor.host_memory()),
                   static_cast<std::size_t>(tensor.bytes()));
    }
  }
  return hash_bytes(bytes);
}

LoaderOptions golden_training(std::int64_t batch_size) {
  return {.batch_size = batch_size,
          .num_workers = GENERATE(0, 2),
          .shuffle = true,
          .augment = true,
          .seed = 3};
}

LoaderOptions noisy(std::int64_t batch_size, const NoiseLevel& noise) {
  return {.batch_size = batch_size, .num_workers = GENERATE(0, 2), .seed = 5, .corruption = noise};
}

}  // namespace

TEST_CASE("golden batches: images with classes", "[data]") {
  const auto shapes = component(R"({"type": "synthetic", "train_size": 50, "test_size": 20,
      "img_size": 12, "augment": ["crop_flip", {"type": "random_erasing", "prob": 0.5}],
      "noise": {"train": {"preset": "noisy_train"}}})");
  CHECK(hash_of(shapes, Split::kTrain, golden_training(8), 4) == "01a631175359f905");
  CHECK(hash_of(shapes, Split::kTest, noisy(7, {"motion_blur", 0.3}), 0) == "8743abeefb064c12");
}

TEST_CASE("golden batches: images with masks", "[data]") {
  const Folder folder;
  for (int i = 0; i < 9; ++i) {
    const std::string name = std::to_string(i) + ".png";
    folder.write("images/" + name, encode_png(pattern(14 + i, 17, 3, i)));
    folder.write("masks/" + name, encode_png(mask_pattern(14 + i, 17, i)));
  }
  const auto pairs = component("paired_folder", folder.path, R"("img_size": 10,
      "split": {"test": 0.3}, "mask_resize": "bilinear",
      "augment": ["random_rotation", "random_resized_crop", "horizontal_flip"],
      "noise": {"train": {"types": ["gaussian"], "prob": 0.7}})");
  CHECK(hash_of(pairs, Split::kTrain, golden_training(4), 1) == "663090337f3d7c57");
  CHECK(hash_of(pairs, Split::kTest, noisy(7, {"motion_blur", 0.3}), 0) == "57de943785760d60");
}

TEST_CASE("golden batches: texts", "[data]") {
  const Folder folder;
  folder.write("train.csv", text_table(43));
  folder.write("test.csv", text_table(11));
  const auto texts = component("text_csv", folder.path, R"("min_freq": 1, "max_len": 7,
      "bucket_batches": 3, "noise": {"train": {"preset": "noisy_train"}})");
  CHECK(hash_of(texts, Split::kTrain, golden_training(4), 2) == "4e9aec33fce2e217");
  CHECK(hash_of(texts, Split::kTest, noisy(3, {"insert", 0.4}), 0) == "48c3293f48210f00");
}
