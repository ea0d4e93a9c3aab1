// Segmentations beside the truth. gdla section 9, figures 4 and 5.
#include "visualise/layouts/prediction_figure.h"

#include <catch2/catch.hpp>

#include <algorithm>

#include "base/error.h"
#include "tests/visualise/pixels.h"
#include "visualise/layouts/disagreement.h"
#include "visualise/layouts/label_overlay.h"
#include "visualise/layouts/overlay.h"

using namespace fovea;
using namespace fovea::visualise;
using test::pixels_of;

namespace {

const std::vector<std::int64_t> kTruthLabels = {0, 0, 1, 2, 0, 0, 1, 2, 0, 0, 1, 2};
const std::vector<std::int64_t> kFound = {0, 0, 1, 1, 0, 0, 1, 1, 0, 0, -100, 0};

}  // namespace

TEST_CASE("class picture: contours of one foreground, the prediction on top", "[visualise]") {
  const Canvas image(4, 3, Colour{10, 20, 30});
  const Canvas truth = picture_of_classes(image, kTruthLabels, {}, {.classes = 2});
  CHECK(truth.at(0, 0) == Colour{10, 20, 30});
  CHECK(truth.at(2, 1) == kTruth);
  const Canvas both = picture_of_classes(image, kTruthLabels, kFound, {.classes = 1});
  CHECK(both.at(2, 0) == kPrediction);
  CHECK(both.at(2, 2) == kTruth);
  const Canvas thick = picture_of_classes(image, kTruthLabels, {}, {.classes = 2, .thickness = 2});
  CHECK(thick.at(1, 1) == kTruth);
}

TEST_CASE("class picture: several classes tint the image in grey", "[visualise]") {
  const Canvas image(4, 3, Colour{100, 100, 100});
  const Canvas found = picture_of_classes(image, kTruthLabels, kFound, {.classes = 3});
  Canvas tint(1, 1, Colour{100, 100, 100});
  tint.blend(0, 0, class_colour(1), 0.5);
  CHECK(found.at(3, 0) == tint.at(0, 0));
  CHECK(found.at(2, 2) == Colour{100, 100, 100});
  CHECK(found.at(0, 0) == Colour{100, 100, 100});
}

TEST_CASE("class picture: without a background every class is tinted, two as well", "[visualise]") {
  const Canvas image(4, 3, Colour{100, 100, 100});
  const Canvas found =
      picture_of_classes(image, kTruthLabels, kFound, {.classes = 2, .background = false});
  const auto tinted = [&](std::int64_t k) {
    Canvas tint(1, 1, Colour{100, 100, 100});
    tint.blend(0, 0, class_colour(k), 0.5);
    return tint.at(0, 0);
  };
  CHECK(found.at(0, 0) == tinted(1));
  CHECK(found.at(2, 0) == tinted(2));
  CHECK(found.at(2, 2) == Colour{100, 100, 100});
  PredictionFigure f{"title", {"a"}, {"x", "y"}, {}, 1, 16};
  f.rows = {{"0", Canvas(4, 3, kWhite), {0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1}, {}}};
  f.rows[0].predicted = {f.rows[0].truth};
  f.background = false;
  Canvas tint(1, 1);
  tint.blend(0, 0, class_colour(1), 0.5);
  CHECK(pixels_of(render(f), tint.at(0, 0)) >= 2 * 6 * 16 * 16);
}

TEST_CASE("prediction figure: the truth, then the networks; colours below", "[visualise]") {
  PredictionFigure f{"title", {"a"}, {"background", "x", "y"}, {}, 1, 16};
  f.rows = {{"0", Canvas(4, 3), kTruthLabels, {kFound}}};
  const Canvas one = render(f);
  f.networks.push_back("b");
  CHECK_THROWS_AS(render(f), ShapeError);
  f.rows[0].predicted.push_back(kFound);
  CHECK(render(f).width >= one.width + 4 * 16);
  f.rows.clear();
  CHECK_THROWS_AS(render(f), ShapeError);
}

TEST_CASE("prediction figure: files of one's own have no truth", "[visualise]") {
  PredictionFigure f{"title", {"a"}, {"background", "x"}, {}, 1, 8};
  f.rows = {{"own", Canvas(4, 3, kWhite), {}, {kTruthLabels}}};
  for (std::int64_t& label : f.rows[0].predicted[0]) label = std::min<std::int64_t>(label, 1);
  const Canvas alone = render(f);
  CHECK(pixels_of(alone, kTruth) == 0);  // in no picture, and not in the legend
  CHECK(pixels_of(alone, kPrediction) > 64);
  // Beside a row with truth its place is empty.
  f.rows.push_back(f.rows[0]);
  f.rows[1].truth = f.rows[0].predicted[0];
  const Canvas both = render(f);
  CHECK(pixels_of(both, kTruth) > 64);
  CHECK(both.height > alone.height);
}

TEST_CASE("prediction figure: boxes are where truth and networks differ", "[visualise]") {
  PredictionFigure f{"title", {"a"}, {"background", "x"}, {}, 1, 8};
  const std::vector<std::int64_t> truth = {0, 1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0};
  f.rows = {{"0", Canvas(4, 3, kWhite), truth, {truth}}};
  f.boxes = 1;
  const std::int64_t legend = pixels_of(render(f), kDifference);
  f.rows[0].predicted[0].assign(12, 0);
  CHECK(pixels_of(render(f), kDifference) > legend + 2 * 8 * 8 * 4);  // in both columns
  f.boxes = 0;
  CHECK(pixels_of(render(f), kDifference) == 0);
}
