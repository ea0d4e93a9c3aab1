#include "visualise/layouts/shown_samples.h"

#include <catch2/catch.hpp>

#include <numeric>

using namespace fovea::visualise;

TEST_CASE("shown samples: the first of each class, in the order of the classes", "[visualise]") {
  using List = std::vector<std::int64_t>;
  const ShownSamples three = one_of_each_class(List{2, 2, 0, 1, 0});
  CHECK(three.samples == List{2, 3, 0});
  CHECK(three.classes == 3);
  List many(100);
  std::iota(many.begin(), many.end(), 0);
  const ShownSamples some = one_of_each_class(many, 4);
  CHECK(some.samples == List{0, 25, 50, 75});
  CHECK(some.classes == 100);
  CHECK(one_of_each_class(List{}).samples.empty());
  CHECK(one_of_each_class(List{7, 7}).samples == List{0});
}
