#include "visualise/heat_scale.h"

#include <catch2/catch.hpp>

#include <cmath>

#include "base/error.h"

using namespace fovea;
using namespace fovea::visualise;

TEST_CASE("quantities: the sign comes from maps and settings", "[visualise]") {
  RolloutOptions options = default_rollout(true);
  CHECK(rollout_quantity(options, true).is_signed);
  CHECK(rollout_quantity(options, true).name == "signed rollout");
  CHECK_FALSE(rollout_quantity(default_rollout(false), false).is_signed);
  CHECK(rollout_quantity(default_rollout(false), false).name == "attention rollout, share");
  for (const Sign sign : {Sign::kAbs, Sign::kPositive, Sign::kNegative}) {
    options.sign = sign;
    CHECK_FALSE(rollout_quantity(options, true).is_signed);
    CHECK(rollout_quantity(options, true).name != "attention rollout, share");
  }
  options = default_rollout(false);
  options.normalise = Normalise::kNone;
  CHECK(rollout_quantity(options, false).name == "attention rollout");
  CHECK(attention_quantity(true).is_signed);
  CHECK_FALSE(attention_quantity(false).is_signed);
  CHECK(palette_of({true, ""}) == ColourMap::kDiverging);
  CHECK(palette_of({true, ""}, ColourMap::kPlasma) == ColourMap::kDiverging);
  CHECK(palette_of({false, ""}, ColourMap::kPlasma) == ColourMap::kPlasma);
  CHECK_THROWS_AS(sequential_from_name("diverging"), ConfigError);
}

TEST_CASE("limits: around 0 or from 0, whatever the values", "[visualise]") {
  const Quantity with{true, "signed rollout"}, without{false, "attention rollout, share"};
  const std::vector<double> values = {0.1, 0.2, NAN, 0.05, INFINITY};
  CHECK(limits_of(with, values) == Limits{-0.2, 0.2});
  CHECK(limits_of(without, values) == Limits{0, 0.2});
  CHECK(limits_of(with, std::vector<double>{-0.5, 0.2}) == Limits{-0.5, 0.5});
  for (const std::vector<double>& nothing :
       {std::vector<double>{}, std::vector<double>{0, 0}, std::vector<double>{NAN}}) {
    CHECK(limits_of(with, nothing) == Limits{-1, 1});
    CHECK(limits_of(without, nothing) == Limits{0, 1});
  }
}

TEST_CASE("limits: shared by a column, by a quantity, or by nothing", "[visualise]") {
  const std::vector<HeatColumn> columns = {{"ViT", {false, "share"}, {{0.1, 0.2}, {0.1, 0.4}}},
                                           {"DIFF", {true, "signed"}, {{-0.1}, {0.2}}},
                                           {"DGViT", {true, "signed"}, {{0.3}, {-0.6}}}};
  using All = std::vector<std::vector<Limits>>;
  CHECK(limits_of(columns, HeatScale::kColumn) ==
        All{{{0, 0.4}, {0, 0.4}}, {{-0.2, 0.2}, {-0.2, 0.2}}, {{-0.6, 0.6}, {-0.6, 0.6}}});
  CHECK(limits_of(columns, HeatScale::kFigure) ==
        All{{{0, 0.4}, {0, 0.4}}, {{-0.6, 0.6}, {-0.6, 0.6}}, {{-0.6, 0.6}, {-0.6, 0.6}}});
  CHECK(limits_of(columns, HeatScale::kImage) ==
        All{{{0, 0.2}, {0, 0.4}}, {{-0.1, 0.1}, {-0.2, 0.2}}, {{-0.3, 0.3}, {-0.6, 0.6}}});
  CHECK_THROWS_WITH(limits_of(columns, HeatScale::kMinMax),
                    Catch::Contains("would move the zero of signed (DIFF)"));
  const std::vector<HeatColumn> one = {columns[0]};
  CHECK(limits_of(one, HeatScale::kMinMax) == All{{{0.1, 0.2}, {0.1, 0.4}}});
  CHECK(heat_scale_from_name("figure") == HeatScale::kFigure);
  CHECK_THROWS_WITH(heat_scale_from_name("colum"), Catch::Contains("did you mean \"column\""));
}

TEST_CASE("bars: say the quantity and its numbers", "[visualise]") {
  const HeatColumn column{"DGViT", {true, "signed rollout"}, {{-0.1, 0.3}}};
  const std::vector<HeatColumn> columns{column};
  const auto bar = [&](HeatScale scale) {
    return bar_of(column, limits_of(columns, scale)[0], scale, ColourMap::kPlasma);
  };
  CHECK(bar(HeatScale::kColumn).label == "signed rollout");
  CHECK(bar(HeatScale::kColumn).low == -0.3);
  CHECK(bar(HeatScale::kColumn).high == 0.3);
  CHECK(bar(HeatScale::kColumn).map == ColourMap::kDiverging);
  CHECK(bar(HeatScale::kImage).low == -1);
  CHECK_THAT(bar(HeatScale::kImage).label, Catch::Contains("largest |value| of each picture"));
}
