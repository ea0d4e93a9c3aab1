// Readers, splits and batches of texts.
#include <catch2/catch.hpp>

#include <numeric>
#include <set>

#include "backend/devices.h"
#include "base/error.h"
#include "data/loader.h"
#include "tests/data/config.h"
#include "tests/data/files.h"

using namespace fovea;
using namespace fovea::data;
using fovea::data::test::component;
using fovea::data::test::make_texts;
using fovea::data::test::text_table;
using fovea::data::test::Texts;

namespace {

void write(const std::filesystem::path& path, const std::string& text) {
  io::make_directories(path.parent_path());
  io::write_atomic(path, text);
}

Texts small(const std::filesystem::path& root, const std::string& more = "") {
  write(root / "train.csv", text_table(43));
  write(root / "test.csv", text_table(10));
  return make_texts(component("text_csv", root, more));
}

std::vector<Batch> batches_of(Loader& loader, std::int64_t epoch, std::int64_t first = 0) {
  std::vector<Batch> all;
  loader.start(epoch, first);
  while (auto batch = loader.next()) all.push_back(std::move(*batch));
  return all;
}

}  // namespace

TEST_CASE("text_csv: classes, words, labels and names", "[data]") {
  const test::Folder folder;
  const Texts texts = small(folder.path, "\"min_freq\": 3, \"max_len\": 4");
  CHECK(texts.val == nullptr);
  const TextDataset& train = *texts.train;
  CHECK(train.class_names() == std::vector<std::string>{"no", "yes"});
  CHECK(train.size() == 43);
  CHECK(train.label(0) == 1);
  CHECK_THAT(train.name(1), Catch::EndsWith("train.csv:3"));
  CHECK(train.words(0) == std::vector<std::string>{"w0", "good"});
  CHECK(train.words_of(train.text(0)) == train.words(0));
  CHECK(train.ids_of(train.words(0)) == train.encode(0));
  CHECK(train.ids_of(train.words_of("Good  unheard-of")) ==
        Ids{train.vocabulary().id("good"), Vocabulary::kUnknown});
  CHECK(train.ids_of({}) == Ids{Vocabulary::kUnknown});
  const ReadText read = train.read("good unheard-of good good good good");
  CHECK(read.words == std::vector<std::string>{"good", "unheard-of", "good", "good"});
  CHECK(read.ids == train.ids_of(read.words));
  CHECK(read.unknown() == std::vector<std::size_t>{1});
  CHECK(read.cut == 2);
  CHECK(train.read("").words == std::vector<std::string>{"<unk>"});
  CHECK(train.read("").unknown().size() == 1);
  CHECK(train.vocabulary().token(train.encode(0)[1]) == "good");
  CHECK(&texts.test->vocabulary() == &train.vocabulary());
  for (std::int64_t i = 0; i < train.size(); ++i) {
    CHECK(std::ssize(train.encode(i)) == train.length(i));
    CHECK(train.length(i) <= 4);
  }
}

TEST_CASE("texts: validation parts and limits", "[data]") {
  const test::Folder folder;
  const Texts fraction = small(folder.path, "\"split\": {\"val\": 0.2}");
  CHECK(fraction.train->size() == 18 + 17);  // of 22 and 21
  CHECK(fraction.val->size() == 8);
  const Texts every = small(folder.path, "\"val_every\": 5");
  REQUIRE(every.val->size() == 8);
  CHECK(every.val->source_index(0) == 8);  // the fifth of the first class
  CHECK(every.val->source_index(1) == 9);
  const Texts limited = small(folder.path, "\"limit\": {\"train\": 2}, \"min_freq\": 1");
  CHECK(limited.train->size() == 2);
  CHECK(limited.train->vocabulary().size() < every.train->vocabulary().size());
  CHECK_THROWS_WITH(small(folder.path, "\"val_every\": 5, \"split\": {\"val\": 0.2}"),
                    Catch::Contains("choose one of them"));
}

TEST_CASE("texts: a given vocabulary is used instead of one counted on train", "[data]") {
  const test::Folder folder;
  small(folder.path);
  const auto given = std::make_shared<const WeightFiles>(
      WeightFiles{{{kVocabularyFile, Vocabulary({"good"}).to_text()}}, "run"});
  const Texts texts = make_texts(component("text_csv", folder.path), {.weights = given});
  CHECK(texts.test->encode(0) == Ids{1, 2});
}

TEST_CASE("texts: files that do not fit are refused in one line", "[data]") {
  const test::Folder folder;
  const auto root = folder.path;
  const auto refuses = [&](const std::string& train, const std::string& message,
                           const std::string& more = "") {
    INFO(message);
    write(root / "train.csv", train);
    write(root / "test.csv", text_table(4));
    const auto open = [&] { make_texts(component("text_csv", root, more)); };
    CHECK_THROWS_WITH(open(), Catch::Contains(message));
    try {
      open();
    } catch (const Error& error) {
      CHECK(std::string(error.what()).find('\n') == std::string::npos);
    }
  };
  CHECK_THROWS_WITH(make_texts(component("text_csv", root)),
                    Catch::Contains("train.csv: not found; see datasets/text_csv.md"));
  refuses("", "train.csv: is empty; expected rows of a table");
  refuses("text,lable\na,b\n", "train.csv:1: has no column \"label\"; did you mean \"lable\"?");
  refuses("text,mood\na,b\n", "train.csv:1: has no column \"label\"; set dataset.label_column");
  refuses("text,label\na,yes\nb\n", "train.csv:3: has 1 fields; expected 2");
  refuses("text,label\n\"a,yes\nb,no\n", "train.csv:2: the quote that opens");
  refuses("text,label\na,yes\n,no\n", "train.csv:3: holds no word");
  refuses("text,label\na,yes\nb,yes\n", "test.csv:3: train has no class \"no\"");
  refuses("text,label\na,yes\nb,no\n", "has no text in train", "\"limit\": {\"train\": 1}");
  refuses("text,label\na,yes\n", "separator must be one character", "\"separator\": \"\"");
}

TEST_CASE("texts: empty ones are one unknown word, or left out", "[data]") {
  const test::Folder folder;
  write(folder.path / "train.csv", "text,label\nword word,yes\n...,no\n\"\"\"\",no\n");
  write(folder.path / "test.csv", text_table(4));
  const Texts kept = make_texts(component("text_csv", folder.path, "\"on_empty\": \"keep\""));
  REQUIRE(kept.train->size() == 3);
  CHECK(kept.train->encode(2) == Ids{1});
  const Texts left = make_texts(component("text_csv", folder.path, "\"on_empty\": \"skip\""));
  CHECK(left.train->size() == 2);
  REQUIRE(left.train->left_out().size() == 1);
  CHECK_THAT(left.train->left_out()[0], Catch::EndsWith("train.csv:4: holds no word"));
}

TEST_CASE("text_folder and imdb: one text a file, sorted by number", "[data]") {
  const test::Folder folder;
  for (const char* part : {"train", "test"}) {
    for (const char* name : {"10_7.txt", "9_8.txt", "x.txt"}) {
      write(folder.path / part / "pos" / name, std::string("fine <br />") + name);
      write(folder.path / part / "neg" / name, std::string("b\xE9"
                                                           "d ") +
                                                   name);
    }
  }
  write(folder.path / "train/unsup/1_0.txt", "?");
  const Texts imdb = make_texts(component("imdb", folder.path));
  CHECK(imdb.train->class_names() == std::vector<std::string>{"neg", "pos"});
  CHECK(imdb.train->size() == 6);
  CHECK_THAT(imdb.train->name(1), Catch::EndsWith("neg/9_8.txt"));
  CHECK_THAT(imdb.train->name(2), Catch::EndsWith("neg/10_7.txt"));
  CHECK(imdb.train->words(1)[0] == "béd");
  CHECK(imdb.train->words(4)[0] == "fine");
  const Texts any = make_texts(component("text_folder", folder.path, "\"on_empty\": \"keep\""));
  CHECK(any.train->num_classes() == 3);
  write(folder.path / "test/psos/1.txt", "?");
  CHECK_THROWS_WITH(
      make_texts(component("text_folder", folder.path, "\"on_empty\": \"keep\"")),
      Catch::Contains("none of the classes trained on has this name; did you mean \"pos\""));
  CHECK_THROWS_WITH(make_texts(component("imdb", folder.path / "none")),
                    Catch::Contains("none/train: not found; see datasets/imdb.md"));
}

TEST_CASE("rotten_tomatoes: the customary parts, whatever bytes are inside a line", "[data]") {
  const test::Folder folder;
  for (const char* polarity : {"pos", "neg"}) {
    std::string lines;
    for (int i = 0; i < 20; ++i)
      lines += std::string(polarity) + " line \x85 " + std::to_string(i) + " \n";
    write(folder.path / (std::string("rt-polarity.") + polarity), lines);
  }
  const Texts own = make_texts(component("rotten_tomatoes", folder.path));
  CHECK(own.train->size() == 32);
  CHECK(own.val->size() == 4);
  CHECK(own.test->size() == 4);
  CHECK(own.train->label(0) == 1);
  CHECK(own.train->words(0) == std::vector<std::string>{"pos", "line", "…", "0"});
  CHECK(own.val->words(0)[3] == "16");
  CHECK(own.test->words(3)[3] == "19");
  // The paper's protocol: 80 / 20 of train, the public validation part is not used.
  const Texts paper =
      make_texts(component("rotten_tomatoes", folder.path, "\"split\": {\"val\": 0.2}"));
  CHECK(paper.train->size() == 26);
  CHECK(paper.val->size() == 6);
  CHECK(paper.test->size() == 4);
}

TEST_CASE("ag_news: published files, or all from the test file", "[data]") {
  const test::Folder folder;
  std::string rows;
  for (int i = 0; i < 36; ++i)
    rows += "\"" + std::to_string(i % 4 + 1) + "\",\"Title \"\"" + std::to_string(i) +
            "\"\"\",\"a\\b c\"\n";
  write(folder.path / "test.csv", rows);
  CHECK_THROWS_WITH(make_texts(component("ag_news", folder.path)),
                    Catch::Contains("set dataset.parts=test_file"));
  const Texts cut = make_texts(component("ag_news", folder.path, "\"parts\": \"test_file\""));
  CHECK(cut.train->size() == 28);
  CHECK(cut.val->size() == 4);
  CHECK(cut.test->words(0) == std::vector<std::string>{"title", "8", "a\\b", "c"});
  write(folder.path / "train.csv", rows);
  CHECK(make_texts(component("ag_news", folder.path)).train->size() == 36);
  write(folder.path / "train.csv", rows + "\"5\",\"a\",\"b\"\n");
  CHECK_THROWS_WITH(make_texts(component("ag_news", folder.path)),
                    Catch::Contains("train.csv:37: 3 fields, the first \"5\"; expected a class"));
}

TEST_CASE("newsgroups20: headers, footers and quotes are removed", "[data]") {
  const test::Folder folder;
  const std::string post =
      "From: a@b\nSubject: c\n\nbob writes:\n> old words\nnew words\n\nmore\n-- \nsignature\n";
  for (const char* part : {"20news-bydate-train", "20news-bydate-test"}) {
    write(folder.path / part / "alt.x" / "2", post);
    write(folder.path / part / "sci.y" / "1", "From: a\n\n> only a quote\n");
  }
  const Texts texts = make_texts(component("newsgroups20", folder.path));
  CHECK(texts.train->words(0) == std::vector<std::string>{"new", "words", "more"});
  CHECK(texts.train->encode(1) == Ids{1});
  const Texts whole = make_texts(component("newsgroups20", folder.path, "\"remove\": []"));
  CHECK(whole.train->words(0)[0] == "from");
  CHECK(whole.train->words(0).back() == "signature");
}

TEST_CASE("text loader: every text once, padding only up to the longest", "[data]") {
  const test::Folder folder;
  const std::string bucket = GENERATE("0", "2", "50");
  const Texts texts = small(folder.path, "\"min_freq\": 1, \"bucket_batches\": " + bucket);
  Loader loader(texts.train, {.batch_size = 5, .shuffle = true, .seed = 3}, make_cpu(1));
  CHECK(loader.num_batches() == 9);
  const auto epoch = batches_of(loader, 0);
  REQUIRE(epoch.size() == 9);
  std::set<std::int64_t> seen;
  for (std::size_t b = 0; b < epoch.size(); ++b) {
    CHECK(epoch[b].number == static_cast<std::int64_t>(b));
    std::int64_t longest = 0;
    const auto ids = epoch[b].at("tokens").values<std::int64_t>();
    for (std::size_t r = 0; r < epoch[b].indices.size(); ++r) {
      const std::int64_t i = epoch[b].indices[r];
      seen.insert(i);
      longest = std::max(longest, texts.train->length(i));
      CHECK(epoch[b].at("label").values<std::int64_t>()[r] == texts.train->label(i));
      const Ids text = texts.train->encode(i);
      for (std::int64_t k = 0; k < epoch[b].at("tokens").size(1); ++k) {
        const std::int64_t expected =
            k < std::ssize(text) ? text[static_cast<std::size_t>(k)] : Vocabulary::kPadding;
        CHECK(ids[r * static_cast<std::size_t>(epoch[b].at("tokens").size(1)) +
                  static_cast<std::size_t>(k)] == expected);
      }
    }
    CHECK(epoch[b].at("tokens").size(1) == longest);
  }
  CHECK(seen.size() == 43);
  // The same from the middle and again; another epoch and another seed are other orders.
  const auto rest = batches_of(loader, 0, 4);
  REQUIRE(rest.size() == 5);
  for (std::size_t b = 0; b < 5; ++b) CHECK(rest[b].indices == epoch[b + 4].indices);
  CHECK(batches_of(loader, 1)[0].indices != epoch[0].indices);
  Loader other(texts.train, {.batch_size = 5, .shuffle = true, .seed = 4}, make_cpu(1));
  CHECK(batches_of(other, 0)[0].indices != epoch[0].indices);
}

TEST_CASE("text loader: buckets save padding", "[data]") {
  const test::Folder folder;
  const auto cells = [&](const char* bucket) {
    const Texts texts = small(folder.path, std::string("\"bucket_batches\": ") + bucket);
    Loader loader(texts.train, {.batch_size = 4, .shuffle = true, .seed = 3}, make_cpu(1));
    std::int64_t total = 0;
    for (const Batch& batch : batches_of(loader, 0)) total += batch.at("tokens").numel();
    return total;
  };
  CHECK(cells("50") < cells("0") * 8 / 10);
  const Texts padded = small(folder.path, "\"pad_to_max\": true, \"max_len\": 30");
  Loader loader(padded.train, {.batch_size = 4}, make_cpu(1));
  CHECK(batches_of(loader, 0)[0].at("tokens").size(1) == 30);
}

TEST_CASE("text loader: noise is a function of seed, epoch and text", "[data]") {
  const test::Folder folder;
  const Texts texts = small(
      folder.path,
      "\"min_freq\": 1, \"noise\": {\"train\": {\"preset\": \"noisy_train\", \"prob\": 1.0}}");
  const TextDataset& train = *texts.train;
  int changed = 0;
  for (std::int64_t i = 0; i < train.size(); ++i) {
    const Ids once = train.encode(i, {.seed = 1, .epoch = 2, .augment = true});
    CHECK(once == train.encode(i, {.seed = 1, .epoch = 2, .augment = true}));
    changed += once != train.encode(i, {.seed = 1, .epoch = 3, .augment = true}) ? 1 : 0;
  }
  CHECK(changed > 20);
  const Draw masked{.corruption = NoiseLevel{"mask", 0.99}};
  CHECK(train.encode(4, masked)[0] == Vocabulary::kUnknown);
}
