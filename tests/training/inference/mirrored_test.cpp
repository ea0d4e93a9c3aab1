#include "training/inference/mirrored.h"

#include <catch2/catch.hpp>

#include <fmt/format.h>

#include "base/error.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "schema/json/parse.h"
#include "tests/support/tensors.h"
#include "tests/training/toy_task.h"

using namespace fovea;
using namespace fovea::training;

namespace {

// Every pixel times its number in its own map: a mean over mirrorings of an axis has the mean of
// the two numbers that stand there. Its second map is half as high.
std::vector<Tensor> numbered(const Tensor& x) {
  std::vector<float> values;
  const std::int64_t h = x.size(2), w = x.size(3);
  const auto given = x.host_values<float>();
  for (std::int64_t i = 0; i < h * w; ++i)
    values.push_back(given[static_cast<std::size_t>(i)] * static_cast<float>(i));
  const Tensor half = Tensor::from(std::vector<float>(values.begin(), values.begin() + h / 2 * w),
                                   {1, 1, h / 2, w}, x.device());
  return {Tensor::from(values, {1, 1, h, w}, x.device()), half};
}

std::unique_ptr<const Inferer> inferer(const std::string& json) {
  return make_inferer(test::component(json));
}

}  // namespace

TEST_CASE("mirroring: the mean over all mirrorings of the axes", "[training]") {
  const std::int64_t h = 4, w = 6;
  const Tensor ones = ops::ones({1, 1, h, w}, DType::kFloat32, test::cpu());
  const auto expected = [&](bool rows, bool columns, std::int64_t r, std::int64_t c) {
    const double row = rows ? static_cast<double>(h - 1) / 2 : static_cast<double>(r);
    const double column = columns ? static_cast<double>(w - 1) / 2 : static_cast<double>(c);
    return row * static_cast<double>(w) + column;
  };
  for (const auto& [axes, rows, columns] : {std::tuple{"", false, false},
                                            {"0", true, false},
                                            {"1", false, true},
                                            {"1, 0", true, true}}) {
    for (const char* type : {"\"type\": \"whole\"", "\"type\": \"sliding_window\"",
                             "\"type\": \"nnunet_windows\", \"roi_size\": [4, 6]"}) {
      CAPTURE(axes, type);
      const auto maps =
          (*inferer(fmt::format(R"({{{}, "mirror_axes": [{}]}})", type, axes)))(ones, numbered);
      const auto values = maps.front().host_values<float>();
      for (std::int64_t r = 0; r < h; ++r)
        for (std::int64_t c = 0; c < w; ++c)
          CHECK(values[static_cast<std::size_t>(r * w + c)] ==
                Approx(expected(rows, columns, r, c)).margin(1e-5));
    }
  }
  CHECK(mirrored(numbered, {0, 1})(ones).size() == 2);
}

TEST_CASE("mirroring: axes that are not there", "[training]") {
  CHECK_THROWS_WITH(inferer(R"({"type": "whole", "mirror_axes": [2]})")->window_of({4, 6}),
                    Catch::Contains("mirror_axes: 2, but samples have 2 axes; expected 0 to 1"));
  CHECK_THROWS_WITH(inferer(R"({"type": "sliding_window", "mirror_axes": [0, 0]})")->window_of({4}),
                    Catch::Contains("0 is given twice"));
  const Tensor ones = ops::ones({1, 1, 4, 6}, DType::kFloat32, test::cpu());
  CHECK_THROWS_AS((*inferer(R"({"type": "whole", "mirror_axes": [2]})"))(ones, numbered),
                  ConfigError);
  // Not of networks that give no maps.
  CHECK(inferer(R"({"type": "whole"})")->is_whole());
  CHECK_FALSE(inferer(R"({"type": "whole", "mirror_axes": [0]})")->is_whole());
}
