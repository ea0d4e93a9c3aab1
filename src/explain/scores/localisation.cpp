#include "explain/scores/localisation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "explain/scores/order.h"
#include "metrics/classes/ranked_samples.h"
#include "metrics/masks/distance_transform.h"
#include "visualise/drawing/heatmap.h"

namespace fovea::explain {
namespace {

constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

void check_map(const MaskedMap& m) {
  const std::int64_t pixels = m.height * m.width;
  FOVEA_CHECK(
      pixels > 0 && std::ssize(m.map) == pixels && std::ssize(m.mask) == pixels, ShapeError,
      fmt::format("localisation: {} values and a mask of {} pixels; expected {} x {} of both",
                  m.map.size(), m.mask.size(), m.height, m.width));
  FOVEA_CHECK(std::ranges::none_of(m.map, [](double v) { return std::isnan(v); }), NumericError,
              "localisation: relevance is NaN");
}

bool is_empty(const MaskedMap& m) {
  check_map(m);
  return std::ranges::all_of(m.mask, [](std::uint8_t v) { return v == 0; });
}

// The share of weight(relevance) inside the mask.
template <class Weight>
double share_inside(const MaskedMap& m, Weight weight) {
  if (is_empty(m)) return kUndefined;
  double inside = 0, all = 0;
  for (std::size_t p = 0; p < m.map.size(); ++p) {
    all += weight(m.map[p]);
    if (m.mask[p] != 0) inside += weight(m.map[p]);
  }
  return all == 0 ? kUndefined : inside / all;
}

// A score of the map of an explained image.
template <class Score>
double of_explained(const Explained& e, Score score) {
  if (is_flat(e.relevance)) return kUndefined;
  const std::vector<double> map = enlarged(e.relevance, *e.units);
  return score(MaskedMap{map, e.mask, e.units->height, e.units->width});
}

struct PointingOptions {
  double tolerance = 0;
};
double pointing_score(const Explained& e, const PointingOptions& options) {
  return of_explained(e, [&](const MaskedMap& m) { return pointing_game(m, options.tolerance); });
}
double energy_score(const Explained& e, const NoOptions&) { return of_explained(e, energy_inside); }
double mass_score(const Explained& e, const NoOptions&) { return of_explained(e, mass_inside); }
double rank_score(const Explained& e, const NoOptions&) { return of_explained(e, rank_accuracy); }
double roc_score(const Explained& e, const NoOptions&) { return of_explained(e, roc_of_mask); }

}  // namespace

double pointing_game(const MaskedMap& m, double tolerance) {
  if (is_empty(m)) return kUndefined;
  const double largest = *std::ranges::max_element(m.map);
  const std::vector<double> squared =
      metrics::squared_distances(m.mask, {.size = {m.height, m.width}});
  for (std::size_t p = 0; p < m.map.size(); ++p) {
    if (m.map[p] == largest && squared[p] <= tolerance * tolerance) return 1;
  }
  return 0;
}

double energy_inside(const MaskedMap& m) {
  return share_inside(m, [](double r) { return std::max(r, 0.0); });
}

double mass_inside(const MaskedMap& m) {
  return share_inside(m, [](double r) { return r; });
}

double rank_accuracy(const MaskedMap& m) {
  if (is_empty(m)) return kUndefined;
  const auto size = std::ranges::count_if(m.mask, [](std::uint8_t v) { return v != 0; });
  const std::vector<std::int64_t> order = descending(m.map);
  const auto inside = std::count_if(order.begin(), order.begin() + size, [&](std::int64_t p) {
    return m.mask[static_cast<std::size_t>(p)] != 0;
  });
  return static_cast<double>(inside) / static_cast<double>(size);
}

double roc_of_mask(const MaskedMap& m) {
  if (is_empty(m)) return kUndefined;
  return metrics::area_under_roc(metrics::ranked_samples(m.map, m.mask));
}

bool is_flat(std::span<const double> relevance) {
  return std::ranges::all_of(relevance, [&](double r) { return r == relevance.front(); });
}

std::vector<double> enlarged(std::span<const double> relevance, const Units& units) {
  const visualise::Matrix grid = visualise::as_grid(relevance, units.rows, units.cols);
  return visualise::upsample_bilinear(grid, units.height, units.width).values;
}

FOVEA_SCORE(pointing, "1 if a place of the largest relevance lies in the mask, else 0",
            (ScoreRule{Better::kHigher, {Need::kMask}}),
            schema::Fields<PointingOptions>{}.add("tolerance", &PointingOptions::tolerance,
                                                  schema::at_least(0),
                                                  "pixels that the place may lie outside"),
            pointing_score)
FOVEA_SCORE(energy, "share of positive relevance in the mask",
            (ScoreRule{Better::kHigher, {Need::kMask}}), schema::Fields<NoOptions>{}, energy_score)
FOVEA_SCORE(mass_signed, "share of relevance in the mask, negative values counted as such",
            (ScoreRule{Better::kHigher, {Need::kMask}}), schema::Fields<NoOptions>{}, mass_score)
FOVEA_SCORE(rank_accuracy,
            "share of the most relevant pixels, as many as the mask has, that lie in it",
            (ScoreRule{Better::kHigher, {Need::kMask}}), schema::Fields<NoOptions>{}, rank_score)
FOVEA_SCORE(roc_auc, "area under the ROC curve of relevance against the mask",
            (ScoreRule{Better::kHigher, {Need::kMask}}), schema::Fields<NoOptions>{}, roc_score)

}  // namespace fovea::explain
