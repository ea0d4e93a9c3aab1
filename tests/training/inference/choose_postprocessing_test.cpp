#include "training/inference/choose_postprocessing.h"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

#include "base/error.h"
#include "data/batch.h"

using namespace fovea;
using namespace fovea::training;

namespace {

std::vector<std::int64_t> labels_of(const std::string& digits) {
  std::vector<std::int64_t> labels;
  for (const char digit : digits) labels.push_back(digit == 'x' ? data::kIgnoreLabel : digit - '0');
  return labels;
}

const std::string kTruth[] = {"000000000111220001112200011122000000000000000000",
                              "000000020111220001112200011122000011000000110000"};

PostprocessingChooser chooser_of(const std::vector<std::string>& predicted) {
  PostprocessingChooser chooser({"background", "a", "b"}, {{0}, {1}, {2}}, 1);
  for (std::size_t i = 0; i < predicted.size(); ++i)
    chooser.add(labels_of(kTruth[i]), labels_of(predicted[i]), {{6, 8}});
  return chooser;
}

}  // namespace

// Expected numbers are those of nnU-Net's rule in NumPy, with scikit-image's components.
TEST_CASE("choose postprocessing: nnU-Net's rule", "[training]") {
  const PostprocessingChoice both = chooser_of({"000200010111120001112200211122000020200000200000",
                                                "000000020111220011112200111022020011000200110000"})
                                        .choose();
  CHECK(both.cases == 2);
  CHECK(both.options == PostprocessingOptions{{"foreground", "b"}, ""});
  REQUIRE(both.steps.size() == 3);
  CHECK(both.steps[0].keep_largest == "foreground");
  CHECK(both.steps[0].before == Approx(0.8222222222222222).epsilon(1e-12));
  CHECK(both.steps[0].after == Approx(0.8460835582546109).epsilon(1e-12));
  CHECK(both.steps[1].keep_largest == "a");
  CHECK(both.steps[1].before == Approx(0.9181286549707601).epsilon(1e-12));
  CHECK_FALSE(both.steps[1].taken);
  CHECK(both.steps[2].before == Approx(0.7740384615384616).epsilon(1e-12));
  CHECK(both.steps[2].after == Approx(0.8782051282051282).epsilon(1e-12));
  CHECK(both.steps[2].taken);

  // What makes the mean smaller is not taken, and the classes are tried all the same.
  const PostprocessingChoice one = chooser_of({"000000000112220001112200021121000000020000000000",
                                               "101000020111020001012000011112000011000000110020"})
                                       .choose();
  CHECK(one.options == PostprocessingOptions{{"a"}, ""});
  CHECK(one.steps[0].before == Approx(0.7654061624649859).epsilon(1e-12));
  CHECK(one.steps[0].after == Approx(0.7487394957983193).epsilon(1e-12));
  CHECK(one.steps[1].after == Approx(0.8660714285714286).epsilon(1e-12));
  CHECK(one.steps[2].after == Approx(0.6846153846153846).epsilon(1e-12));
}

TEST_CASE("choose postprocessing: ignored pixels, one class, no background", "[training]") {
  PostprocessingChooser single({}, {{0}, {1}}, 1);
  single.add(labels_of("0110x0"), labels_of("011011"), {{1, 6}});
  const PostprocessingChoice choice = single.choose();
  REQUIRE(choice.steps.size() == 1);  // the class is the foreground
  CHECK(choice.steps[0].before == Approx(0.8));
  CHECK(choice.steps[0].after == Approx(0.8));  // of equal size both stay
  CHECK(choice.options.empty());
  CHECK_THROWS_WITH(PostprocessingChooser({"a", "b"}, {{0}, {1}}, 0),
                    Catch::Contains("no background"));
}
