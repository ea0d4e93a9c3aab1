// BUSI, PH2 and HAM10000: layouts, parts, and how pictures are prepared (gdla 6.4).
#include <catch2/catch.hpp>

#include <algorithm>
#include <set>

#include "tests/data/readers.h"

using namespace fovea;
using namespace fovea::data;
using namespace fovea::data::test;

namespace {

void write_busi(const Folder& folder, int count) {
  for (int i = 1; i <= count; ++i) {
    for (const std::string kind : {"benign", "malignant"}) {
      const std::string name = kind + "/" + kind + " (" + std::to_string(i) + ")";
      folder.write(name + ".png", encode_png(pattern(12, 20, 1, i)));
      folder.write(name + "_mask.png", encode_png(mask_pattern(12, 20, i)));
    }
  }
  // A second mask of one picture, which is not read.
  folder.write("benign/benign (1)_mask_1.png", encode_png(mask_pattern(3, 3)));
}

std::set<std::string> names_of(const Dataset& d) {
  std::set<std::string> names;
  for (std::int64_t i = 0; i < d.size(); ++i)
    names.insert(std::filesystem::path(d.name(i)).stem().string());
  return names;
}

}  // namespace

TEST_CASE("busi: 80, 10 and 10 per cent are drawn, the same ones always", "[data]") {
  const Folder folder;
  write_busi(folder, 10);
  const auto train = open("busi", folder);
  const auto val = open("busi", folder, "", Split::kVal);
  const auto test = open("busi", folder, "", Split::kTest);
  CHECK(train->size() == 16);
  CHECK(val->size() == 2);
  CHECK(test->size() == 2);
  std::set<std::string> all = names_of(*train);
  all.merge(names_of(*val));
  all.merge(names_of(*test));
  CHECK(all.size() == 20);
  CHECK(names_of(*open("busi", folder, "", Split::kTest)) == names_of(*test));
}

TEST_CASE("busi: lists below root may name the folder too", "[data]") {
  const Folder folder;
  write_busi(folder, 3);
  folder.write("splits/train.txt", "benign/benign (1).png\nmalignant/malignant (3).png\n");
  folder.write("splits/val.txt", "benign/benign (2).png\n");
  CHECK(names_of(*open("busi", folder, R"("parts": "lists")")) ==
        std::set<std::string>{"benign (1)", "malignant (3)"});
  CHECK(open("busi", folder, R"("parts": "lists")", Split::kVal)->size() == 1);
}

TEST_CASE(
    "busi: resized with antialiasing whatever the ratio, stretched last, masks floor(i in / out)",
    "[data]") {
  const Folder folder;
  write_busi(folder, 10);
  const auto train = open("busi", folder, R"("img_size": 8)");
  const Sample sample = prepared(*train, 0);
  CHECK(sample.geometry.original_size == std::vector<std::int64_t>{12, 20});
  const std::filesystem::path file = train->name(0);
  const Image grey = resize(read_image(file, 1), 8, 8, {.round_once = true});
  const auto [least, most] = std::minmax_element(grey.pixels.begin(), grey.pixels.end());
  const std::vector<float> image = image_of(sample);
  const Image mask = read_image(file.parent_path() / (file.stem().string() + "_mask.png"), 1);
  const auto labels = sample.at("mask").values<std::int64_t>();
  const auto soft = open("busi", folder, R"("img_size": 8, "mask_type": "foreground")");
  const std::vector<float> got = mask_of(prepared(*soft, 0));
  CHECK(train->class_names() == std::vector<std::string>{"background", "lesion"});
  CHECK(soft->class_names() == std::vector<std::string>{"lesion"});
  for (std::size_t i = 0; i < 64; ++i) {
    const float want =
        static_cast<float>(grey.pixels[i] - *least) / static_cast<float>(*most - *least);
    CHECK(image[i] == Approx(want).margin(1e-5));
    CHECK(image[64 + i] == image[i]);  // grey files become three channels
    const std::size_t from = i / 8 * 12 / 8 * 20 + i % 8 * 20 / 8;
    CHECK(got[i] == (mask.pixels[from] == 255 ? 1.0f : 0.0f));
    CHECK(labels[i] == (mask.pixels[from] == 255 ? 1 : 0));
  }
  const auto moved =
      open("busi", folder, R"("img_size": 8, "augment": ["random_brightness_contrast"])");
  const std::vector<float> brighter = image_of(prepared(*moved, 0, {.seed = 3, .augment = true}));
  CHECK(*std::min_element(brighter.begin(), brighter.end()) == 0.0f);
  CHECK(*std::max_element(brighter.begin(), brighter.end()) == 1.0f);
}

TEST_CASE("busi: a mask of nothing but foreground, as it is or as the public code takes it",
          "[data]") {
  const Folder folder;
  write_busi(folder, 2);
  Image full{12, 20, 1, std::vector<std::uint8_t>(240, 255)};
  folder.write("benign/benign (1)_mask.png", encode_png(full));
  const auto sum = [&](const std::string& more) {
    const auto train =
        open("busi", folder, R"("img_size": 8, "parts": "all", "split": {"test": 0.1})" + more);
    for (std::int64_t i = 0; i < train->size(); ++i) {
      if (!train->name(i).ends_with("benign (1).png")) continue;
      const Sample sample = prepared(*train, i);
      const auto mask = sample.at("mask").values<std::int64_t>();
      return std::count(mask.begin(), mask.end(), 1);
    }
    return std::ptrdiff_t{-1};
  };
  CHECK(sum("") == 64);
  CHECK(sum(R"(, "mask_minmax": true)") == 0);
}

TEST_CASE("ph2: the published lists, and what is missing of them is said", "[data]") {
  const Folder folder;
  // Of train, val and test in the public code of gdla.
  for (const std::string id : {"IMD004", "IMD006", "IMD024", "IMD003"}) {
    const std::string base = "PH2 Dataset images/" + id + "/" + id;
    folder.write(base + "_Dermoscopic_Image/" + id + ".bmp", bmp(pattern(9, 12, 3)));
    folder.write(base + "_lesion/" + id + "_lesion.png", encode_png(mask_pattern(9, 12)));
  }
  const auto train = open("ph2", folder);
  CHECK(names_of(*train) == std::set<std::string>{"IMD004", "IMD006"});
  CHECK(names_of(*open("ph2", folder, "", Split::kVal)) == std::set<std::string>{"IMD024"});
  CHECK(names_of(*open("ph2", folder, "", Split::kTest)) == std::set<std::string>{"IMD003"});
  REQUIRE(train->notes().size() == 1);
  CHECK_THAT(train->notes()[0], Catch::Contains("78 of the 80 names"));
}

TEST_CASE("ham10000: the published test list, the rest drawn", "[data]") {
  const Folder folder;
  const auto write = [&](const std::string& id, const char* part) {
    folder.write(std::string(part) + "/ISIC_" + id + ".png", encode_png(pattern(6, 8, 3)));
    folder.write("HAM10000_segmentations_lesion_tschandl/ISIC_" + id + "_segmentation.png",
                 encode_png(mask_pattern(6, 8)));
  };
  write("0024312", "HAM10000_images_part_1");
  write("0024315", "HAM10000_images_part_2");
  for (int i = 0; i < 10; ++i) write("999990" + std::to_string(i), "HAM10000_images_part_2");
  CHECK(open("ham10000", folder)->size() == 8);
  CHECK(open("ham10000", folder, "", Split::kVal)->size() == 2);
  CHECK(names_of(*open("ham10000", folder, "", Split::kTest)) ==
        std::set<std::string>{"ISIC_0024312", "ISIC_0024315"});
  std::filesystem::remove(folder.path / "HAM10000_segmentations_lesion_tschandl" /
                          "ISIC_9999901_segmentation.png");
  check_refused("ham10000", folder, "ISIC_9999901.png: has no mask");
  const Folder empty;
  check_refused("ham10000", empty, "holds no images/ISIC_0024306.jpg");
}
