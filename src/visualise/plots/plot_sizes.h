// Sizes that all plots share, in units of the figure.
#pragma once

namespace fovea::visualise {

inline constexpr double kTitleSize = 14;
inline constexpr double kLabelSize = 12;  // of an axis
inline constexpr double kTickSize = 11;   // of ticks, legends and counts
inline constexpr double kPlotMargin = 12;
inline constexpr double kPlotGap = 7;  // between a tick label, its axis and the axis' label

}  // namespace fovea::visualise
