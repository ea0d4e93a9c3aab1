#include "data/loader.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include "base/error.h"
#include "data/plan.h"
#include "tests/data/config.h"
#include "tests/data/files.h"

using namespace fovea;
using namespace fovea::data;
using namespace fovea::data::test;

namespace {

Device cpu() { return Device(DeviceType::kCpu, heap_memory(), nullptr); }

std::shared_ptr<const Dataset> noisy_shapes() {
  return make_dataset(component(R"({"type": "synthetic", "train_size": 50, "img_size": 8,
      "augment": ["crop_flip"], "noise": {"train": {"preset": "noisy_train"}}})"),
                      Split::kTrain);
}

std::shared_ptr<const Dataset> noisy_texts(const Folder& folder) {
  folder.write("train.csv", text_table(43));
  return make_dataset(component("text_csv", folder.path, R"("min_freq": 1, "bucket_batches": 2,
      "noise": {"train": {"preset": "noisy_train"}})"),
                      Split::kTrain);
}

// Names, samples, shapes and bytes.
bool same(const Batch& a, const Batch& b) {
  if (a.indices != b.indices || a.number != b.number || a.lengths != b.lengths) return false;
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    const auto bytes = [](const Tensor& t) {
      return std::string_view(reinterpret_cast<const char*>(t.host_memory()),
                              static_cast<std::size_t>(t.bytes()));
    };
    return x.first == y.first && x.second.shape() == y.second.shape() &&
           bytes(x.second) == bytes(y.second);
  });
}

struct Flat {
  std::vector<std::int64_t> indices;
  std::vector<std::int64_t> labels;
  std::vector<std::int64_t> sizes;
  std::vector<float> pixels;
  bool operator==(const Flat&) const = default;
};

Flat drain(Loader& loader) {
  Flat flat;
  while (const auto batch = loader.next()) {
    const auto b = static_cast<std::int64_t>(batch->indices.size());
    CHECK(batch->at("image").shape() == Shape{b, 3, 8, 8});
    CHECK(batch->at("label").shape() == Shape{b});
    flat.indices.insert(flat.indices.end(), batch->indices.begin(), batch->indices.end());
    for (const std::int64_t label : batch->at("label").values<std::int64_t>())
      flat.labels.push_back(label);
    for (const float pixel : batch->at("image").values<float>()) flat.pixels.push_back(pixel);
    flat.sizes.push_back(b);
  }
  return flat;
}

LoaderOptions training(std::int64_t workers) {
  return {.batch_size = 8,
          .num_workers = workers,
          .prefetch = 2,
          .shuffle = true,
          .augment = true,
          .seed = 3};
}

}  // namespace

TEST_CASE("loader: batches do not depend on the number of workers or the prefetch", "[data]") {
  const auto dataset = noisy_shapes();
  Loader reference(dataset, training(0), cpu());
  reference.start(5);
  const Flat expected = drain(reference);
  CHECK(expected.sizes == std::vector<std::int64_t>{8, 8, 8, 8, 8, 8, 2});
  auto sorted = expected.indices;
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::int64_t> all(50);
  std::iota(all.begin(), all.end(), std::int64_t{0});
  CHECK(sorted == all);
  CHECK(expected.indices != all);
  for (std::size_t k = 0; k < 50; ++k)
    CHECK(expected.labels[k] == dataset->label(expected.indices[k]));
  for (const std::int64_t workers : {1, 3}) {
    for (const std::int64_t prefetch : {1, 5}) {
      LoaderOptions options = training(workers);
      options.prefetch = prefetch;
      Loader loader(noisy_shapes(), options, cpu());
      loader.start(5);
      CHECK(drain(loader) == expected);
    }
  }
}

TEST_CASE("loader: another epoch or seed gives another order and other noise", "[data]") {
  Loader loader(noisy_shapes(), training(1), cpu());
  loader.start(0);
  const Flat first = drain(loader);
  loader.start(1);
  const Flat second = drain(loader);
  CHECK(first.indices != second.indices);
  loader.start(0);
  CHECK(drain(loader) == first);
  LoaderOptions other = training(1);
  other.seed = 4;
  Loader changed(noisy_shapes(), other, cpu());
  changed.start(0);
  CHECK(drain(changed).indices != first.indices);
}

TEST_CASE("loader: an epoch entered in the middle continues bit for bit", "[data]") {
  const auto workers = GENERATE(0, 1, 3);
  Loader whole(noisy_shapes(), training(0), cpu());
  whole.start(2);
  const Flat expected = drain(whole);
  Loader loader(noisy_shapes(), training(workers), cpu());
  for (const std::int64_t first : {0, 1, 4, 6, 7}) {
    loader.start(2, first);
    const Flat rest = drain(loader);
    const auto skip = std::min<std::int64_t>(first * 8, 50);
    CHECK(rest.indices ==
          std::vector<std::int64_t>(expected.indices.begin() + skip, expected.indices.end()));
    CHECK(rest.pixels ==
          std::vector<float>(expected.pixels.begin() + skip * 192, expected.pixels.end()));
  }
  CHECK_THROWS_AS(loader.start(2, 8), ConfigError);
  CHECK_THROWS_AS(loader.start(2, -1), ConfigError);
}

TEST_CASE("loader: processes that share an epoch have each of its batches once", "[data]") {
  const auto workers = GENERATE(0, 2);
  const std::int64_t first = 1;
  Loader whole(noisy_shapes(), training(0), cpu());
  whole.start(2, first);
  std::vector<Batch> expected;
  while (auto batch = whole.next()) expected.push_back(std::move(*batch));
  REQUIRE(expected.size() == 6);  // numbers 1 to 6, in groups of four: 1 2 3 4, 5 6
  const std::vector<std::vector<std::int64_t>> owned{{1, 4, 5}, {2, 6}, {3}};
  for (std::int64_t rank = 0; rank < 3; ++rank) {
    LoaderOptions options = training(workers);
    options.share = {.group = 4, .ranks = 3, .rank = rank};
    Loader loader(noisy_shapes(), options, cpu());
    CHECK(loader.num_batches() == whole.num_batches());
    loader.start(2, first);
    for (const std::int64_t number : owned[static_cast<std::size_t>(rank)]) {
      const auto batch = loader.next();
      REQUIRE(batch);
      CHECK(same(*batch, expected[static_cast<std::size_t>(number - first)]));
    }
    CHECK_FALSE(loader.next());
  }
}

TEST_CASE("loader: balanced draws have every class equally often, and resume bit for bit",
          "[data]") {
  // Class 0 has 60 samples, class 1 has 12; class 2 none.
  const Folder folder;
  std::string rows = "text,label\n";
  for (int i = 0; i < 72; ++i) rows += "word" + std::to_string(i) + (i < 60 ? ",a\n" : ",b\n");
  folder.write("train.csv", rows);
  const auto dataset =
      make_dataset(component("text_csv", folder.path, R"("min_freq": 1)"), Split::kTrain);
  PlanOptions options{.batch_size = 8, .shuffle = true, .seed = 3, .balanced = true};
  std::map<std::int64_t, int> draws;
  std::set<std::pair<std::int64_t, std::int64_t>> different;
  int rare = 0, samples = 0;
  for (std::int64_t epoch = 0; epoch < 50; ++epoch) {
    different.clear();
    for (const auto& batch : plan_batches(*dataset, options, epoch)) {
      for (const PlannedSample& sample : batch) {
        ++samples;
        ++draws[sample.index];
        rare += dataset->label(sample.index) == 1 ? 1 : 0;
        CHECK(different.emplace(sample.index, sample.copy).second);
      }
    }
  }
  CHECK(samples == 50 * 72);
  // 3600 draws: half of them within four standard deviations of 30.
  CHECK(std::abs(rare - 1800) < 120);
  CHECK(draws.size() == 72);
  for (const auto& [index, count] : draws)
    CHECK(std::abs(count - (index < 60 ? 30 : 150)) < (index < 60 ? 25 : 55));
  CHECK(plan_batches(*dataset, options, 1) != plan_batches(*dataset, options, 2));
  options.seed = 4;
  CHECK(plan_batches(*dataset, options, 1) !=
        plan_batches(*dataset, {.batch_size = 8, .shuffle = true, .seed = 3, .balanced = true}, 1));

  LoaderOptions loading = training(2);
  loading.balanced = true;
  Loader whole(noisy_shapes(), loading, cpu());
  whole.start(2);
  const Flat expected = drain(whole);
  std::set<std::int64_t> distinct(expected.indices.begin(), expected.indices.end());
  CHECK(distinct.size() < expected.indices.size());
  loading.num_workers = 0;
  Loader resumed(noisy_shapes(), loading, cpu());
  resumed.start(2, 4);
  const Flat rest = drain(resumed);
  CHECK(rest.indices ==
        std::vector<std::int64_t>(expected.indices.begin() + 32, expected.indices.end()));
  CHECK(rest.pixels ==
        std::vector<float>(expected.pixels.begin() + 32 * 192, expected.pixels.end()));
}

TEST_CASE("loader: file order, last batch, end and beginning", "[data]") {
  LoaderOptions options{.batch_size = 8, .num_workers = 1};
  Loader keep(noisy_shapes(), options, cpu());
  CHECK(keep.num_batches() == 7);
  CHECK_FALSE(keep.next());  // before start
  keep.start(0);
  const Flat flat = drain(keep);
  CHECK(std::is_sorted(flat.indices.begin(), flat.indices.end()));
  CHECK_FALSE(keep.next());
  CHECK(keep.wait_seconds() > 0.0);
}

TEST_CASE("loader: evaluation noise is the same in every pass", "[data]") {
  LoaderOptions options{.batch_size = 16, .num_workers = 1, .corruption = NoiseLevel{"shot", 0.3}};
  Loader loader(noisy_shapes(), options, cpu());
  loader.start(0);
  const Flat first = drain(loader);
  loader.start(0);
  CHECK(drain(loader) == first);
  options.corruption.reset();
  Loader clean(noisy_shapes(), options, cpu());
  clean.start(0);
  CHECK(drain(clean).pixels != first.pixels);
}

TEST_CASE("loader: may be destroyed or restarted at any moment", "[data]") {
  const Folder folder;
  const bool texts = GENERATE(false, true);
  const auto dataset = texts ? noisy_texts(folder) : noisy_shapes();
  const Loader counted(dataset, training(0), cpu());
  for (int taken = 0; taken < 12; ++taken) {
    Loader loader(dataset, training(3), cpu());
    if (taken > 0) loader.start(taken);
    for (int k = 1; k < taken; ++k) loader.next();
    if (taken % 2 == 0) loader.start(0, taken / 2 % counted.num_batches());
  }
  Loader loader(dataset, training(3), cpu());
  Loader reference(dataset, training(0), cpu());
  for (int epoch = 0; epoch < 40;
       ++epoch) {  // restarts while workers hold batches of the last pass
    const std::int64_t first = epoch % counted.num_batches();
    loader.start(epoch, first);
    reference.start(epoch, first);
    CHECK(same(*loader.next(), *reference.next()));
  }
}

TEST_CASE("loader: texts come in the same batches, however many workers prepare them", "[data]") {
  const Folder folder;
  const auto dataset = noisy_texts(folder);
  LoaderOptions options = training(0);
  options.shuffle = options.augment = GENERATE(false, true);
  Loader reference(dataset, options, cpu());
  for (const std::int64_t workers : {1, 3}) {
    options.num_workers = workers;
    Loader loader(dataset, options, cpu());
    for (const std::int64_t first : {0, 2}) {
      reference.start(7, first);
      loader.start(7, first);
      while (const auto expected = reference.next()) CHECK(same(*loader.next(), *expected));
      CHECK_FALSE(loader.next());
    }
  }
}

TEST_CASE("loader: batches stay valid after the loader is gone", "[data]") {
  std::optional<Batch> batch;
  {
    Loader loader(noisy_shapes(), training(2), cpu());
    loader.start(0);
    batch = loader.next();
  }
  Loader again(noisy_shapes(), training(0), cpu());
  again.start(0);
  const auto expected = again.next();
  CHECK(std::ranges::equal(batch->at("image").values<float>(),
                           expected->at("image").values<float>()));
}

TEST_CASE("loader: a bad file ends the epoch with its name, at its batch", "[data]") {
  const Folder folder;
  for (int k = 0; k < 9; ++k) {
    const std::string name = "train/cat/" + std::to_string(k) + ".png";
    folder.write(name, k == 4 ? "damaged" : encode_png(pattern(8, 8, 3, k)));
  }
  const auto workers = GENERATE(0, 1, 3);
  Loader loader(make_dataset(component("image_folder", folder.path), Split::kTrain),
                {.batch_size = 2, .num_workers = workers}, cpu());
  loader.start(0);
  CHECK(loader.next()->indices == std::vector<std::int64_t>{0, 1});
  CHECK(loader.next()->indices == std::vector<std::int64_t>{2, 3});
  CHECK_THROWS_WITH(loader.next(), Catch::Contains("cat/4.png: is not a PNG"));
  CHECK_THROWS_AS(loader.next(), FileError);
  loader.start(0, 3);
  CHECK(loader.next()->indices == std::vector<std::int64_t>{6, 7});
}

TEST_CASE("loader: bad files are left out, counted once and named", "[data]") {
  const Folder folder;
  for (int k = 0; k < 7; ++k) {
    const std::string name = "train/cat/" + std::to_string(k) + ".png";
    folder.write(name, k == 0 || k >= 5 ? "damaged" : encode_png(pattern(8, 8, 3, k)));
  }
  const auto workers = GENERATE(0, 2);
  const auto dataset = make_dataset(
      component("image_folder", folder.path, R"("on_bad_sample": "skip")"), Split::kTrain);
  Loader loader(dataset, {.batch_size = 3, .num_workers = workers}, cpu());
  for (int epoch = 0; epoch < 2; ++epoch) {
    loader.start(epoch);
    const Flat flat = drain(loader);
    CHECK(flat.indices == std::vector<std::int64_t>{1, 2, 3, 4});
    CHECK(flat.sizes == std::vector<std::int64_t>{2, 2});
  }
  const auto skipped = loader.skipped();
  REQUIRE(skipped.size() == 3);
  CHECK_THAT(skipped[0], Catch::Contains("0.png"));
  CHECK_THAT(skipped[2], Catch::Contains("6.png"));
}

TEST_CASE("loader: options out of range and other devices are refused", "[data]") {
  const auto dataset = noisy_shapes();
  CHECK_THROWS_AS(Loader(dataset, {.batch_size = 0}, cpu()), ConfigError);
  CHECK_THROWS_AS(Loader(dataset, {.num_workers = -1}, cpu()), ConfigError);
  CHECK_THROWS_AS(Loader(dataset, {.prefetch = 0}, cpu()), ConfigError);
  CHECK_THROWS_AS(Loader(dataset, {}, Device(DeviceType::kMeta, heap_memory(), nullptr)),
                  BackendError);
}
