#include "visualise/maps/heat_scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/suggest.h"
#include "metrics/masks/surface.h"

namespace fovea::visualise {
namespace {

constexpr std::pair<const char*, HeatEnds> kEndsByName[] = {{"percentiles", HeatEnds::kPercentiles},
                                                            {"from_zero", HeatEnds::kFromZero},
                                                            {"even_share", HeatEnds::kEvenShare},
                                                            {"minmax", HeatEnds::kMinMax}};
constexpr std::pair<const char*, HeatSharing> kSharingByName[] = {{"column", HeatSharing::kColumn},
                                                                  {"figure", HeatSharing::kFigure},
                                                                  {"image", HeatSharing::kImage}};
constexpr double kFlat = 1e-12;  // a smaller range has no least and largest. dgsa section 9

struct Extent {
  double low = INFINITY, high = -INFINITY;
  double size = 0;  // the largest |value|
};

Extent extent_of(const std::vector<double>& values) {
  Extent found;
  for (const double v : values) {
    found.low = std::min(found.low, v);
    found.high = std::max(found.high, v);
    found.size = std::max(found.size, std::abs(v));
  }
  return found;
}

double percentile_of(const std::vector<double>& values, double percent) {
  return metrics::quantile(values, percent / 100);
}

// Needs finite values, at least one.
Limits signed_limits(std::vector<double> values, double size, HeatEnds ends) {
  for (double& v : values) v = std::abs(v);
  double m = size;
  if (ends == HeatEnds::kPercentiles) {
    const double usual = percentile_of(values, kHighPercentile);
    if (usual > kNothing * size) m = usual;
  }
  if (!(m > 0)) m = 1;
  return {-m, m};
}

Limits percentile_limits(const std::vector<double>& values, const Extent& all) {
  Limits found{percentile_of(values, kLowPercentile), percentile_of(values, kHighPercentile)};
  const double usual = std::max(std::abs(found.low), std::abs(found.high));
  if (found.high - found.low > std::max(kEvenNoise * usual, kNothing * all.size)) return found;
  if (all.high - all.low > kEvenNoise * all.size) return {all.low, all.high};
  return all.size > 0 ? Limits{all.high - all.size, all.high + all.size} : Limits{};
}

Limits even_share_limits(const std::vector<double>& values, double even) {
  std::vector<double> positive;
  for (const double v : values) {
    if (v > 0) positive.push_back(v);
  }
  if (positive.empty()) return {even / 2, even * 2, true};
  const Limits found = percentile_limits(positive, extent_of(positive));
  if (found.low > 0) return {found.low, found.high, true};
  return {found.high / 4, found.high, true};  // all are the same: in the middle
}

Limits minmax_limits(const Extent& all) {
  return {all.low, all.high - all.low < kFlat ? all.low + 1 : all.high};
}

void check_even(const HeatColumn& column, HeatEnds ends) {
  FOVEA_CHECK(ends != HeatEnds::kEvenShare || column.even > 0, ConfigError,
              fmt::format("heatmap: scale even_share counts in shares of one; {}{}{}{} is none; "
                          "choose percentiles, from_zero or minmax, or draw it without sign and "
                          "normalised",
                          column.quantity.name, column.name.empty() ? "" : " (", column.name,
                          column.name.empty() ? "" : ")"));
}

std::vector<double> joined(const std::vector<std::vector<double>>& lists, double factor) {
  std::vector<double> all;
  for (const auto& values : lists) {
    for (const double v : values) all.push_back(factor * v);
  }
  return all;
}

// In even shares networks with different numbers of tokens can be compared.
double unit_of(const HeatColumn& column, HeatEnds ends) {
  return ends == HeatEnds::kEvenShare ? column.even : 1;
}

Limits scaled_limits(Limits limits, double factor) {
  limits.low *= factor;
  limits.high *= factor;
  return limits;
}

std::string ends_text(const Quantity& quantity, HeatEnds ends) {
  switch (ends) {
    case HeatEnds::kPercentiles:
      return quantity.is_signed ? "to the 99th percentile of |value|" : "1st to 99th percentile";
    case HeatEnds::kFromZero:
      return quantity.is_signed ? "to the largest |value|" : "from 0";
    case HeatEnds::kEvenShare:
      return "times an even share";
    case HeatEnds::kMinMax:
      return "least to largest";
  }
  return "";
}

// The words at the ends of a bar whose numbers each picture has for itself.
std::pair<std::string, std::string> end_words(const Quantity& quantity, HeatEnds ends) {
  if (ends == HeatEnds::kMinMax) return {"least", "largest"};
  const std::string high = ends == HeatEnds::kFromZero ? "largest" : "99th";
  if (quantity.is_signed) return {"−" + high, high};
  return {ends == HeatEnds::kFromZero ? "0" : "1st", high};
}

}  // namespace

Quantity attention_quantity(bool signed_maps) {
  return {signed_maps, signed_maps ? "signed attention" : "attention"};
}

Quantity rollout_quantity(const RolloutOptions& options, bool signed_maps) {
  if (signed_maps && options.sign == Sign::kRaw) return {true, "signed rollout"};
  std::string name = "attention rollout";
  if (options.sign == Sign::kAbs && signed_maps) name = "rollout of |attention|";
  if (options.sign == Sign::kPositive && signed_maps) name = "rollout of positive attention";
  if (options.sign == Sign::kNegative) name = "rollout of negative attention";
  // Rows are shares of one as long as they are normalised.
  return {false, name + (options.normalise == Normalise::kNone ? "" : ", share")};
}

double even_share(const Quantity& quantity, std::int64_t n) {
  return quantity.is_signed ? 0 : 1 / static_cast<double>(n);
}

double even_share(const RolloutOptions& options, bool signed_maps, std::int64_t n) {
  const Quantity quantity = rollout_quantity(options, signed_maps);
  return options.normalise == Normalise::kNone ? 0 : even_share(quantity, n);
}

ColourMap palette_of(const Quantity& quantity, ColourMap sequential, HeatEnds ends) {
  return quantity.is_signed && ends != HeatEnds::kMinMax ? ColourMap::kDiverging : sequential;
}

ColourMap sequential_from_name(std::string_view name) {
  const ColourMap map = colour_map_from_name(name);
  FOVEA_CHECK(
      map != ColourMap::kDiverging && map != ColourMap::kBlueRed, ConfigError,
      fmt::format("heatmap: colour map {} is for signed quantities, which always have "
                  "diverging; expected one for quantities without sign, as inferno, plasma, "
                  "viridis, cividis, reds, blues, grey",
                  name));
  return map;
}

std::string_view name_of(HeatEnds ends) {
  for (const auto& [name, known] : kEndsByName) {
    if (known == ends) return name;
  }
  return "?";
}

HeatScale heat_scale_from_text(std::string_view text) {
  std::optional<HeatEnds> ends;
  std::optional<HeatSharing> sharing;
  std::vector<std::string> known;
  for (const auto& [name, value] : kEndsByName) known.emplace_back(name);
  for (const auto& [name, value] : kSharingByName) known.emplace_back(name);
  const auto take = [&](std::string_view word, const auto& names, auto& target) {
    for (const auto& [name, value] : names) {
      if (name != word) continue;
      FOVEA_CHECK(!target, ConfigError,
                  fmt::format("heatmap: scale \"{}\" says the same thing twice; expected at most "
                              "one of percentiles, from_zero, even_share, minmax, and one of "
                              "column, figure, image",
                              text));
      target = value;
      return true;
    }
    return false;
  };
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    begin = end + 1;
    const bool found = take(word, kEndsByName, ends) || take(word, kSharingByName, sharing);
    FOVEA_CHECK(found, ConfigError,
                fmt::format("heatmap: no scale called \"{}\"{} (known: percentiles, from_zero, "
                            "even_share, minmax; column, figure, image)",
                            word, did_you_mean(std::string(word), known)));
  }
  HeatScale scale;
  scale.ends = ends.value_or(scale.ends);
  if (scale.ends == HeatEnds::kMinMax) scale.sharing = HeatSharing::kImage;
  scale.sharing = sharing.value_or(scale.sharing);
  return scale;
}

Limits limits_of(const Quantity& quantity, std::span<const double> values, HeatEnds ends,
                 double even) {
  check_even({"", quantity, {}, even}, ends);
  std::vector<double> finite;
  std::copy_if(values.begin(), values.end(), std::back_inserter(finite),
               [](double v) { return std::isfinite(v); });
  if (finite.empty()) finite.push_back(0);
  const Extent all = extent_of(finite);
  if (ends == HeatEnds::kMinMax) return minmax_limits(all);
  if (ends == HeatEnds::kEvenShare) return even_share_limits(finite, even);
  if (quantity.is_signed) return signed_limits(std::move(finite), all.size, ends);
  if (ends == HeatEnds::kFromZero) return {0, all.size > 0 ? all.size : 1};
  return percentile_limits(finite, all);
}

double position_of(double value, const Limits& limits) {
  if (std::isnan(value)) return value;
  if (limits.logarithmic) {
    const double low = std::log(limits.low);
    const double t = (std::log(std::max(value, limits.low)) - low) / (std::log(limits.high) - low);
    return std::clamp(t, 0.0, 1.0);
  }
  return std::clamp((value - limits.low) / (limits.high - limits.low), 0.0, 1.0);
}

Matrix positions_of(const Matrix& values, const Limits& limits) {
  Matrix result = values;
  for (double& v : result.values) v = position_of(v, limits);
  return result;
}

std::vector<std::vector<Limits>> limits_of(const std::vector<HeatColumn>& columns,
                                           const HeatScale& scale) {
  std::map<std::string, std::vector<double>> shared;
  for (const HeatColumn& column : columns) {
    check_even(column, scale.ends);
    if (scale.sharing != HeatSharing::kFigure) continue;
    std::vector<double>& all = shared[column.quantity.name];
    const std::vector<double> own = joined(column.values, 1 / unit_of(column, scale.ends));
    all.insert(all.end(), own.begin(), own.end());
  }
  std::vector<std::vector<Limits>> all;
  for (const HeatColumn& column : columns) {
    const double unit = unit_of(column, scale.ends);
    const auto of = [&](std::span<const double> values, double even) {
      return limits_of(column.quantity, values, scale.ends, even);
    };
    std::vector<Limits>& limits = all.emplace_back();
    if (scale.sharing == HeatSharing::kImage) {
      for (const auto& values : column.values) limits.push_back(of(values, column.even));
      continue;
    }
    const Limits common =
        scale.sharing == HeatSharing::kFigure
            ? scaled_limits(of(shared.at(column.quantity.name), column.even / unit), unit)
            : of(joined(column.values, 1), column.even);
    limits.assign(column.values.size(), common);
  }
  return all;
}

ColourBar bar_of(const Quantity& quantity, const Limits& limits, HeatEnds ends,
                 ColourMap sequential, double even) {
  ColourBar bar;
  bar.map = palette_of(quantity, sequential, ends);
  const double unit = ends == HeatEnds::kEvenShare ? even : 1;
  bar.low = limits.low / unit;
  bar.high = limits.high / unit;
  bar.logarithmic = limits.logarithmic;
  bar.label = fmt::format("{}, {}", quantity.name, ends_text(quantity, ends));
  if (even > 0) {
    bar.mark = even / unit;
    bar.mark_name = "even";
    bar.mark_text = "even share " + bar_number(even, even);
  }
  return bar;
}

ColourBar bar_of(const HeatColumn& column, const std::vector<Limits>& limits,
                 const HeatScale& scale, ColourMap sequential, std::size_t columns) {
  const Limits shown = limits.empty() ? Limits{} : limits.front();
  ColourBar bar = bar_of(column.quantity, shown, scale.ends, sequential, column.even);
  const bool alone = limits.size() == 1;
  if (scale.sharing == HeatSharing::kImage && !alone) {
    bar.low = column.quantity.is_signed && scale.ends != HeatEnds::kMinMax ? -1 : 0;
    bar.high = 1;
    bar.logarithmic = false;
    bar.mark.reset();
    std::tie(bar.low_text, bar.high_text) = end_words(column.quantity, scale.ends);
    bar.label += "; each picture its own scale";
  } else if (scale.sharing == HeatSharing::kFigure && columns > 1) {
    bar.label += "; one scale for all columns";
  } else if (columns > 1) {
    bar.label += "; each column its own scale";
  }
  return bar;
}

std::string limits_text(const Limits& limits, HeatEnds ends, double even) {
  const double unit = ends == HeatEnds::kEvenShare ? even : 1;
  const double range = (limits.high - limits.low) / unit;
  std::string text = fmt::format("{} to {}", bar_number(limits.low / unit, range),
                                 bar_number(limits.high / unit, range));
  if (ends == HeatEnds::kMinMax && limits.low < 0 && limits.high > 0)
    text += fmt::format(", 0 at {:.0f} %", 100 * position_of(0, limits));
  return text;
}

}  // namespace fovea::visualise
