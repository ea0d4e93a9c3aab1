// Data are known by their content: names, sizes and bytes, not places, times or orders.
#include "data/identity.h"

#include <catch2/catch.hpp>

#include <algorithm>

#include "tests/data/config.h"
#include "tests/data/files.h"

using namespace fovea;
using namespace fovea::data;
using namespace fovea::data::test;

namespace {

void write_pictures(const Folder& folder, bool backwards = false) {
  std::vector<std::string> names = {"train/cat/0.png", "train/cat/1.png", "train/dog/0.png",
                                    "test/cat/0.png", "test/dog/7.png"};
  if (backwards) std::reverse(names.begin(), names.end());
  for (const std::string& name : names)
    folder.write(name, encode_png(pattern(4, 4, 3, static_cast<int>(name.size()) + name[10])));
}

schema::Value of_images(const Folder& folder, const std::string& more = "") {
  return fingerprint(make_splits(component("image_folder", folder.path, more)));
}

std::string hash(const schema::Value& fingerprint) { return fingerprint.at("hash").as_string(); }

}  // namespace

TEST_CASE("identity: the same for copies, whatever their place, age and order", "[data]") {
  const Folder one, other;
  write_pictures(one);
  write_pictures(other, true);
  namespace fs = std::filesystem;
  fs::last_write_time(other.path / "train/cat/0.png",
                      fs::file_time_type::clock::now() - std::chrono::hours(10000));
  const schema::Value known = of_images(one);
  CHECK(known == of_images(other));
  CHECK(hash(known).size() == 32);
  CHECK(known.at("samples") == schema::Value::object({{"train", 3}, {"test", 2}}));
  // Another cut of the same files: the counts tell.
  const schema::Value few = of_images(one, R"("limit": {"train": 2})");
  CHECK(hash(few) == hash(known));
  CHECK(few.at("samples").at("train").as_int() == 2);
}

TEST_CASE("identity: a changed, renamed, added or longer file is another data set", "[data]") {
  const Folder folder;
  write_pictures(folder);
  std::vector<std::string> seen = {hash(of_images(folder))};
  const auto changed = [&] {
    const std::string now = hash(of_images(folder));
    CHECK(std::count(seen.begin(), seen.end(), now) == 0);
    seen.push_back(now);
  };
  std::string picture = encode_png(pattern(4, 4, 3, 99));
  folder.write("train/cat/1.png", picture);
  changed();
  picture.back() = static_cast<char>(picture.back() ^ 1);  // of its checksum
  folder.write("train/cat/1.png", picture);
  changed();
  folder.write("train/cat/1.png", picture + "x");
  changed();
  std::filesystem::rename(folder.path / "train/cat/1.png", folder.path / "train/dog/1.png");
  changed();
  folder.write("test/dog/8.png", picture);
  changed();
}

TEST_CASE("identity: masks, texts and packed files count too", "[data]") {
  const Folder folder;
  for (const char* name : {"a.png", "b.png"}) {
    folder.write(std::string("images/") + name, encode_png(pattern(4, 4, 3)));
    folder.write(std::string("masks/") + name, encode_png(mask_pattern(4, 4)));
  }
  const auto masks = [&] {
    return hash(fingerprint(
        make_splits(component("paired_folder", folder.path, R"("split": {"test": 0.5})"))));
  };
  const std::string before = masks();
  folder.write("masks/b.png", encode_png(mask_pattern(4, 4, 5)));
  CHECK(masks() != before);

  const auto texts = [&](const std::string& last) {
    folder.write("train.csv", "text,label\na word,yes\nb word,no\nc word,yes\n" + last);
    return fingerprint(make_splits(component("text_csv", folder.path, R"("split": {"val": 0.4})")));
  };
  const schema::Value table = texts("d word,no\n");
  CHECK(texts("d word,no\n") == table);
  CHECK(hash(texts("e word,no\n")) != hash(table));
}

TEST_CASE("identity: large files are sampled, first and last bytes included", "[data]") {
  const Folder folder;
  std::string content(3'000'000, 'x');
  const auto hash_now = [&] {
    return content_hash({folder.path.string(), {folder.write("big.bin", content)}, ""});
  };
  const std::string before = hash_now();
  for (const std::size_t at : {std::size_t{0}, content.size() - 1, std::size_t{1500000}}) {
    // In the middle a record of CIFAR's length changes, as a label or a picture would.
    for (std::size_t k = 0; k < 65536 && at + k < content.size(); ++k) content[at + k] = 'y';
    CHECK(hash_now() != before);
    std::fill(content.begin(), content.end(), 'x');
  }
  CHECK(hash_now() == before);
  CHECK(content_hash({folder.path.string(), {folder.path / "none"}, ""}) != before);
}

TEST_CASE("identity: with whole every byte of a file counts", "[data]") {
  const Folder folder;
  std::string content(300'000, 'x');
  const auto hash_now = [&](bool whole) {
    return content_hash({folder.path.string(), {folder.write("a.nii", content)}, "", whole});
  };
  const std::string sampled = hash_now(false), whole = hash_now(true);
  content[30'000] = 'y';  // between two samples
  CHECK(hash_now(false) == sampled);
  CHECK(hash_now(true) != whole);
  CHECK(content_hash({folder.path.string(), {folder.path / "none"}, "", true}) != whole);
}

TEST_CASE("identity: data made in memory are known by what they are made by", "[data]") {
  const auto made = [](const std::string& more) {
    return hash(fingerprint(make_splits(component(R"({"type": "synthetic")" + more + "}"))));
  };
  CHECK(made("") == made(R"(, "root": "elsewhere", "augment": ["horizontal_flip"])"));
  for (const char* key : {R"("shape_seed": 1)", R"("pixel_noise": 0.06)", R"("test_size": 129)",
                          R"("train_size": 511)", R"("img_size": 17)", R"("num_classes": 5)"})
    CHECK(made(std::string(", ") + key) != made(""));
}

TEST_CASE("sample lists: every part with its names below root, one a line", "[data]") {
  const Folder folder;
  write_pictures(folder);
  CHECK(sample_lists(make_splits(component("image_folder", folder.path))) == R"({
  "train": [
    "train/cat/0.png",
    "train/cat/1.png",
    "train/dog/0.png"],
  "test": [
    "test/cat/0.png",
    "test/dog/7.png"]
}
)");
}

TEST_CASE("identity: one part is compared with itself alone", "[data]") {
  const Folder folder;
  write_pictures(folder);
  const auto tested = [&] {
    return fingerprint(
        make_splits(component("image_folder", folder.path), {.parts = OpenParts::kReported}));
  };
  const schema::Value all = of_images(folder);
  CHECK(tested().at("samples").find("train") == nullptr);
  CHECK(same_content(all, tested()));
  CHECK(same_content(schema::Value(), tested()));
  folder.write("train/cat/0.png", encode_png(pattern(4, 4, 3, 99)));
  CHECK(same_content(all, tested()));
  CHECK_FALSE(same_content(all, of_images(folder)));
  folder.write("test/cat/0.png", encode_png(pattern(4, 4, 3, 99)));
  CHECK_FALSE(same_content(all, tested()));
}
