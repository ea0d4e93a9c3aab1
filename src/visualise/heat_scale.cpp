#include "visualise/heat_scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/suggest.h"

namespace fovea::visualise {
namespace {

constexpr std::pair<const char*, HeatScale> kScales[] = {{"column", HeatScale::kColumn},
                                                         {"figure", HeatScale::kFigure},
                                                         {"image", HeatScale::kImage},
                                                         {"minmax", HeatScale::kMinMax}};
constexpr double kFlat = 1e-12;  // a smaller range has no least and largest. dgsa section 9

Limits minmax_of(std::span<const double> values) {
  Limits found{INFINITY, -INFINITY};
  for (const double v : values) {
    if (!std::isfinite(v)) continue;
    found.low = std::min(found.low, v);
    found.high = std::max(found.high, v);
  }
  if (found.low > found.high) return {};
  if (found.high - found.low < kFlat) found.high = found.low + 1;
  return found;
}

Limits joined(const Limits& a, const Limits& b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

Limits limits_of_column(const HeatColumn& column) {
  std::vector<double> all;
  for (const auto& values : column.values) all.insert(all.end(), values.begin(), values.end());
  return limits_of(column.quantity, all);
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

ColourMap palette_of(const Quantity& quantity, ColourMap sequential) {
  return quantity.is_signed ? ColourMap::kDiverging : sequential;
}

ColourMap sequential_from_name(std::string_view name) {
  const ColourMap map = colour_map_from_name(name);
  FOVEA_CHECK(map != ColourMap::kDiverging && map != ColourMap::kBlueRed, ConfigError,
              fmt::format("heatmap: colour map {} is for signed quantities, which always have "
                          "diverging; expected one for values from 0 on, as reds, plasma, viridis, "
                          "cividis, blues, grey",
                          name));
  return map;
}

Limits limits_of(const Quantity& quantity, std::span<const double> values) {
  double largest = 0;
  for (const double v : values) {
    if (std::isfinite(v)) largest = std::max(largest, std::abs(v));
  }
  if (!(largest > 0)) largest = 1;
  return {quantity.is_signed ? -largest : 0.0, largest};
}

HeatScale heat_scale_from_name(std::string_view name) {
  std::vector<std::string> known;
  for (const auto& [known_name, scale] : kScales) {
    if (known_name == name) return scale;
    known.emplace_back(known_name);
  }
  throw ConfigError(
      fmt::format("heatmap: no scale called \"{}\"{} (known: column, figure, image, "
                  "minmax)",
                  name, did_you_mean(std::string(name), known)));
}

std::vector<std::vector<Limits>> limits_of(const std::vector<HeatColumn>& columns,
                                           HeatScale scale) {
  std::map<std::string, Limits> shared;
  for (const HeatColumn& column : columns) {
    FOVEA_CHECK(scale != HeatScale::kMinMax || !column.quantity.is_signed, ConfigError,
                fmt::format("heatmap: scale minmax would move the zero of {} ({}); choose column, "
                            "figure or image, or draw it without sign",
                            column.quantity.name, column.name));
    const Limits own = limits_of_column(column);
    const auto [place, fresh] = shared.emplace(column.quantity.name, own);
    if (!fresh) place->second = joined(place->second, own);
  }
  std::vector<std::vector<Limits>> all;
  for (const HeatColumn& column : columns) {
    std::vector<Limits>& limits = all.emplace_back();
    const Limits own = limits_of_column(column);
    for (const auto& values : column.values) {
      if (scale == HeatScale::kColumn) limits.push_back(own);
      if (scale == HeatScale::kFigure) limits.push_back(shared.at(column.quantity.name));
      if (scale == HeatScale::kImage) limits.push_back(limits_of(column.quantity, values));
      if (scale == HeatScale::kMinMax) limits.push_back(minmax_of(values));
    }
  }
  return all;
}

ColourBar bar_of(const HeatColumn& column, const std::vector<Limits>& limits, HeatScale scale,
                 ColourMap sequential) {
  const Quantity& quantity = column.quantity;
  const ColourMap palette = palette_of(quantity, sequential);
  if (scale == HeatScale::kImage) {
    const std::string largest = quantity.is_signed ? "largest |value|" : "largest value";
    return {palette, quantity.is_signed ? -1.0 : 0.0, 1,
            fmt::format("{} / {} of each picture", quantity.name, largest)};
  }
  if (scale == HeatScale::kMinMax) {
    return {palette, 0, 1, fmt::format("{}, least to largest of each picture", quantity.name)};
  }
  return {palette, limits.front().low, limits.front().high, quantity.name};
}

}  // namespace fovea::visualise
