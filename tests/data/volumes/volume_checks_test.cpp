// Volumes that do not fit together: each is an error or a note, and a look at all of them lists
// all.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include "base/error.h"
#include "data/survey.h"
#include "data/volumes/volume_dataset.h"
#include "data/volumes/volume_headers.h"
#include "tests/data/config.h"
#include "tests/data/files.h"
#include "tests/data/nifti_files.h"

using namespace fovea;
using namespace fovea::data;
using namespace fovea::data::test;

namespace {

using Sform = std::array<std::array<float, 4>, 3>;

const Sform kRas = {{{1.5f, 0, 0, 0}, {0, 1.25f, 0, 0}, {0, 0, 8, 0}}};
const Sform kLas = {{{-1.5f, 0, 0, 10}, {0, 1.25f, 0, 0}, {0, 0, 8, 0}}};

NiftiFile an_image(int shift = 0) {
  NiftiFile file{.depth = 4, .height = 6, .width = 8, .values = {}};
  for (int i = 0; i < 4 * 6 * 8; ++i)
    file.values.push_back(static_cast<std::int16_t>(10 + shift + i % 37));
  file.sform = kRas;
  return file;
}

NiftiFile labels_for(const NiftiFile& image) {
  NiftiFile file = image;
  for (std::size_t i = 0; i < file.values.size(); ++i) file.values[i] = i % 5 == 0 ? 1 : 0;
  return file;
}

void write_pair(const Folder& folder, const std::string& name, const NiftiFile& image,
                const NiftiFile& labels) {
  folder.write("imagesTr/" + name + "_0000.nii.gz", gzip(image.bytes()));
  folder.write("labelsTr/" + name + ".nii.gz", gzip(labels.bytes()));
}

void write_cases(const Folder& folder, int count, const std::string& more = "") {
  folder.write("dataset.json", R"({"labels": {"background": 0, "lesion": 1},
                                   "channel_names": {"0": "MRI"})" +
                                   more + "}");
  for (int i = 0; i < count; ++i) {
    const NiftiFile image = an_image(i);
    write_pair(folder, fmt::format("c_{}", i), image, labels_for(image));
  }
}

constexpr const char* kCrops = R"("img_size": [4, 4, 4], "augment": false)";

schema::Component cases(const Folder& folder, const std::string& more = "") {
  return component("nnunet", folder.path, std::string(kCrops) + more);
}

std::string notes_of(const schema::Component& set) {
  std::string all;
  for (const std::string& note : make_dataset(set, Split::kTrain)->notes()) all += note + "\n";
  return all;
}

// Opening alone, before any volume is read.
void check_refused(const schema::Component& set, const std::string& part) {
  CHECK_THROWS_WITH(make_dataset(set, Split::kTrain), Catch::Contains(part));
  CHECK_THROWS_AS(make_dataset(set, Split::kTrain), FileError);
}

// Six cases, of which one is cut off and one has an unknown label.
void write_cases_two_bad(const Folder& folder) {
  write_cases(folder, 6);
  const std::string cut = gzip(an_image().bytes());
  folder.write("imagesTr/c_1_0000.nii.gz", cut.substr(0, cut.size() / 2));
  NiftiFile wrong = labels_for(an_image());
  wrong.values[3] = 9;
  folder.write("labelsTr/c_4.nii.gz", gzip(wrong.bytes()));
}

}  // namespace

TEST_CASE("volumes: what fits together is not remarked upon", "[data][volumes]") {
  const Folder folder;
  write_cases(folder, 3, R"(, "numTraining": 3)");
  CHECK(notes_of(cases(folder)).empty());
}

TEST_CASE("volumes: labels of another spacing, size or affine than their image",
          "[data][volumes]") {
  const Folder folder;
  write_cases(folder, 3);
  NiftiFile labels = labels_for(an_image());
  SECTION("another spacing is an error, before anything is read") {
    labels.steps = {1, 1, 8};
    labels.sform = Sform{{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 8, 0}}};
    write_pair(folder, "c_1", an_image(), labels);
    check_refused(cases(folder),
                  "c_1.nii.gz: its voxels are 8 x 1 x 1 mm large (depth, height, "
                  "width), those of c_1_0000.nii.gz 8 x 1.25 x 1.5");
    CHECK(make_dataset(cases(folder, R"(, "on_bad_sample": "skip")"), Split::kTrain)->size() == 2);
    CHECK(make_dataset(cases(folder, R"(, "exclude": ["c_1"])"), Split::kTrain)->size() == 2);
  }
  SECTION("another size too") {
    write_pair(folder, "c_2", an_image(), counting_volume(2, 6, 8));
    check_refused(cases(folder), "the first channel of its volume is 4 x 6 x 8");
  }
  SECTION("a place further away is a note") {
    labels.sform = kRas;
    (*labels.sform)[0][3] = 5;
    write_pair(folder, "c_1", an_image(), labels);
    CHECK_THAT(notes_of(cases(folder)),
               Catch::Contains("the labels of 1 of 3 volumes have another affine than their "
                               "images, e.g. ") &&
                   Catch::Contains("c_1.nii.gz (up to 5 mm away)"));
  }
  SECTION("less than half a voxel is rounding") {
    labels.sform = kRas;
    (*labels.sform)[0][3] = 0.5f;
    write_pair(folder, "c_1", an_image(), labels);
    CHECK(notes_of(cases(folder)).empty());
  }
  SECTION("other axes are a note") {
    labels.sform = kLas;
    write_pair(folder, "c_1", an_image(), labels);
    CHECK_THAT(notes_of(cases(folder)), Catch::Contains("(axes LAS, of the image RAS)"));
  }
}

TEST_CASE("volumes: those that lie in different ways are a note unless they are turned",
          "[data][volumes]") {
  const Folder folder;
  write_cases(folder, 3);
  NiftiFile image = an_image();
  image.sform = kLas;
  write_pair(folder, "c_0", image, labels_for(image));
  CHECK_THAT(
      notes_of(cases(folder)),
      Catch::Contains("dataset.canonical: is false, and volumes lie in 2 ways: RAS 2, LAS 1"));
  CHECK(notes_of(cases(folder, R"(, "canonical": true)")).empty());
}

TEST_CASE("nnunet: cases without labels, a wrong numTraining, two files of one name",
          "[data][volumes]") {
  const Folder folder;
  write_cases(folder, 3, R"(, "numTraining": 5)");
  folder.write("imagesTr/d_9_0000.nii.gz", gzip(an_image().bytes()));
  folder.write("imagesTs/e_1_0000.nii.gz", gzip(an_image().bytes()));
  const std::string said = notes_of(cases(folder));
  CHECK_THAT(said, Catch::Contains("1 of 4 (d_9_0000.nii.gz) images have no labels"));
  CHECK_THAT(said, Catch::Contains("numTraining 5; imagesTr and labelsTr hold 3 cases"));
  CHECK_THAT(said, Catch::Contains("1 images belong to no part, since there is no labelsTs"));
  folder.write("labelsTr/c_1.nii", labels_for(an_image()).bytes());
  check_refused(cases(folder), "two files of one name");
  std::filesystem::remove(folder.path / "labelsTr/c_1.nii");
  folder.write("imagesTr/c_1_0000.nii", an_image().bytes());
  check_refused(cases(folder), "two files of one name");
}

TEST_CASE("volumes: one value everywhere, and nothing but background", "[data][volumes]") {
  const Folder folder;
  write_cases(folder, 3);
  NiftiFile flat = an_image();
  for (std::int16_t& value : flat.values) value = 7;
  write_pair(folder, "c_2", flat, labels_for(an_image()));
  CHECK_THAT(notes_of(cases(folder)),
             Catch::Contains("1 of 3 training volumes hold one value everywhere, e.g. ") &&
                 Catch::Contains("c_2_0000.nii.gz (7)"));
  for (int i = 0; i < 3; ++i) {
    NiftiFile empty = an_image();
    for (std::int16_t& value : empty.values) value = 0;
    folder.write(fmt::format("labelsTr/c_{}.nii.gz", i), gzip(empty.bytes()));
  }
  check_refused(cases(folder), "the labels of train hold nothing but background in all 3 volumes");
  check_refused(cases(folder, R"(, "intensities": "ct")"), "nothing but background");
}

TEST_CASE("volumes: bad ones are left out and counted, if that is asked for", "[data][volumes]") {
  const Folder folder;
  write_cases_two_bad(folder);
  check_refused(cases(folder), "c_1_0000.nii.gz");
  const auto set = cases(folder, R"(, "on_bad_sample": "skip", "split": {"val": 0.34})");
  const Splits splits = make_splits(set);
  CHECK(splits.train->skips_bad_samples());
  std::size_t bad = 0;
  for (const auto& part : splits.all()) {
    bad += part->left_out().size();
    for (std::int64_t i = 0; i < part->size(); ++i) {
      try {
        part->get(i);
      } catch (const FileError&) {
        CHECK(part->split() == Split::kVal);  // found when it is read
        ++bad;
      }
    }
  }
  CHECK(bad == 2);
  // The whole of train, for its evaluation, has the same samples.
  CHECK(splits.train->for_evaluation()->size() == splits.train->size());
  CHECK(splits.train->for_evaluation()->left_out() == splits.train->left_out());
}

TEST_CASE("survey of volumes: all bad files, the fingerprint and the plan", "[data][volumes]") {
  const Folder folder;
  write_cases_two_bad(folder);
  NiftiFile spaced = labels_for(an_image());
  spaced.steps = {3, 3, 3};
  spaced.sform = Sform{{{3, 0, 0, 0}, {0, 3, 0, 0}, {0, 0, 3, 0}}};
  folder.write("labelsTr/c_5.nii.gz", gzip(spaced.bytes()));
  NiftiFile turned = an_image();
  turned.sform = kLas;
  write_pair(folder, "c_0", turned, labels_for(turned));
  const auto set = cases(folder);
  const Survey found = survey(make_splits(set, {.survey = true}), 2);
  REQUIRE(found.parts.size() == 1);
  const PartSurvey& train = found.parts[0];
  CHECK(train.samples == 3);
  REQUIRE(train.bad.size() == 3);
  std::string bad;
  for (const std::string& message : train.bad) bad += message + "\n";
  CHECK_THAT(bad, Catch::Contains("c_1_0000") && Catch::Contains("c_4.nii.gz: label 9") &&
                      Catch::Contains("c_5.nii.gz: its voxels are 3 x 3 x 3 mm"));
  REQUIRE(train.volumes);
  CHECK(train.volumes->orientations == std::map<std::string, std::int64_t>{{"LAS", 1}, {"RAS", 2}});
  CHECK(train.volumes->median == std::array<double, 3>{8, 1.25, 1.5});
  CHECK(train.volumes->shape == VolumeSides{4, 6, 8});
  CHECK(train.volumes->prepared == VolumeSides{4, 6, 8});
  const std::string text = to_text(found);
  INFO(text);
  CHECK_THAT(text, Catch::Contains("  axes        RAS 2, LAS 1 (of columns, rows, slices)\n"));
  CHECK_THAT(text, Catch::Contains("  spacing     all 8 x 1.25 x 1.5 mm (depth, height, width)\n"));
  CHECK_THAT(text, Catch::Contains("plan: spacing 8 x 1.25 x 1.5 mm; intensities of every volume"));
  CHECK_THAT(text, Catch::Contains("note: dataset.canonical: is false"));
  const schema::Value json = to_json(found);
  CHECK(json.at("plan").at("spacing").at(0).as_double() == 8);
  const schema::Value& fingerprint = json.at("parts").at("train").at("fingerprint");
  CHECK(fingerprint.at("orientations").at("LAS").as_int() == 1);
  CHECK(fingerprint.at("median_shape").at(2).as_int() == 8);
  CHECK(json.at("parts").at("train").at("bad").size() == 3);
}

TEST_CASE("survey: pictures and volumes of one value everywhere are listed", "[data]") {
  const Folder folder;
  folder.write("train/cat/0.png", encode_png(pattern(4, 4, 3)));
  folder.write("train/cat/1.png", encode_png({4, 4, 3, std::vector<std::uint8_t>(48, 9)}));
  const Survey found =
      survey(make_splits(component("image_folder", folder.path), {.survey = true}), 1);
  REQUIRE(found.parts[0].constant.size() == 1);
  CHECK_THAT(to_text(found), Catch::Contains("  constant    1 samples of one value everywhere\n") &&
                                 Catch::Contains("cat/1.png"));
}
