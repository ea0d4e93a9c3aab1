// The table of differences as columns of text, whatever the markup.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "experiment/tables/results_layout.h"

namespace fovea::experiment {
namespace {

std::string interval_text(double low, double high, int decimals) {
  if (!std::isfinite(low)) return "-";
  return fmt::format("{} to {}", signed_text(low, decimals), signed_text(high, decimals));
}

// "better", "not distinguishable, equivalent within 0.5"
std::string verdict_text(const Difference& d) {
  std::string text = name_of(d.verdict);
  if (d.margin && d.p_equivalence <= metrics::kAlpha && !d.other_sets)
    text += fmt::format(", equivalent within {}", *d.margin);
  return text;
}

}  // namespace

std::vector<DifferenceColumn> difference_columns(const Results& results) {
  const std::vector<Difference>& all = results.differences;
  std::vector<DifferenceColumn> columns;
  const auto add = [&](const char* title, const std::function<std::string(const Difference&)>& text,
                       bool numeric = true) {
    columns.push_back({title, {}, numeric});
    for (const Difference& d : all) columns.back().cells.push_back(text(d));
  };
  const auto add_if_any = [&](const char* title, auto text) {
    add(title, text);
    const std::vector<std::string>& cells = columns.back().cells;
    if (std::ranges::all_of(cells, [](const std::string& cell) { return cell == "-"; }))
      columns.pop_back();
  };
  add(
      "row", [](const Difference& d) { return d.row; }, false);
  add(
      "metric", [](const Difference& d) { return d.metric; }, false);
  add("difference", [](const Difference& d) {
    const double mean = d.paired.difference.mean;
    return std::isfinite(mean) ? signed_text(mean, d.decimals) : "-";
  });
  add("95 % interval", [](const Difference& d) {
    const metrics::Estimate& e = d.paired.difference;
    return interval_text(e.low, e.high, d.decimals);
  });
  add_if_any("95 % BCa",
             [](const Difference& d) { return interval_text(d.bca.low, d.bca.high, d.decimals); });
  add("pairs", [](const Difference& d) { return std::to_string(d.paired.difference.n); });
  if (std::ranges::any_of(all, [](const Difference& d) { return d.left_out > 0; }))
    add("left out", [](const Difference& d) { return std::to_string(d.left_out); });
  add("p (exact)", [](const Difference& d) { return p_text(d.paired.p); });
  add("p (Holm)", [](const Difference& d) { return p_text(d.holm); });
  add_if_any("detectable", [](const Difference& d) {
    return d.detectable ? number_text(*d.detectable, d.decimals) : std::string("-");
  });
  add("verdict", verdict_text, false);
  return columns;
}

}  // namespace fovea::experiment
