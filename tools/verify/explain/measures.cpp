// Scores of maps and masks, of changed maps, statistics (explain B.8 to B.11).

#include <algorithm>
#include <cmath>
#include <span>

#include "explain/scores/against_random.h"
#include "explain/scores/complexity.h"
#include "explain/scores/localisation.h"
#include "explain/scores/randomisation.h"
#include "explain/scores/segmentation_test.h"
#include "explain/scores/sensitivity.h"
#include "ops/elementwise.h"
#include "ops/shape.h"
#include "verify/explain/items.h"
#include "verify/explain/methods.h"
#include "verify/explain/network.h"
#include "verify/runners.h"
#include "visualise/drawing/heatmap.h"

namespace fovea::verify {
namespace {

using Numbers = std::vector<double>;
using Items = std::vector<Numbers>;

void run_randomisation(const Case& c, Checker& check) {
  const Items before = items_of(c, "input/before");
  const std::int64_t bins = c.integer("bins", 100), steps = c.integer("steps");
  std::vector<Items> after;
  for (std::int64_t step = 0; step < steps; ++step)
    after.push_back(items_of(c, "input/after/" + std::to_string(step)));
  Numbers spearman, mprt(before.size(), 0.0), entropy_before, entropy_after, emprt;
  for (const Items& items : after) {
    for (std::size_t i = 0; i < before.size(); ++i) {
      spearman.push_back(explain::rank_correlation(before[i], items.at(i)));
      mprt[i] += spearman.back() / static_cast<double>(steps);
    }
  }
  for (std::size_t i = 0; i < before.size(); ++i) {
    entropy_before.push_back(explain::histogram_entropy(before[i], bins));
    entropy_after.push_back(explain::histogram_entropy(after.back()[i], bins));
    emprt.push_back(explain::complexity_rise(entropy_before.back(), entropy_after.back()));
  }
  check.compare("output/spearman", spearman);
  check.compare("output/mprt", mprt);
  check.compare("output/entropy_before", entropy_before);
  check.compare("output/entropy_after", entropy_after);
  check.compare("output/emprt", emprt);
}

void run_localisation(const Case& c, Checker& check) {
  const Items maps = items_of(c, "input/map");
  const auto masks = masks_of(c, "input/mask");
  const double tolerance = c.number("tolerance", 0);
  const std::int64_t height = c.at("input/map").size(1), width = c.at("input/map").size(2);
  Numbers pointing, energy, mass, rank, roc;
  for (std::size_t i = 0; i < maps.size(); ++i) {
    const explain::MaskedMap m{maps[i], masks.at(i), height, width};
    const double hit = explain::pointing_game(m, tolerance);
    pointing.push_back(std::isnan(hit) ? -1 : hit);
    energy.push_back(explain::energy_inside(m));
    mass.push_back(explain::mass_inside(m));
    rank.push_back(explain::rank_accuracy(m));
    roc.push_back(explain::roc_of_mask(m));
  }
  check.compare("output/pointing", pointing);
  check.compare("output/energy", energy);
  check.compare("output/mass_signed", mass);
  check.compare("output/rank_accuracy", rank);
  check.compare("output/roc_auc", roc);
}

void run_segmentation(const Case& c, Checker& check) {
  const std::vector<std::int64_t> size = c.config().integers("size");
  const Tensor& given = c.at("input/relevance");
  c.config().only("grid",
                  schema::Value::array(std::vector<std::int64_t>{given.size(1), given.size(2)}));
  if (size.size() != 2) c.config().refuse("size");
  const Items relevance = items_of(c, "input/relevance"), labels = items_of(c, "input/labels");
  explain::SegmentationTest test;
  Numbers foreground, ap;
  for (std::size_t i = 0; i < relevance.size(); ++i) {
    const explain::Units units(given.size(1), given.size(2), size[0], size[1]);
    const std::vector<std::int64_t> whole(labels.at(i).begin(), labels.at(i).end());
    const auto one = test.add(explain::enlarged(relevance[i], units), whole);
    append(foreground, one.foreground);
    ap.push_back(one.ap);
  }
  check.compare("output/foreground", foreground);
  check.compare("output/pixel_accuracy", Numbers{test.pixel_accuracy()});
  check.compare("output/iou", Numbers{test.iou(0), test.iou(1)});
  check.compare("output/miou", Numbers{test.mean_iou()});
  check.compare("output/ap", ap);
  check.compare("output/map", Numbers{test.mean_ap()});
}

void run_complexity(const Case& c, Checker& check) {
  const double threshold = c.number("threshold", 1e-5);
  Numbers entropy, gini, effective;
  for (const Numbers& relevance : items_of(c, "input/relevance")) {
    entropy.push_back(explain::relevance_entropy(relevance));
    gini.push_back(explain::relevance_gini(relevance));
    effective.push_back(static_cast<double>(explain::effective_count(relevance, threshold)));
  }
  check.compare("output/entropy", entropy);
  check.compare("output/gini", gini);
  check.compare("output/effective", effective);
}

// Relevance of the units of every image, by a method of the case.
Items unit_relevance(models::Model& model, const Tensor& x,
                     const std::vector<std::int64_t>& targets, const Asked& asked,
                     const explain::Units& units, const Config& words) {
  const explain::Subject subject(model, x);
  const explain::Explanation found =
      asked.method->explain({subject, targets, {targets.size(), RandomStream(1)}}, asked.options);
  const std::int64_t h = found.grid.h, w = found.grid.w;
  const bool pixels = h == units.height && w == units.width;
  if (!pixels && (h != units.rows || w != units.cols)) words.refuse("units");
  Items items;
  const auto size = static_cast<std::size_t>(h * w);
  for (std::size_t first = 0; first < found.values.size(); first += size) {
    const auto one = std::span(found.values).subspan(first, size);
    items.push_back(pixels ? units.pooled(one) : Numbers(one.begin(), one.end()));
  }
  return items;
}

// Relevance before and after (samples, b, units): from a network and noise, or given.
struct Moved {
  Items before;
  std::vector<Items> after;
};

Moved moved_by_noise(const Case& c, Checker& check) {
  const Asked asked = asked_method("method", c.config().at("method"), c);
  const std::vector<std::int64_t> grid = c.config().integers("units");
  const Tensor& x = c.at("input/x");
  const Tensor& noise = c.at("input/noise");
  if (grid.size() != 2) c.config().refuse("units");
  const explain::Units units(grid[0], grid[1], x.size(2), x.size(3));
  const auto model = network_of(c, check);
  std::vector<std::int64_t> targets = explain::Subject(*model, x).predicted();
  for (std::int64_t& target : targets) target = target_of(c, target);
  const auto relevance = [&](const Tensor& images) {
    return unit_relevance(*model, images, targets, asked, units, c.config());
  };
  Moved moved{relevance(x), {}};
  for (std::int64_t k = 0; k < noise.size(0); ++k) {
    const Tensor draw = ops::reshape(ops::slice(noise, 0, k, 1), x.shape());
    moved.after.push_back(relevance(ops::add(x, draw)));
  }
  Numbers before;
  for (const Numbers& item : moved.before) append(before, item);
  check.compare("output/before", before);
  return moved;
}

Moved given_moves(const Case& c) {
  Moved moved{items_of(c, "input/before"), {}};
  for (const Numbers& draw : items_of(c, "input/after")) {
    Items items;
    const std::size_t size = draw.size() / moved.before.size();
    for (std::size_t first = 0; first < draw.size(); first += size) {
      const auto one = std::span(draw).subspan(first, size);
      items.emplace_back(one.begin(), one.end());
    }
    moved.after.push_back(std::move(items));
  }
  return moved;
}

void run_sensitivity(const Case& c, Checker& check) {
  const Moved moved = c.given("network") ? moved_by_noise(c, check) : given_moves(c);
  c.config().only("samples", std::ssize(moved.after));
  Numbers sensitivity(moved.before.size(), 0.0);
  for (const Items& draw : moved.after) {
    for (std::size_t i = 0; i < sensitivity.size(); ++i)
      sensitivity[i] =
          std::max(sensitivity[i], explain::relative_change(moved.before[i], draw.at(i)));
  }
  check.compare("output/max_sensitivity", sensitivity);
}

void run_statistics(const Case& c, Checker& check) {
  const auto better =
      c.flag("higher_is_better", true) ? explain::Better::kHigher : explain::Better::kLower;
  std::map<std::string, Numbers> out;
  for (const auto& one :
       explain::against_random(items_of(c, "input/values"), items_of(c, "input/random"), better)) {
    out["mean"].push_back(one.value.mean);
    out["low"].push_back(one.value.low);
    out["high"].push_back(one.value.high);
    out["difference"].push_back(one.difference.mean);
    out["difference_low"].push_back(one.difference.low);
    out["difference_high"].push_back(one.difference.high);
    out["p"].push_back(one.p);
    out["p_holm"].push_back(one.p_holm);
    out["win_rate"].push_back(one.win_rate);
  }
  for (const auto& [name, values] : out) check.compare("output/" + name, values);
}

}  // namespace

Table explain_measures() {
  Table table;
  table.add("score_randomisation") = run_randomisation;
  table.add("score_localisation") = run_localisation;
  table.add("score_segmentation") = run_segmentation;
  table.add("score_complexity") = run_complexity;
  table.add("score_sensitivity") = run_sensitivity;
  table.add("score_statistics") = run_statistics;
  return table;
}

}  // namespace fovea::verify
