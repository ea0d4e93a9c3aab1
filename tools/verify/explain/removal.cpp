// Scores that remove parts of an input and ask the network again (explain B.2 to B.7).

#include "explain/scores/curves.h"
#include "explain/scores/erasure.h"
#include "explain/scores/impute_linear.h"
#include "explain/scores/order.h"
#include "explain/scores/perturbation.h"
#include "explain/scores/road.h"
#include "explain/scores/saco.h"
#include "explain/scores/violation.h"
#include "verify/explain/items.h"
#include "verify/explain/network.h"
#include "verify/runners.h"

namespace fovea::verify {
namespace {

using explain::Explained;
using Numbers = std::vector<double>;

void run_curve(const Case& c, Checker& check) {
  const ExplainedImages images(c, check);
  explain::CurveOptions options;
  static_cast<explain::BaselineOptions&>(options) = baseline_of(c);
  options.watch = c.config().choice(
      "score", {{"prob", explain::Watch::kProbability}, {"logit", explain::Watch::kLogit}},
      explain::Watch::kProbability);
  if (c.given("step")) options.step = c.integer("step");
  const bool quantus = c.config().choice("convention", {{"rise", false}, {"quantus", true}}, false);
  std::map<std::string, Numbers> out;
  std::vector<Numbers> features;
  std::int64_t in_step = 0;
  if (quantus) {
    features = items_of(c, "input/features");
    in_step = c.integer("features_in_step");
  } else {
    c.given("features_in_step");  // null
  }
  for (std::size_t i = 0; i < images.items().size(); ++i) {
    const Explained& e = images.items()[i];
    append(out["order"], explain::descending(e.relevance));
    const explain::Curve deletion = explain::deletion_curve(e, options);
    const explain::Curve insertion = explain::insertion_curve(e, options);
    append(out["deletion"], deletion.values);
    append(out["insertion"], insertion.values);
    out["deletion_auc"].push_back(deletion.auc);
    out["insertion_auc"].push_back(insertion.auc);
    if (!quantus) continue;
    explain::CurveOptions zero;
    zero.watch = options.watch;
    const explain::Curve flipping = explain::pixel_flipping(e, features[i], in_step, zero);
    append(out["pixel_flipping"], flipping.values);
    out["pixel_flipping_auc"].push_back(flipping.auc);
    append(out["region_morf"], explain::region_perturbation(e, true, zero));
    append(out["region_lerf"], explain::region_perturbation(e, false, zero));
  }
  for (const auto& [name, values] : out) check.compare("output/" + name, values);
}

void run_perturbation(const Case& c, Checker& check) {
  const ExplainedImages images(c, check);
  const explain::BaselineOptions options = baseline_of(c);
  for (const bool positive : {true, false}) {
    const std::string name = positive ? "output/positive_" : "output/negative_";
    Numbers hits, probability;
    double area = 0;
    for (const Explained& e : images.items()) {
      const explain::Perturbation one = explain::perturbed(e, positive, options);
      append(hits, one.hits);
      append(probability, one.probability);
      area += one.auc() / static_cast<double>(images.items().size());
    }
    check.compare(name + "hits", hits);
    check.compare(name + "prob", probability);
    check.compare(name + "auc", Numbers{area});
  }
}

// With a network, or with the drops given.
void run_saco(const Case& c, Checker& check) {
  const auto count = c.integer("groups");
  Numbers all_drops, all_sums, all_saco;
  const auto add = [&](const Numbers& sums, const Numbers& drops) {
    append(all_sums, sums);
    append(all_drops, drops);
    all_saco.push_back(explain::saco(sums, drops));
  };
  if (c.given("network")) {
    const ExplainedImages images(c, check);
    const explain::BaselineOptions options = baseline_of(c);
    for (const Explained& e : images.items()) {
      const auto groups = explain::relevance_groups(e.relevance, count);
      add(explain::group_sums(e.relevance, groups), explain::group_drops(e, groups, options));
    }
    check.compare("output/drops", all_drops);
  } else {
    const auto relevance = items_of(c, "input/relevance"), drops = items_of(c, "input/drops");
    for (std::size_t i = 0; i < relevance.size(); ++i) {
      const auto groups = explain::relevance_groups(relevance[i], count);
      add(explain::group_sums(relevance[i], groups), drops.at(i));
    }
  }
  check.compare("output/group_sums", all_sums);
  check.compare("output/saco", all_saco);
}

void run_violation(const Case& c, Checker& check) {
  Numbers all_drops, violated, agreement, pnr;
  const auto add = [&](const Numbers& relevance, const Numbers& drops) {
    append(all_drops, drops);
    violated.push_back(explain::violated(relevance, drops) ? 1 : 0);
    agreement.push_back(explain::sign_agreement(relevance, drops));
    pnr.push_back(explain::positive_to_negative(relevance));
  };
  if (c.given("network")) {
    const ExplainedImages images(c, check);
    const explain::BaselineOptions options = baseline_of(c);
    for (const Explained& e : images.items()) add(e.relevance, explain::unit_drops(e, options));
    check.compare("output/drops", all_drops);
  } else {
    const auto relevance = items_of(c, "input/relevance"), drops = items_of(c, "input/drops");
    for (std::size_t i = 0; i < relevance.size(); ++i) add(relevance[i], drops.at(i));
  }
  double rate = 0;
  for (const double one : violated) rate += one / static_cast<double>(violated.size());
  check.compare("output/violated", violated);
  check.compare("output/violation_rate", Numbers{rate});
  check.compare("output/sign_agreement", agreement);
  check.compare("output/pnr", pnr);
}

// Ids of what the mask says is there; 0 elsewhere.
std::vector<std::int64_t> masked_text(const Case& c, const Numbers& ids,
                                      const std::vector<std::uint8_t>& mask) {
  std::vector<std::int64_t> text;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (mask.at(i) != 0 && ids[i] == 0) c.refuse_input("mask");  // id 0 is padding here
    text.push_back(mask[i] != 0 ? static_cast<std::int64_t>(ids[i]) : 0);
  }
  return text;
}

void run_erasure(const Case& c, Checker& check) {
  const auto model = network_of(c, check);
  const explain::Questions questions(explain::logits_of(*model), 7);
  explain::ErasureOptions options;
  options.removal = c.config().choice(
      "removal", {{"delete", explain::Removal::kDelete}, {"pad", explain::Removal::kPad}},
      explain::Removal::kDelete);
  if (c.given("fractions")) options.fractions = c.config().numbers("fractions");
  const auto ids = items_of(c, "input/ids"), relevance = items_of(c, "input/relevance");
  const auto mask = masks_of(c, "input/mask");
  Numbers comprehensiveness_at, sufficiency_at, comprehensiveness, sufficiency, target;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    Explained e;
    e.text = masked_text(c, ids[i], mask.at(i));
    e.relevance = relevance.at(i);
    e.network = &questions;
    e.target = target_of(c, questions.predicted(e.text));
    const explain::Erasure one = explain::erasure(e, options);
    append(comprehensiveness_at, one.comprehensiveness_at);
    append(sufficiency_at, one.sufficiency_at);
    comprehensiveness.push_back(one.comprehensiveness);
    sufficiency.push_back(one.sufficiency);
    target.push_back(static_cast<double>(e.target));
  }
  check.compare("output/comprehensiveness_at", comprehensiveness_at);
  check.compare("output/sufficiency_at", sufficiency_at);
  check.compare("output/comprehensiveness", comprehensiveness);
  check.compare("output/sufficiency", sufficiency);
  check.compare("output/target", target);
}

void run_imputation(const Case& c, Checker& check) {
  const Tensor x = c.at("input/x");
  explain::Image image = explain::image_at(x.alias({1, x.size(0), x.size(1), x.size(2)}), 0);
  std::vector<std::uint8_t> removed;
  for (const double value : to_doubles(c.at("input/removed")))
    removed.push_back(value != 0 ? 1 : 0);
  explain::impute_linear(image, removed);
  const Numbers noise = to_doubles(c.at("input/noise"));
  explain::add_noise(image, removed, noise, c.number("noise_scale"));
  check.compare("output/imputed", Numbers(image.values.begin(), image.values.end()));
}

void run_road(const Case& c, Checker& check) {
  const ExplainedImages images(c, check);
  explain::RoadOptions options;
  if (c.given("levels")) options.levels = c.config().numbers("levels");
  options.noise_scale = c.number("noise_scale", options.noise_scale);
  const Numbers noise = options.noise_scale != 0 ? to_doubles(c.at("input/noise")) : Numbers();
  const std::size_t b = images.items().size(), levels = options.levels.size();
  std::map<std::string, Numbers> out;
  for (const char* name : {"morf_accuracy", "lerf_accuracy"}) out[name] = Numbers(levels, 0.0);
  for (std::size_t i = 0; i < b; ++i) {
    const Explained& e = images.items()[i];
    const std::size_t size = e.image.values.size();
    const explain::Road one =
        explain::road(e, options, [&](std::size_t level, bool least) -> Numbers {
          const std::size_t first = ((level * 2 + (least ? 1 : 0)) * b + i) * size;
          const auto begin = noise.begin() + static_cast<std::ptrdiff_t>(first);
          return {begin, begin + static_cast<std::ptrdiff_t>(size)};
        });
    append(out["morf_prob"], one.morf_prob);
    append(out["lerf_prob"], one.lerf_prob);
    out["road"].push_back(one.score());
    for (std::size_t level = 0; level < levels; ++level) {
      out["morf_accuracy"][level] += (one.morf_hit[level] ? 1.0 : 0.0) / static_cast<double>(b);
      out["lerf_accuracy"][level] += (one.lerf_hit[level] ? 1.0 : 0.0) / static_cast<double>(b);
    }
  }
  for (const auto& [name, values] : out) check.compare("output/" + name, values);
}

void run_baseline(const Case& c, Checker& check) {
  const Tensor x = c.at("input/x");
  const explain::Image image = explain::image_at(x.alias({1, x.size(0), x.size(1), x.size(2)}), 0);
  const explain::Image baseline = explain::baseline_image(
      image, baseline_of(c, "kind"), {c.config().numbers("mean"), c.config().numbers("std")});
  check.compare("output/baseline", Numbers(baseline.values.begin(), baseline.values.end()));
}

}  // namespace

Table explain_removal() {
  Table table;
  table.add("score_curve") = run_curve;
  table.add("score_perturbation") = run_perturbation;
  table.add("score_saco") = run_saco;
  table.add("score_violation") = run_violation;
  table.add("score_eraser") = run_erasure;
  table.add("impute_linear") = run_imputation;
  table.add("score_road") = run_road;
  table.add("baseline_image") = run_baseline;
  return table;
}

}  // namespace fovea::verify
