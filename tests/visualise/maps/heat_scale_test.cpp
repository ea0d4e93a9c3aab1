#include "visualise/maps/heat_scale.h"

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

TEST_CASE("limits: the usual values, whatever the largest", "[visualise]") {
  const Quantity with{true, "signed rollout"}, without{false, "attention rollout, share"};
  std::vector<double> values;
  for (int i = 0; i <= 100; ++i) values.push_back(1 + i / 100.0);
  CHECK(limits_of(without, values).low == Approx(1.01));
  CHECK(limits_of(without, values).high == Approx(1.99));
  values.back() = 1e6;  // a peak changes nothing
  CHECK(limits_of(without, values).high == Approx(1.99));
  values.back() = -1e6;
  CHECK(limits_of(with, values).high == Approx(1.99));
  CHECK(limits_of(with, values).low == Approx(-1.99));
  values.insert(values.end(), {NAN, INFINITY, -INFINITY});
  CHECK(limits_of(with, values).high == Approx(1.99));
}

TEST_CASE("limits: maps that are the same but for a few places, or all over", "[visualise]") {
  const Quantity with{true, "signed"}, without{false, "share"};
  std::vector<double> peak(1000, 0.001);
  peak[7] = 0.5;  // the percentiles are the same
  CHECK(limits_of(without, peak) == Limits{0.001, 0.5});
  peak[7] = -0.5;
  CHECK(limits_of(with, std::vector<double>{0, 0, 0, 0, -0.5}).high == Approx(0.48));
  std::vector<double> one_hot(1000, 0.0);
  one_hot[3] = 0.25;
  CHECK(limits_of(with, one_hot) == Limits{-0.25, 0.25});
  // What float32 makes of equal numbers is not stretched to all colours.
  CHECK(limits_of(without, std::vector<double>{0.25, 0.25 + 1e-8}).low == Approx(0).margin(1e-7));
  CHECK(limits_of(without, std::vector<double>{0.25, 0.25}) == Limits{0, 0.5});
  CHECK(limits_of(without, std::vector<double>{1}) == Limits{0, 2});
  for (const std::vector<double>& nothing :
       {std::vector<double>{}, std::vector<double>{0, 0}, std::vector<double>{NAN}}) {
    CHECK(limits_of(with, nothing) == Limits{-1, 1});
    CHECK(limits_of(without, nothing) == Limits{0, 1});
  }
}

TEST_CASE("limits: from 0, in even shares, from least to largest", "[visualise]") {
  const Quantity with{true, "signed rollout"}, without{false, "share"};
  const std::vector<double> values = {0.1, 0.2, NAN, 0.05, INFINITY};
  CHECK(limits_of(with, values, HeatEnds::kFromZero) == Limits{-0.2, 0.2});
  CHECK(limits_of(without, values, HeatEnds::kFromZero) == Limits{0, 0.2});
  CHECK(limits_of(with, std::vector<double>{-0.5, 0.2}, HeatEnds::kFromZero) == Limits{-0.5, 0.5});
  CHECK(limits_of(without, values, HeatEnds::kMinMax) == Limits{0.05, 0.2});
  CHECK(limits_of(with, std::vector<double>{-0.5, 0.2}, HeatEnds::kMinMax) == Limits{-0.5, 0.2});
  const Limits shares =
      limits_of(without, std::vector<double>{0, 0.125, 0.25, 0.625}, HeatEnds::kEvenShare, 0.25);
  CHECK(shares.logarithmic);
  CHECK(shares.low == Approx(0.1275));  // of what is above 0
  CHECK(position_of(0, shares) == 0);
  CHECK(position_of(std::sqrt(shares.low * shares.high), shares) == Approx(0.5));
  const Limits flat =
      limits_of(without, std::vector<double>{0.25, 0.25}, HeatEnds::kEvenShare, 0.25);
  CHECK(position_of(0.25, flat) == Approx(0.5));
  CHECK_THROWS_WITH(limits_of(with, values, HeatEnds::kEvenShare),
                    Catch::Contains("signed rollout is none"));
  CHECK(std::isnan(position_of(NAN, {0, 1})));
  CHECK(position_of(-3, {0, 1}) == 0);
  CHECK(position_of(7, {0, 1}) == 1);
}

TEST_CASE("even share: of rows that sum to one", "[visualise]") {
  CHECK(even_share(attention_quantity(false), 4) == 0.25);
  CHECK(even_share(attention_quantity(true), 4) == 0);
  RolloutOptions options = default_rollout(false);
  CHECK(even_share(options, false, 8) == 0.125);
  options.normalise = Normalise::kNone;
  CHECK(even_share(options, false, 8) == 0);
  CHECK(even_share(default_rollout(true), true, 8) == 0);
}

TEST_CASE("limits: shared by a column, by a quantity, or by nothing", "[visualise]") {
  const std::vector<HeatColumn> columns = {{"ViT", {false, "share"}, {{0.1, 0.2}, {0.1, 0.4}}},
                                           {"DIFF", {true, "signed"}, {{-0.1}, {0.2}}},
                                           {"DGViT", {true, "signed"}, {{0.3}, {-0.6}}}};
  using All = std::vector<std::vector<Limits>>;
  const HeatEnds from_zero = HeatEnds::kFromZero;
  CHECK(limits_of(columns, {from_zero, HeatSharing::kColumn}) ==
        All{{{0, 0.4}, {0, 0.4}}, {{-0.2, 0.2}, {-0.2, 0.2}}, {{-0.6, 0.6}, {-0.6, 0.6}}});
  CHECK(limits_of(columns, {from_zero, HeatSharing::kFigure}) ==
        All{{{0, 0.4}, {0, 0.4}}, {{-0.6, 0.6}, {-0.6, 0.6}}, {{-0.6, 0.6}, {-0.6, 0.6}}});
  CHECK(limits_of(columns, {from_zero, HeatSharing::kImage}) ==
        All{{{0, 0.2}, {0, 0.4}}, {{-0.1, 0.1}, {-0.2, 0.2}}, {{-0.3, 0.3}, {-0.6, 0.6}}});
  // Percentiles are those of all that share them.
  const auto own = limits_of(columns, {})[0];
  CHECK(own[0] == own[1]);
  CHECK(own[0].high == Approx(0.394));
  CHECK_THROWS_WITH(limits_of(columns, {HeatEnds::kEvenShare, HeatSharing::kColumn}),
                    Catch::Contains("share (ViT) is none"));
  const std::vector<HeatColumn> one = {columns[0]};
  CHECK(limits_of(one, heat_scale_from_text("minmax")) == All{{{0.1, 0.2}, {0.1, 0.4}}});
}

TEST_CASE("limits: networks with other numbers of tokens meet in even shares", "[visualise]") {
  const std::vector<HeatColumn> columns = {
      {"coarse", {false, "share"}, {{0.25, 0.5}}, 0.25},
      {"fine", {false, "share"}, {{0.0625, 0.25}}, 0.0625}};  // 1 to 4 times
  const auto limits = limits_of(columns, {HeatEnds::kEvenShare, HeatSharing::kFigure});
  CHECK(limits[0][0].low / 0.25 == Approx(limits[1][0].low / 0.0625));
  CHECK(limits[0][0].high / 0.25 == Approx(limits[1][0].high / 0.0625));
  CHECK(position_of(0.5, limits[0][0]) == Approx(position_of(0.125, limits[1][0])));
}

TEST_CASE("scale: a word for the ends, one for what shares them", "[visualise]") {
  CHECK(heat_scale_from_text("figure") == HeatScale{HeatEnds::kPercentiles, HeatSharing::kFigure});
  CHECK(heat_scale_from_text("from_zero") == HeatScale{HeatEnds::kFromZero, HeatSharing::kColumn});
  CHECK(heat_scale_from_text("image,even_share") ==
        HeatScale{HeatEnds::kEvenShare, HeatSharing::kImage});
  CHECK(heat_scale_from_text("minmax") == HeatScale{HeatEnds::kMinMax, HeatSharing::kImage});
  CHECK(heat_scale_from_text("minmax,column").sharing == HeatSharing::kColumn);
  CHECK_THROWS_WITH(heat_scale_from_text("colum"), Catch::Contains("did you mean \"column\""));
  CHECK_THROWS_WITH(heat_scale_from_text("minmax,from_zero"), Catch::Contains("same thing twice"));
  CHECK_THROWS_AS(heat_scale_from_text(""), ConfigError);
  CHECK_THROWS_AS(heat_scale_from_text("column,"), ConfigError);
}

TEST_CASE("bars: say the quantity, its numbers and how they were found", "[visualise]") {
  const HeatColumn column{"DGViT", {true, "signed rollout"}, {{-0.1, 0.3}, {0.2, 0.1}}};
  const std::vector<HeatColumn> columns{column};
  const auto bar = [&](HeatScale scale, std::size_t side_by_side = 1) {
    return bar_of(column, limits_of(columns, scale)[0], scale, ColourMap::kPlasma, side_by_side);
  };
  CHECK(bar({}).label == "signed rollout, to the 99th percentile of |value|");
  CHECK(bar({HeatEnds::kFromZero}).label == "signed rollout, to the largest |value|");
  CHECK(bar({HeatEnds::kFromZero}).low == -0.3);
  CHECK(bar({HeatEnds::kFromZero}).high == 0.3);
  CHECK(bar({}).map == ColourMap::kDiverging);
  CHECK_THAT(bar({}, 2).label, Catch::Contains("each column its own scale"));
  CHECK_THAT(bar({HeatEnds::kPercentiles, HeatSharing::kFigure}, 2).label,
             Catch::Contains("one scale for all columns"));
  const ColourBar each = bar({HeatEnds::kPercentiles, HeatSharing::kImage});
  CHECK(each.low == -1);
  CHECK(each.low_text == "−99th");
  CHECK_THAT(each.label, Catch::Contains("each picture its own scale"));
  const ColourBar least = bar({HeatEnds::kMinMax, HeatSharing::kColumn});
  CHECK(least.map == ColourMap::kPlasma);
  CHECK(least.low == -0.1);
  const Quantity share{false, "share"};
  const ColourBar even = bar_of(share, {0.1, 0.4}, HeatEnds::kPercentiles, kHeat, 0.25);
  CHECK(even.map == kHeat);
  CHECK(even.mark == 0.25);
  CHECK(even.mark_text == "even share 0.25");
  const ColourBar times = bar_of(share, {0.125, 0.5, true}, HeatEnds::kEvenShare, kHeat, 0.25);
  CHECK(times.low == 0.5);
  CHECK(times.high == 2);
  CHECK(times.mark == 1);
  CHECK(times.logarithmic);
  CHECK_THAT(times.label, Catch::Contains("times an even share"));
  CHECK(limits_text({0.125, 0.5}, HeatEnds::kPercentiles, 0.25) == "0.125 to 0.5");
  CHECK(limits_text({-0.3, 0.1}, HeatEnds::kMinMax, 0) == "−0.3 to 0.1, 0 at 75 %");
}
