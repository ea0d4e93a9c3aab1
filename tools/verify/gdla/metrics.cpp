// The gdla paper's metrics (7): Dice and Hausdorff distances of masks and of volumes of labels.

#include "verify/gdla/metrics.h"

#include <map>

#include "metrics/cases.h"
#include "metrics/masks/surface.h"
#include "verify/runners.h"

namespace fovea::verify {
namespace {

using metrics::EmptyMasks;
using Mask = std::vector<std::uint8_t>;

// Where labels are `value`, from element `first` on.
Mask mask_of(const Tensor& labels, double value, std::int64_t first, std::int64_t count) {
  const std::vector<double> values = to_doubles(labels);
  Mask mask;
  for (std::int64_t i = first; i < first + count; ++i)
    mask.push_back(values[static_cast<std::size_t>(i)] == value ? 1 : 0);
  return mask;
}

// What the cases hold of every pair of masks, by the names of their outputs.
class Scores {
 public:
  void add(const Mask& truth, const Mask& predicted, const metrics::Grid& grid) {
    metrics::MaskCounts n;
    n.add(std::vector<float>(predicted.begin(), predicted.end()),
          std::vector<float>(truth.begin(), truth.end()));
    const auto dice = [&](EmptyMasks empty) {
      return metrics::case_dice(n.true_positives() + n.false_negatives(),
                                n.true_positives() + n.false_positives(), n.true_positives(),
                                empty);
    };
    const double distance = metrics::hd95(truth, predicted, grid);
    put("dice_ignore_empty", dice(EmptyMasks::kStrict));
    put("dice_medpy", n.dice(metrics::Empty::kZero));
    put("dice_transunet", dice(EmptyMasks::kTransUnet));
    put("hd95_strict", metrics::case_distance(distance, EmptyMasks::kStrict));
    put("hd95_gdla", metrics::case_distance(distance, EmptyMasks::kGdla));
    put("hd95_transunet", metrics::case_distance(distance, EmptyMasks::kTransUnet));
    put("hd_max", metrics::hausdorff(truth, predicted, grid));
    put("jaccard", n.iou(metrics::Empty::kLeftOut));
    put("accuracy", n.accuracy());
  }
  void compare(Checker& check, const std::string& prefix) const {
    for (const auto& [name, values] : values_) check.compare("output/" + prefix + name, values);
  }

 private:
  void put(const std::string& name, double value) { values_[name].push_back(value); }

  std::map<std::string, std::vector<double>> values_;
};

// One volume of several classes, with pixels of size 1 and with the case's spacing.
void run_volume(const Case& c, Checker& check) {
  const Tensor& predicted = c.at("input/pred");
  const Tensor& truth = c.at("input/gt");
  metrics::Grid unit{truth.shape().to_vector()}, spaced = unit;
  spaced.spacing = c.config().numbers("spacing");
  c.config().only("classes_reported", "1..K-1");
  const std::int64_t classes = c.integer("n_classes");
  c.check_all_read();
  Scores in_unit, in_spaced;
  for (std::int64_t k = 1; k < classes; ++k) {
    const Mask y = mask_of(truth, static_cast<double>(k), 0, truth.numel());
    const Mask x = mask_of(predicted, static_cast<double>(k), 0, truth.numel());
    in_unit.add(y, x, unit);
    in_spaced.add(y, x, spaced);
  }
  in_unit.compare(check, "unit_");
  in_spaced.compare(check, "spaced_");
  metrics::ConfusionMatrix all(classes);
  const auto labels = [](const Tensor& x) {
    const std::vector<double> values = to_doubles(x);
    return std::vector<std::int64_t>(values.begin(), values.end());
  };
  all.add(labels(truth), labels(predicted));
  check.compare("output/voxel_accuracy", std::vector<double>{all.accuracy()});
}

void run_aggregate(const Case& c, Checker& check) {
  c.config().only("rule",
                  "per class: mean over the cases whose ground truth holds the class, 0 if none; "
                  "then plain mean over classes");
  c.check_all_read();
  const Tensor& dice = c.at("input/dice");
  const std::vector<double> values = to_doubles(dice);
  std::vector<std::vector<double>> cases;
  for (auto row = values.begin(); row != values.end(); row += dice.size(1))
    cases.emplace_back(row, row + dice.size(1));
  const metrics::ClassMeans means = metrics::means_over_cases(cases, metrics::Empty::kZero);
  check.compare("output/per_class", means.of_class);
  check.compare("output/mean", std::vector<double>{means.mean});
}

}  // namespace

void run_case_metrics(const Case& c, Checker& check) {
  c.config().only("connectivity", 1);
  c.config().only("percentile",
                  "95, linear interpolation over the concatenation of both directed distance "
                  "lists");
  if (c.given("n_classes")) return run_volume(c, check);
  c.config().describes({"cases"});
  c.config().only("spacing", nullptr);
  c.check_all_read();
  const Tensor& truth = c.at("input/gt");
  const metrics::Grid plane{truth.shape().part(1, truth.rank()).to_vector()};
  Scores scores;
  for (std::int64_t i = 0; i < truth.size(0); ++i) {
    const std::int64_t first = i * plane.pixels();
    scores.add(mask_of(truth, 1, first, plane.pixels()),
               mask_of(c.at("input/pred"), 1, first, plane.pixels()), plane);
  }
  scores.compare(check, "");
}

Table gdla_metrics() {
  Table table;
  table.add("dice_aggregate") = run_aggregate;
  return table;
}

}  // namespace fovea::verify
