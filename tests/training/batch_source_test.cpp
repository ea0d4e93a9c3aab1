// Batches of a task, whatever the data are.
#include "training/batch_source.h"

#include <catch2/catch.hpp>

#include <cstdlib>

#include "base/error.h"
#include "data/registry.h"
#include "tests/support/tensors.h"
#include "tests/training/toy_task.h"

using namespace fovea;
using training::BatchSource;

namespace {

// Two kinds of data with their noise; of the texts one has no word.
struct Kind {
  const char* input;
  const char* noise;
  const char* others;
  std::size_t types;
};
constexpr Kind kImages{"image", "shot", "replace", 10};
constexpr Kind kTexts{"tokens", "replace", "shot", 5};

std::shared_ptr<const data::Dataset> opened(const Kind& kind, const test::Folder& folder) {
  if (std::string(kind.input) == "image") {
    return data::make_dataset(
        test::component(R"({"type": "synthetic", "img_size": 8, "test_size": 20})"),
        data::Split::kTest);
  }
  std::string table = "text,label\n";
  for (int i = 0; i < 21; ++i) {
    for (int k = 0; k <= i * 5 % 11; ++k) table += "w" + std::to_string(i * 3 % 7 + k) + " ";
    table += i % 2 == 0 ? "good,yes\n" : "bad,no\n";
  }
  io::write_atomic(folder.path / "train.csv", table);
  io::write_atomic(folder.path / "test.csv", table + "\"\"\"\",no\n");
  return data::make_dataset(
      test::component(R"({"type": "text_csv", "on_empty": "skip", "root": ")" +
                      folder.path.string() + "\"}"),
      data::Split::kTest);
}

}  // namespace

TEST_CASE("batch source: one sample as evaluation sees it, and noise by name", "[training]") {
  const Kind kind = GENERATE(kImages, kTexts);
  const test::Folder folder("batch_source");
  training::BatchOptions options;
  options.train.batch_size = 8;
  options.host = test::cpu();
  BatchSource source({nullptr, nullptr, opened(kind, folder)}, options);
  CHECK(source.fields().front().name == kind.input);
  CHECK_FALSE(source.has(data::Split::kTrain));
  CHECK(source.batches_per_epoch() == 0);
  CHECK_THROWS_WITH(source.at(data::Split::kTrain), Catch::Contains("no split \"train\""));
  CHECK(source.noise_types().size() == kind.types);
  std::int64_t samples = 0;
  source.each_batch(data::Split::kTest, {}, [&](const data::Batch& batch) {
    for (std::size_t i = 0; i < batch.indices.size(); ++i) {
      const auto row = static_cast<std::int64_t>(i);
      const data::Batch one = source.one(data::Split::kTest, batch.indices[i]);
      CHECK(one.size() == 1);
      CHECK(one.at("label").item<std::int64_t>() == batch.at("label").values<std::int64_t>()[i]);
      const Tensor& alone = one.at(kind.input);
      if (alone.dtype() == DType::kFloat32) {
        CHECK(test::max_difference(alone, batch.at("image").rows(row, row + 1)) == 0);
        continue;
      }
      const auto ids = alone.values<std::int64_t>();
      const Tensor padded = batch.at("tokens").rows(row, row + 1);
      CHECK(std::equal(ids.begin(), ids.end(), padded.values<std::int64_t>().begin()));
      CHECK(batch.lengths.at("tokens")[i] == std::ssize(ids));
    }
    samples += batch.size();
  });
  CHECK(samples == source.at(data::Split::kTest).size());
  const auto count = [](const auto&) {};
  CHECK_NOTHROW(
      source.each_batch(data::Split::kTest, training::NoiseLevel{kind.noise, 0.5}, count));
  CHECK_THROWS_WITH(
      source.each_batch(data::Split::kTest, training::NoiseLevel{kind.others, 0.5}, count),
      Catch::Contains(kind.others));
}

TEST_CASE("batch source: samples that were left out are counted", "[training]") {
  const test::Folder folder("batch_source_skipped");
  training::BatchOptions options;
  options.host = test::cpu();
  BatchSource source({nullptr, nullptr, opened(kTexts, folder)}, options);
  CHECK(source.skipped_samples() == 1);
  const std::string images("\0\0\x08\x03\0\0\0\x03\0\0\0\x01\0\0\0\x01\x07\x09\x0b", 19);
  const std::string labels("\0\0\x08\x01\0\0\0\x03\x01\x63\x02", 11);
  for (const char* part : {"train", "t10k"}) {
    io::write_atomic(folder.path / (std::string(part) + "-images-idx3-ubyte"), images);
    io::write_atomic(folder.path / (std::string(part) + "-labels-idx1-ubyte"), labels);
  }
  const auto mnist = data::make_splits(test::component(
      R"({"type": "mnist", "on_bad_sample": "skip", "root": ")" + folder.path.string() + "\"}"));
  CHECK(BatchSource(mnist, options).skipped_samples() == 2);  // a label of 99 in each part
}

TEST_CASE("batch source: a balanced sampler needs classes, and draws each equally often",
          "[training]") {
  training::BatchOptions options;
  options.train.batch_size = 8;
  options.train.sampler = training::Sampler::kBalanced;
  options.host = test::cpu();
  const auto open = [](const std::string& json) {
    return data::make_dataset(test::component(json), data::Split::kTrain);
  };
  const auto shapes = open(R"({"type": "synthetic", "img_size": 8, "train_size": 80})");
  BatchSource source({shapes, nullptr, nullptr}, options);
  CHECK(source.class_counts() == std::vector<std::int64_t>(4, 20));
  CHECK(source.batches_per_epoch() == 10);
  std::vector<std::int64_t> drawn(4, 0);
  source.start_epoch(0, 0);
  while (const auto batch = source.next())
    for (const std::int64_t label : batch->at("label").values<std::int64_t>())
      ++drawn[static_cast<std::size_t>(label)];
  for (const std::int64_t count : drawn) CHECK(std::abs(count - 20) < 15);
  CHECK(drawn != std::vector<std::int64_t>(4, 20));
  CHECK(BatchSource({nullptr, nullptr, open(R"({"type": "synthetic", "img_size": 8})")}, options)
            .class_counts()
            .empty());
  CHECK_THROWS_WITH(
      BatchSource({open(R"({"type": "synthetic_volumes", "train_size": 2})"), nullptr, nullptr},
                  options),
      Catch::Contains("train.sampler: balanced draws samples by their class"));
}
