#include "visualise/plots/plot_axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace fovea::visualise {
namespace {

// Values of a run that diverged beyond this are drawn as gaps, so that no range overflows.
constexpr double kLargest = 1e150;

bool drawable(double value) { return std::abs(value) <= kLargest; }  // false for NaN

// The smallest interval that holds every value that was added.
struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void add(double value, bool positive_only) {
    if (!drawable(value) || (positive_only && value <= 0)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool empty() const { return low > high; }
};

// Room on both sides, in the axis' own measure; a single value gets an interval around it.
void widen(Axis& axis, double share) {
  if (axis.log) {
    double room = std::log10(axis.high / axis.low) * share;
    if (axis.high / axis.low < 1 + 1e-9) room = 0.5;
    axis.low = axis.low / std::pow(10.0, room);
    axis.high = axis.high * std::pow(10.0, room);
    return;
  }
  const double size = std::max(std::abs(axis.low), std::abs(axis.high));
  double room = (axis.high - axis.low) * share;
  if (axis.high - axis.low <= 1e-12 * size || size == 0) room = size > 0 ? 0.1 * size : 0.5;
  axis.low -= room;
  axis.high += room;
}

bool has_bars(const LinePlot& plot) {
  return std::any_of(plot.series.begin(), plot.series.end(),
                     [](const Series& series) { return series.bars; });
}

}  // namespace

double Axis::position(double value) const {
  const double t = log ? std::log(std::max(value, low * 1e-9) / low) / std::log(high / low)
                       : (value - low) / (high - low);
  return from + t * (to - from);
}

bool Axis::shows(double value) const { return drawable(value) && (!log || value > 0); }

Axis x_axis(const LinePlot& plot) {
  Range range;
  for (const Series& series : plot.series) {
    for (const double x : series.x) range.add(x, plot.log_x);
  }
  Axis axis;
  axis.log = plot.log_x;
  if (range.empty()) {
    if (axis.log) axis.low = 0.1;
    return axis;
  }
  axis.low = range.low;
  axis.high = range.high;
  if (has_bars(plot)) {
    axis.low -= 0.5;
    axis.high += 0.5;
    return axis;
  }
  // Names of points need room, too.
  if (std::any_of(plot.series.begin(), plot.series.end(),
                  [](const Series& s) { return !s.labels.empty(); })) {
    widen(axis, 0.08);
    return axis;
  }
  // A curve may touch the sides; only a single value needs room.
  if (axis.low == axis.high) {
    const double low = axis.low;
    axis.low = axis.log ? low / 2 : low - 0.5;
    axis.high = axis.log ? low * 2 : low + 0.5;
  }
  return axis;
}

Axis y_axis(const LinePlot& plot) {
  Range range;
  if (has_bars(plot)) range.add(0, plot.log_y);
  for (const Series& series : plot.series) {
    for (std::size_t i = 0; i < series.y.size(); ++i) {
      const double y = series.y[i];
      range.add(y, plot.log_y);
      if (series.band.empty() || !std::isfinite(series.band[i])) continue;
      range.add(y + series.band[i], plot.log_y);
      // A band that reaches down to zero would stretch a logarithmic axis without end.
      if (!plot.log_y || y - series.band[i] > y / 10) range.add(y - series.band[i], plot.log_y);
    }
  }
  Axis axis;
  axis.log = plot.log_y;
  axis.low = range.empty() ? (plot.log_y ? 0.1 : 0) : range.low;
  axis.high = range.empty() ? 1 : range.high;
  if (!range.empty()) widen(axis, 0.05);
  if (has_bars(plot) && range.low == 0) axis.low = 0;  // bars stand on the axis
  if (plot.y_low) axis.low = *plot.y_low;
  if (plot.y_high) axis.high = *plot.y_high;
  FOVEA_CHECK(drawable(axis.low) && drawable(axis.high) && axis.low < axis.high &&
                  (!axis.log || axis.low > 0),
              ConfigError,
              fmt::format("plot: y limits are {} and {}; expected low < high{}", axis.low,
                          axis.high, axis.log ? ", both positive on a logarithmic axis" : ""));
  return axis;
}

bool has_whole_x(const LinePlot& plot) {
  return std::all_of(plot.series.begin(), plot.series.end(), [](const Series& series) {
    return std::all_of(series.x.begin(), series.x.end(),
                       [](double x) { return !std::isfinite(x) || x == std::round(x); });
  });
}

std::vector<Tick> fitting_ticks(const Axis& axis, double length, double text_size, bool vertical,
                                bool whole) {
  if (axis.log) return log_ticks(axis.low, axis.high);
  const double spacing = (vertical ? 3.2 : 3.5) * text_size;
  for (int target = std::max(1, static_cast<int>(length / spacing));; --target) {
    const std::vector<Tick> ticks = linear_ticks(axis.low, axis.high, target, whole);
    double needed = 0;
    for (const Tick& tick : ticks) {
      needed += vertical ? 1.5 * text_size : text_width(tick.label, text_size) + text_size;
    }
    if (needed <= length || target == 1) return ticks;
  }
}

}  // namespace fovea::visualise
