#include "visualise/drawing/ticks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace fovea::visualise {
namespace {

// The smallest nice step with at most `target` intervals.
double nice_step(double range, int target, bool whole) {
  const double rough = range / target;
  const double magnitude = std::pow(10.0, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 2.5, 5.0}) {
    const bool allowed = !whole || factor * magnitude == std::round(factor * magnitude);
    if (allowed && factor * magnitude >= rough * (1 - 1e-9)) return factor * magnitude;
  }
  return whole ? std::max(1.0, 10 * magnitude) : 10 * magnitude;
}

int decimals_of(double step) {
  for (int decimals = 0; decimals < 15; ++decimals) {
    const double scaled = step * std::pow(10.0, decimals);
    if (std::abs(scaled - std::round(scaled)) < 1e-6 * scaled) return decimals;
  }
  return 15;
}

std::string power_label(double value) {
  const int exponent = static_cast<int>(std::floor(std::log10(value) + 1e-9));
  if (exponent >= -2 && exponent <= 3) return fixed_label(value, std::max(0, -exponent));
  const double mantissa = value / std::pow(10.0, exponent);
  const std::string power = "10" + superscript(exponent);
  return std::abs(mantissa - 1) < 1e-6 ? power : fmt::format("{:.0f}×{}", mantissa, power);
}

}  // namespace

std::string superscript(int exponent) {
  constexpr std::array<std::string_view, 10> kDigits = {"⁰", "¹", "²", "³", "⁴",
                                                        "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string result;
  for (const char c : fmt::format("{}", exponent)) {
    result += c == '-' ? "⁻" : kDigits[static_cast<std::size_t>(c - '0')];
  }
  return result;
}

std::string fixed_label(double value, int decimals) {
  const std::string text = fmt::format("{:.{}f}", std::abs(value), decimals);
  const bool zero = text.find_first_not_of("0.") == std::string::npos;
  return value < 0 && !zero ? "−" + text : text;
}

std::vector<Tick> linear_ticks(double low, double high, int target, bool whole) {
  const double step = nice_step(high - low, target, whole);
  const double largest = std::max(std::abs(low), std::abs(high));
  // Very large and very small axes carry a power of ten in each label instead of many zeros.
  const int exponent = static_cast<int>(std::floor(std::log10(largest)));
  const bool scientific = exponent >= 5 || exponent <= -4;
  const double unit = scientific ? std::pow(10.0, exponent) : 1;
  const int decimals = decimals_of(step / unit);
  std::vector<Tick> ticks;
  const double first = std::ceil(low / step - 1e-9), last = std::floor(high / step + 1e-9);
  for (double k = first; k <= last && ticks.size() < 1000; ++k) {
    const double value = k * step;
    std::string label = fixed_label(value / unit, decimals);
    if (scientific && k != 0) label += "×10" + superscript(exponent);
    ticks.push_back({value, k == 0 ? "0" : label});
  }
  return ticks;
}

std::vector<Tick> log_ticks(double low, double high) {
  const int first = static_cast<int>(std::floor(std::log10(low) - 1e-9));
  const int last = static_cast<int>(std::ceil(std::log10(high) + 1e-9));
  const auto inside = [&](double v) { return v >= low * (1 - 1e-9) && v <= high * (1 + 1e-9); };
  int powers = 0;
  for (int e = first; e <= last; ++e) powers += inside(std::pow(10.0, e)) ? 1 : 0;
  const int stride = std::max(1, powers / 8);  // of the labelled powers, on very tall axes
  std::vector<Tick> ticks;
  for (int e = first; e <= last; ++e) {
    for (int factor = 1; factor <= 9; ++factor) {
      const double value = factor * std::pow(10.0, e);
      if (!inside(value) || (stride > 1 && factor > 1)) continue;
      const bool labelled =
          powers >= 3 ? factor == 1 && e % stride == 0 : factor == 1 || factor == 2 || factor == 5;
      ticks.push_back({value, labelled ? power_label(value) : ""});
    }
  }
  const auto labels = std::count_if(ticks.begin(), ticks.end(),
                                    [](const Tick& tick) { return !tick.label.empty(); });
  if (labels < 2) return linear_ticks(low, high, 5);  // too narrow for powers of ten
  return ticks;
}

}  // namespace fovea::visualise
