#include "data/streams/stream_dataset.h"

#include <catch2/catch.hpp>

#include <set>

#include "tests/data/config.h"
#include "tests/data/files.h"

using namespace fovea;
using namespace fovea::data;
using namespace fovea::data::test;

namespace {

using StreamIds = std::vector<std::int64_t>;

StreamIds ids_of(const Sample& sample, const char* name) {
  const auto values = sample.at(name).values<std::int64_t>();
  return {values.begin(), values.end()};
}

std::shared_ptr<const Dataset> stream(const std::filesystem::path& root, Split split,
                                      const std::string& more = "") {
  return make_dataset(component("text_stream", root, more), split);
}

const StreamDataset& as_stream(const Dataset& dataset) {
  return dynamic_cast<const StreamDataset&>(dataset);
}

// The bytes that the samples of a part predict, one behind the other.
std::string predicted(const Dataset& dataset) {
  std::string text;
  for (std::int64_t i = 0; i < dataset.size(); ++i) {
    for (const std::int64_t id : ids_of(dataset.get(i), "next")) {
      if (id != StreamDataset::kNoToken) text += static_cast<char>(id);
    }
  }
  return text;
}

}  // namespace

TEST_CASE("text_stream: samples and the tokens behind theirs", "[data]") {
  const Folder folder;
  folder.write("train.txt", "abcdefghij");
  folder.write("valid.txt", "xyz");
  const auto train = stream(folder.path, Split::kTrain, R"("context": 4)");
  REQUIRE(train->size() == 3);
  CHECK(ids_of(train->get(1), "tokens") == StreamIds{'e', 'f', 'g', 'h'});
  CHECK(ids_of(train->get(1), "next") == StreamIds{'f', 'g', 'h', 'i'});
  CHECK(ids_of(train->get(2), "tokens") == StreamIds{'i', 0, 0, 0});
  CHECK(ids_of(train->get(2), "next") == StreamIds{'j', -100, -100, -100});
  CHECK(*train->get(1).at("bytes").data<std::int64_t>() == 4);
  CHECK(*train->get(2).at("bytes").data<std::int64_t>() == 1);
  CHECK(predicted(*train) == "bcdefghij");
  CHECK(train->name(1) == (folder.path / "train.txt").string() + ":4");
  CHECK(train->shape().vocab_size == 256);
  CHECK(train->shape().max_len == 4);
  CHECK(predicted(*stream(folder.path, Split::kVal)) == "yz");
  CHECK_THROWS_AS(stream(folder.path, Split::kTest), ConfigError);
}

TEST_CASE("text_stream: every epoch cuts the training text at other places", "[data]") {
  const Folder folder;
  std::string text;
  for (int i = 0; i < 200; ++i) text += static_cast<char>('0' + i % 64);
  folder.write("train.txt", text);
  folder.write("test.txt", text);
  const auto train = stream(folder.path, Split::kTrain, R"("context": 16)");
  std::set<std::int64_t> starts;
  for (std::int64_t epoch = 0; epoch < 20; ++epoch) {
    const Draw draw{.seed = 3, .epoch = epoch, .augment = true};
    const Sample first = prepared(*train, 0, draw);
    const Sample second = prepared(*train, 1, draw);
    starts.insert(ids_of(first, "tokens")[0]);
    CHECK(ids_of(second, "tokens")[0] == ids_of(first, "next")[15]);
    CHECK(ids_of(prepared(*train, 0, draw), "tokens") == ids_of(first, "tokens"));
    // The last one ends with the text.
    CHECK(ids_of(prepared(*train, 12, draw), "next")[15] == text.back());
    CHECK(ids_of(prepared(*train, 0, {.seed = 3, .epoch = epoch}), "tokens")[0] == '0');
  }
  CHECK(starts.size() > 5);
  const auto fixed = stream(folder.path, Split::kTrain, R"("context": 16, "shift": false)");
  CHECK(ids_of(prepared(*fixed, 0, {.seed = 3, .epoch = 7, .augment = true}), "tokens")[0] == '0');
}

TEST_CASE("text_stream: one text is cut in order", "[data]") {
  const Folder folder;
  std::string text;
  for (int i = 0; i < 100; ++i) text += static_cast<char>('!' + i % 90);
  folder.write("input.txt", text);
  const std::string cut = R"("context": 8, "split": {"val": 0.05, "test": 0.1})";
  CHECK(predicted(*stream(folder.path, Split::kTrain, cut)) == text.substr(1, 84));
  CHECK(predicted(*stream(folder.path, Split::kVal, cut)) == text.substr(86, 4));
  CHECK(predicted(*stream(folder.path, Split::kTest, cut)) == text.substr(91));
  // The same of the file itself.
  CHECK(predicted(*stream(folder.path / "input.txt", Split::kVal, cut)) == text.substr(86, 4));
  CHECK_THROWS_WITH(make_splits(component("text_stream", folder.path)),
                    Catch::Contains("has neither a val nor a test part"));
}

TEST_CASE("text_stream: no character is cut", "[data]") {
  const Folder folder;
  std::string text;
  for (int i = 0; i < 31; ++i) text += "\u6f22";
  folder.write("input.txt", text);
  const std::string cut = R"("split": {"val": 0.3, "test": 0.3})";
  std::size_t bytes = 0;
  for (const Split split : {Split::kTrain, Split::kVal, Split::kTest}) {
    const std::string part = predicted(*stream(folder.path, split, cut));
    CHECK(part.size() % 3 == 2);  // all but the first byte
    bytes += part.size() + 1;
  }
  CHECK(bytes == text.size());
}

TEST_CASE("text_stream: folders of files, names of one's own, encodings", "[data]") {
  const Folder folder;
  folder.write("train/b.txt", "second");
  folder.write("train/a.txt", "first ");
  folder.write("train/notes.md", "not read");
  folder.write("held.txt", "\xe9t\xe9");  // Latin-1
  const std::string more = R"("test_file": "held.txt")";
  CHECK(predicted(*stream(folder.path, Split::kTrain, more)) == "irst second");
  CHECK(predicted(*stream(folder.path, Split::kTest, more)) == "\xa9t\u00e9");
  CHECK_THROWS_WITH(stream(folder.path, Split::kTrain, R"("train_file": "none.txt")"),
                    Catch::Contains("none.txt: not found; see datasets/text_stream.md"));
  folder.write("empty/notes.md", "");
  CHECK_THROWS_WITH(stream(folder.path / "empty", Split::kTrain, R"("split": {"val": 0.1})"),
                    Catch::Contains("holds no .txt"));
  folder.write("short/train.txt", "x");
  CHECK_THROWS_WITH(stream(folder.path / "short", Split::kTrain),
                    Catch::Contains("holds 1 tokens; expected at least 2"));
}

TEST_CASE("text_stream: what is of separate samples is refused", "[data]") {
  const Folder folder;
  folder.write("train.txt", "some text");
  for (const char* more : {R"("split": {"fold": "0/5"})", R"("exclude": ["x"])",
                           R"("split": {"val": 0.1, "stratified": true})"})
    CHECK_THROWS_WITH(stream(folder.path, Split::kTrain, more),
                      Catch::Contains("are of separate samples"));
}

TEST_CASE("text_stream: tokenisers learn from train alone, and go with the weights", "[data]") {
  const Folder folder;
  folder.write("train.txt", "the cat the cat the cat\n");
  folder.write("val.txt", "the dog the dog\n");
  const std::string more =
      R"("context": 4, "tokeniser": {"type": "bpe", "vocab_size": 260, "min_freq": 2})";
  const auto val = stream(folder.path, Split::kVal, more);
  const StreamTokeniser& learned = as_stream(*val).tokeniser();
  CHECK(learned.size() == 260);
  CHECK(learned.encode("dog").size() == 3);
  CHECK(learned.encode("the").size() < 3);
  std::int64_t bytes = 0;
  for (std::int64_t i = 0; i < val->size(); ++i)
    bytes += *val->get(i).at("bytes").data<std::int64_t>();
  const auto first =
      static_cast<std::int64_t>(learned.piece(learned.encode("the dog the dog\n").front()).size());
  CHECK(bytes == 16 - first);

  const auto files = val->weight_files();
  CHECK_NOTHROW(val->check_weight_files(files, "folder"));
  CHECK_THROWS_WITH(val->check_weight_files({}, "folder"),
                    Catch::Contains("tokeniser.json: not found"));
  const auto bytes_only = stream(folder.path, Split::kVal);
  CHECK_THROWS_WITH(bytes_only->check_weight_files(files, "folder"),
                    Catch::Contains("does not fit the data set: 260 tokens against 256"));
  // The tokeniser of the weights takes the place of one that train would give.
  const auto beside = std::make_shared<const WeightFiles>(
      WeightFiles{{{kTokeniserFile, R"({"type": "byte"})"}}, "run"});
  const auto given = make_splits(component("text_stream", folder.path, more), {.weights = beside});
  CHECK(as_stream(*given.train).tokeniser().size() == 256);
}
