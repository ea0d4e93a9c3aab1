// dataset.split: the same rule for images, images with masks and texts.
#include "data/parts/division.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "tests/data/config.h"
#include "tests/data/files.h"

using namespace fovea;
using namespace fovea::data;
using namespace fovea::data::test;
using Names = std::vector<std::string>;

namespace {

// The names of a part below root.
template <class D>
Names names(const std::shared_ptr<const D>& part) {
  Names list;
  for (std::int64_t i = 0; part != nullptr && i < part->size(); ++i)
    list.push_back(below(part->root(), part->name(i)));
  return list;
}

Names stems(const Names& paths) {
  Names list;
  for (const std::string& path : paths) list.push_back(std::filesystem::path(path).stem().string());
  return list;
}

struct Parts {
  Names train, val, test;
  explicit Parts(const Splits& splits)
      : train(names(splits.train)), val(names(splits.val)), test(names(splits.test)) {}
  /// How many different samples there are in all parts together.
  std::size_t distinct() const {
    std::set<std::string> all(train.begin(), train.end());
    all.insert(val.begin(), val.end());
    all.insert(test.begin(), test.end());
    return all.size();
  }
};

// ROOT/<class>/p<patient>_<k>.png: 20 patients of class a, 10 of class b, three pictures each.
void write_patients(const Folder& folder) {
  const std::string png = encode_png(pattern(2, 2, 3));
  for (int patient = 0; patient < 30; ++patient) {
    for (int k = 0; k < 3; ++k)
      folder.write((patient < 20 ? "a/p" : "b/p") + std::to_string(patient) + "_" +
                       std::to_string(k) + ".png",
                   png);
  }
}

void write_cases(const Folder& folder, int count) {
  for (int i = 1; i <= count; ++i) {
    const std::string name = "case_" + std::to_string(i) + ".png";
    folder.write("images/" + name, encode_png(pattern(2, 2, 3)));
    folder.write("masks/" + name, encode_png(mask_pattern(2, 2)));
  }
}

Parts images(const std::string& type, const Folder& folder, const std::string& split) {
  return Parts(make_splits(component(type, folder.path, "\"split\": {" + split + "}")));
}

// From case_1 to case_12 by scikit-learn: KFold(5, shuffle=True, random_state=12345) over the
// sorted names, as in nnU-Net's generate_crossval_split.
const std::vector<Names> kFolds = {{"case_1", "case_12", "case_6"},
                                   {"case_5", "case_8", "case_9"},
                                   {"case_4", "case_7"},
                                   {"case_10", "case_2"},
                                   {"case_11", "case_3"}};

std::string fold(int i) { return "\"fold\": \"" + std::to_string(i) + "/5\""; }

}  // namespace

TEST_CASE("split: plain class folders are cut into shares of all samples", "[data]") {
  const Folder folder;
  write_patients(folder);
  CHECK_THROWS_WITH(images("image_folder", folder, ""),
                    Catch::Contains("has class folders, but no train and test; set for example "
                                    "dataset.split.test=0.2 and dataset.split.val=0.1"));
  const Parts parts = images("image_folder", folder, R"("val": 0.1, "test": 0.2)");
  CHECK(parts.train.size() == 63);
  CHECK(parts.val.size() == 9);
  CHECK(parts.test.size() == 18);
  CHECK(parts.distinct() == 90);
  const auto of_a = [](const Names& list) {
    return std::count_if(list.begin(), list.end(), [](const auto& n) { return n[0] == 'a'; });
  };
  CHECK(of_a(parts.test) == 12);  // stratified: two thirds of the pictures are of class a
  CHECK(of_a(parts.val) == 6);
  CHECK(images("image_folder", folder, R"("val": 0.1, "test": 0.2)").val == parts.val);
  CHECK(images("image_folder", folder, R"("val": 0.1, "test": 0.2, "seed": 1)").val != parts.val);
  const Parts plain = images("image_folder", folder, R"("test": 0.2, "stratified": false)");
  CHECK(plain.test.size() == 18);
  CHECK(plain.test != parts.test);
  // The test part does not move when a validation part is taken too.
  CHECK(images("image_folder", folder, R"("test": 0.2)").test == parts.test);
}

TEST_CASE("split: a group never lies in two parts", "[data]") {
  const Folder folder;
  write_patients(folder);
  const Parts parts =
      images("image_folder", folder, R"("val": 0.1, "test": 0.2, "by_group": "p(\\d+)_")");
  std::map<std::string, std::set<int>> parts_of;
  const Grouping grouping("p(\\d+)_");
  int number = 0;
  for (const Names* list : {&parts.train, &parts.val, &parts.test}) {
    for (const std::string& name : *list) parts_of[grouping.group_of(name)].insert(number);
    ++number;
  }
  CHECK(parts_of.size() == 30);
  for (const auto& [patient, in] : parts_of) CHECK(in.size() == 1);
  CHECK(parts.test.size() == 18);  // 4 of 20 patients of class a, 2 of 10 of class b
  CHECK(std::count_if(parts.test.begin(), parts.test.end(),
                      [](const auto& n) { return n[0] == 'a'; }) == 12);
  CHECK(parts.val.size() == 9);

  const Parts folds = images("image_folder", folder, R"("fold": "1/5", "by_group": "p(\\d+)_")");
  CHECK(folds.val.size() == 18);
  std::set<std::string> held;
  for (const std::string& name : folds.val) held.insert(grouping.group_of(name));
  CHECK(held.size() == 6);
  CHECK(folds.distinct() == 90);
  CHECK_THROWS_WITH(images("image_folder", folder, R"("test": 0.2, "by_group": "q(\\d+)_")"),
                    Catch::Contains("finds nothing in a/p0_0.png"));

  // Parts that come with the data can only be looked at.
  const std::string png = encode_png(pattern(2, 2, 3));
  const Folder own;
  for (const char* name : {"train/a/p1_0.png", "train/a/p2_0.png", "test/a/p2_1.png"})
    own.write(name, png);
  CHECK_THROWS_WITH(images("image_folder", own, R"("by_group": "p(\\d+)_")"),
                    Catch::Contains("group \"2\" lies in train and in test (test/a/p2_1.png)"));
  CHECK(images("image_folder", own, R"("by_group": "folder")").test.size() == 1);
}

TEST_CASE("split: folds are those of nnU-Net, for every kind of data", "[data]") {
  const Folder folder;
  write_cases(folder, 12);
  std::size_t held_out = 0;
  for (int i = 0; i < 5; ++i) {
    const Parts parts = images("paired_folder", folder, fold(i));
    Names val = stems(parts.val);
    std::sort(val.begin(), val.end());
    CHECK(val == kFolds[static_cast<std::size_t>(i)]);
    CHECK(parts.train.size() + parts.val.size() == 12);
    CHECK(parts.distinct() == 12);
    CHECK(parts.test.empty());
    held_out += parts.val.size();
  }
  CHECK(held_out == 12);
  // The same cases as classes of images, and as texts.
  const Folder classes, texts;
  for (int i = 1; i <= 12; ++i) {
    const std::string name = (i % 2 == 0 ? "x/case_" : "y/case_") + std::to_string(i);
    classes.write(name + ".png", encode_png(pattern(2, 2, 3)));
    texts.write(name + ".txt", "some words");
  }
  Names val = stems(images("image_folder", classes, fold(3)).val);
  std::sort(val.begin(), val.end());
  CHECK(val == kFolds[3]);
  const auto component_of = component("text_folder", texts.path, "\"split\": {" + fold(3) + "}");
  val = stems(Parts(make_splits(component_of)).val);
  std::sort(val.begin(), val.end());
  CHECK(val == kFolds[3]);
  // A test part is taken first; the folds part what is left.
  const Parts rest = images("paired_folder", folder, fold(0) + R"(, "test": 0.25)");
  CHECK(rest.test.size() == 3);
  CHECK(rest.val.size() == 2);
  CHECK(rest.distinct() == 12);
}

TEST_CASE("split: folds may be stratified, by groups too", "[data]") {
  const Folder folder;
  write_patients(folder);
  const auto of_a = [](const Names& list) {
    return std::count_if(list.begin(), list.end(), [](const auto& n) { return n[0] == 'a'; });
  };
  const std::string stratified = R"(, "stratified": true)";
  Names held_out;
  for (int i = 0; i < 5; ++i) {
    const Parts parts = images("image_folder", folder, fold(i) + stratified);
    CHECK(parts.val.size() == 18);
    CHECK(of_a(parts.val) == 12);
    CHECK(parts.distinct() == 90);
    held_out.insert(held_out.end(), parts.val.begin(), parts.val.end());
    const std::string by_group = R"(, "by_group": "p(\\d+)_")";
    CHECK(of_a(images("image_folder", folder, fold(i) + stratified + by_group).val) == 12);
  }
  CHECK(std::set<std::string>(held_out.begin(), held_out.end()).size() == 90);
  const Names val = images("image_folder", folder, fold(0) + stratified).val;
  CHECK(images("image_folder", folder, fold(0) + stratified + R"(, "seed": 1)").val != val);
  CHECK(images("image_folder", folder, fold(0)).val != val);

  const Folder masks;
  write_cases(masks, 12);
  CHECK_THROWS_WITH(images("paired_folder", masks, fold(0) + stratified),
                    Catch::Contains("samples with masks have no classes"));
}

TEST_CASE("split: the folds of a splits_final.json are used, and what it says is checked",
          "[data]") {
  const Folder folder;
  write_cases(folder, 4);
  const auto write = [&](const std::string& text) { folder.write("splits_final.json", text); };
  write(R"([{"train": ["case_1", "case_3"], "val": ["case_2"]},
            {"train": ["case_2"], "val": ["case_4", "case_1"]}])");
  const Parts first = images("paired_folder", folder, R"("fold": "0/2")");
  CHECK(stems(first.train) == Names{"case_1", "case_3"});  // case_4 is in neither
  CHECK(stems(first.val) == Names{"case_2"});
  CHECK(stems(images("paired_folder", folder, R"("fold": "1/2")").val) ==
        Names{"case_1", "case_4"});
  const auto refused = [&](const std::string& split, const std::string& message) {
    INFO(message);
    CHECK_THROWS_WITH(images("paired_folder", folder, split), Catch::Contains(message));
  };
  refused(R"("fold": "0/5")", "splits_final.json: holds 2 folds; expected 5");
  refused(R"("fold": "0/2", "test": 0.25)", "would take samples from train that");
  const auto damaged = [&](const std::string& text, const std::string& message) {
    write(text);
    INFO(message);
    const auto open = [&] { images("paired_folder", folder, R"("fold": "0/2")"); };
    CHECK_THROWS_WITH(open(), Catch::Contains(message));
    CHECK_THROWS_AS(open(), FileError);
  };
  damaged(R"([{"train": ["case_1"], "val": ["case_9"]}, {}])",
          "fold 0, val: no sample \"case_9\" in train");
  damaged(R"([{"train": ["case_1"], "val": ["case_1"]}, {}])", "\"case_1\" is named twice");
  damaged(R"([{"train": ["case_1"]}, {}])", "no key \"val\"");
  damaged(R"([{"train": 3, "val": []}, {}])", "splits_final.json:1:12");
  damaged(R"({"train": []})", "holds 1 folds; expected 2");
  damaged(R"([{"train": ["case_1"], )", "splits_final.json:1");
}

TEST_CASE("split: plain folders of texts, and tables without a test file", "[data]") {
  const Folder folder;
  for (int i = 0; i < 20; ++i)
    folder.write((i % 2 == 0 ? "no/" : "yes/") + std::to_string(i) + ".txt", "some words");
  const auto open = [&](const std::string& split) {
    return Parts(make_splits(component("text_folder", folder.path, "\"split\": {" + split + "}")));
  };
  CHECK_THROWS_WITH(open(""), Catch::Contains("has class folders, but no train and test"));
  const Parts parts = open(R"("val": 0.2, "test": 0.2)");
  CHECK(parts.train.size() == 12);
  CHECK(parts.val.size() == 4);
  CHECK(parts.test.size() == 4);
  CHECK(parts.distinct() == 20);

  const Folder table;
  table.write("train.csv", "text,label\na word,yes\nb word,no\nc word,yes\nd word,no\n");
  const auto csv = [&](const std::string& more) {
    return Parts(make_splits(component("text_csv", table.path, more)));
  };
  CHECK_THROWS_WITH(csv(""), Catch::Contains("has neither a val nor a test part"));
  CHECK(csv(R"("split": {"val": 0.5})").test.empty());
  CHECK(csv(R"("split": {"val": 0.5})").val.size() == 2);
  CHECK(csv(R"("split": {"test": 0.5})").test.size() == 2);
  // A file that was asked for by name must be there.
  CHECK_THROWS_WITH(csv(R"("test_file": "tset.csv", "split": {"val": 0.5})"),
                    Catch::Contains("tset.csv: not found"));
}

TEST_CASE("case names: without folder and ending, as far as they differ", "[data]") {
  CHECK(case_names({"images/a.png", "images/b-1.nii.gz", "c.csv:12", "x.bin: record 3"}) ==
        Names{"a", "b-1", "c.csv:12", "x.bin: record 3"});
  CHECK(case_names({"cat/1.png", "dog/1.png"}) == Names{"cat/1", "dog/1"});
  CHECK(case_names({"cat/1.png", "cat/1.jpg"}) == Names{"cat/1.png", "cat/1.jpg"});
  CHECK(case_names({"groups/alt.atheism/49960"}) == Names{"49960"});
}
