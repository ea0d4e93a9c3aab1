#include "training/inference/postprocessing.h"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

#include "base/error.h"

using namespace fovea;
using namespace fovea::training;

namespace {

const std::vector<std::string> kNames = {"background", "a", "b", "c"};

struct Labels {
  std::string text;  // a digit each
  metrics::Grid grid;
  metrics::LabelSets sets;
};

// Drawn by NumPy; the expected labels below are made of them by scikit-image's label() with its
// default connectivity, by the rules of nnU-Net (acvl_utils 0.2.6) and, of sizes, of MONAI's
// RemoveSmallObjects with independent channels.
const Labels kPlane{
    "00200000100000130110030030020100130101102112022020001020000001203020310322000002000231001010"
    "0110000",
    {{9, 11}, {0.5, 2.5}},
    {{0}, {1}, {2}, {3}}};
const Labels kVolume{
    "00000000000100000020021001000000000000000000020000002000120010000200001000000000000010200000"
    "0100000000000100000011200100",
    {{4, 5, 6}, {0.5, 2, 1.5}},
    {{0}, {1}, {2}}};

std::string processed(const Labels& given, const PostprocessingOptions& options,
                      bool spacing = true) {
  std::vector<std::int64_t> labels;
  for (const char digit : given.text) labels.push_back(digit - '0');
  metrics::Grid grid = given.grid;
  if (!spacing) grid.spacing.clear();
  const std::vector<std::string> names(kNames.begin(), kNames.begin() + std::ssize(given.sets));
  const Postprocessing how = make_postprocessing(options, names, given.sets, 1);
  std::vector<std::uint8_t> bytes(labels.begin(), labels.end());
  postprocess(how, labels, grid);
  postprocess(how, bytes, grid);
  CHECK(std::vector<std::int64_t>(bytes.begin(), bytes.end()) == labels);
  std::string text;
  for (const std::int64_t label : labels) text += static_cast<char>('0' + label);
  return text;
}

}  // namespace

TEST_CASE("postprocessing: planes and volumes as nnU-Net's, and small parts as MONAI's",
          "[training]") {
  CHECK(
      processed(kPlane, {{"foreground"}, ""}) ==
      "0020000010000013011003003002010013010110211202202000102000000120300000032200000000023100000"
      "00110000");
  CHECK(
      processed(kPlane, {{"foreground", "b"}, ""}) ==
      "0000000010000013011003003000010013010110011000000000100000000120300000032200000000023100000"
      "00110000");
  CHECK(
      processed(kPlane, {{"each"}, ""}) ==
      "0000000010000003011003003000010013000000011000000000100000000020300030032200000000023000000"
      "00000000");
  CHECK(
      processed(kPlane, {{}, "2.5"}) ==
      "0000000010000000011000000000010010000000011000000000100000000020000000002200000000020000000"
      "00000000");
  CHECK(processed(kPlane, {{}, "3mm2"}) == processed(kPlane, {{}, "2.5"}));
  CHECK(
      processed(kVolume, {{"foreground"}, ""}) ==
      "0000000000000000002002100100000000000000000002000000200012000000020000100000000000000020000"
      "00100000000000100000011000100");
  CHECK(
      processed(kVolume, {{"foreground", "b"}, ""}) ==
      "0000000000000000000002100100000000000000000002000000200012000000000000100000000000000020000"
      "00100000000000100000011000100");
  CHECK(
      processed(kVolume, {{"each"}, ""}) ==
      "0000000000000000000002000000000000000000000002000000200002000000000000100000000000000020000"
      "00100000000000100000011000100");
  CHECK(processed(kVolume, {{}, "2.5"}) == processed(kVolume, {{"each"}, ""}));
  CHECK(
      processed(kVolume, {{}, "3mm3"}) ==
      "0000000000000000000002000100000000000000000002000000200012000000000000100000000000000020000"
      "00100000000000100000011000100");
  // A region of two classes: their common component.
  Labels regions = kPlane;
  regions.sets = {{0}, {1, 2}, {3}};
  CHECK(
      processed(regions, {{"a"}, ""}) ==
      "0000000010000003011003003002010013000110211200002000102000000120300030032200000000023100000"
      "00110000");
}

TEST_CASE("postprocessing: what cannot be meant is refused", "[training]") {
  const auto refused = [](const PostprocessingOptions& options, const std::string& message,
                          bool spacing = true) {
    CHECK_THROWS_WITH(processed(kPlane, options, spacing), Catch::Contains(message));
  };
  refused({{"d"}, ""}, "--keep-largest d: no class of that name");
  refused({{"background"}, ""}, "known: foreground, each, a, b, c");
  for (const char* size : {"0", "-1", "x", "5mm", "5 mm2", "nan", "inf", "1e99"})
    refused({{}, size}, std::string("--min-size ") + size + ": expected a number above 0");
  refused({{}, "3mm3"}, "in mm3, but predictions have 2 axes; expected mm2");
  refused({{}, "3mm2"}, "the data do not say how large pixels are", false);
  CHECK_THROWS_WITH(make_postprocessing({{"each"}, ""}, {"a", "b"}, {{0}, {1}}, 0),
                    Catch::Contains("have no background"));
}

TEST_CASE("postprocessing: options survive a file", "[training]") {
  const PostprocessingOptions options{{"foreground", "a"}, "50mm3"};
  CHECK(postprocessing_from(to_value(options)) == options);
  CHECK(options.text() == "largest component of foreground, a; components of at least 50mm3");
  CHECK(PostprocessingOptions{{}, "50"}.text() == "components of at least 50 pixels");
  CHECK(PostprocessingOptions{}.text() == "none");
}
