// Segmentations of volumes side by side. dformer 8, figure 4.
#include "visualise/layouts/volume_comparison.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "tests/visualise/case_samples.h"
#include "tests/visualise/pixels.h"
#include "visualise/layouts/disagreement.h"
#include "visualise/layouts/label_overlay.h"

using namespace fovea;
using namespace fovea::visualise;
using test::pixels_of;

namespace {

VolumeComparison of_case(bool truth) {
  VolumeComparison comparison;
  comparison.title = "title";
  comparison.networks = {"one", "two"};
  ComparedVolume one{test::drawn_case(false), {}};
  one.predicted = {one.volume.truth, one.volume.predicted};
  if (!truth) {
    one.volume.truth.clear();
    one.volume.dice.clear();
  }
  comparison.volumes.push_back(std::move(one));
  comparison.look.factor = 12;
  comparison.look.slices = 2;
  return comparison;
}

}  // namespace

TEST_CASE("volume comparison: a row a slice, a column for image, truth and runs", "[visualise]") {
  VolumeComparison comparison = of_case(true);
  const Canvas all = volume_comparison(comparison);
  comparison.look.slices = 1;
  const Canvas one_row = volume_comparison(comparison);
  CHECK(all.width == one_row.width);
  CHECK(all.height > one_row.height + 12 * 16);  // 8 rows of 2 mm, 12 pixels a millimetre
  const Canvas untold = volume_comparison(of_case(false));
  CHECK(all.width > untold.width + 120);  // the truth's column
  CHECK(untold.height == all.height);
}

TEST_CASE("volume comparison: boxes are where truth and runs differ", "[visualise]") {
  VolumeComparison comparison = of_case(true);
  const std::int64_t boxed = pixels_of(volume_comparison(comparison), kDifference);
  comparison.boxes = 0;
  const std::int64_t bare = pixels_of(volume_comparison(comparison), kDifference);
  CHECK(bare == 0);
  CHECK(boxed > 500);
  // Runs that agree with the truth everywhere have none but in the legend.
  comparison.boxes = 1;
  comparison.volumes[0].predicted[1] = comparison.volumes[0].volume.truth;
  const std::int64_t legend = pixels_of(volume_comparison(comparison), kDifference);
  CHECK(legend < 500);
  CHECK(legend > 0);
  // Without truth it is runs that are compared.
  CHECK(pixels_of(volume_comparison(of_case(false)), kDifference) > 500);
}

TEST_CASE("volume comparison: a voxel chooses the slice of the plane", "[visualise]") {
  VolumeComparison comparison = of_case(true);
  comparison.volumes[0].through = Sides3{0, 4, 5};  // there is no class in slice 0
  comparison.volumes[0].volume.classes = {"background", "", ""};
  comparison.boxes = 0;
  const Canvas axial = volume_comparison(comparison);
  comparison.plane = Plane::kSagittal;
  const Canvas sagittal = volume_comparison(comparison);
  // The legend has one pixel area of the colour in both; the truth's is only in the sagittal slice.
  CHECK(pixels_of(sagittal, class_colour(1)) > pixels_of(axial, class_colour(1)) + 1000);
}

TEST_CASE("volume comparison: refuses what does not fit", "[visualise]") {
  CHECK_THROWS_AS(volume_comparison({}), ShapeError);
  VolumeComparison comparison = of_case(true);
  comparison.volumes[0].predicted.pop_back();
  CHECK_THROWS_WITH(volume_comparison(comparison),
                    Catch::Contains("case has 1 predictions of 2 networks"));
  comparison = of_case(true);
  comparison.volumes[0].predicted[1].pop_back();
  CHECK_THROWS_WITH(volume_comparison(comparison), Catch::Contains("479 labels for 480 voxels"));
}
