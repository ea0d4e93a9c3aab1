// What is to be known of a metric besides its value. A metric's own file says it; whoever chooses
// weights, prints tables or draws curves asks here and knows no metric by its name.
#pragma once

#include <string>
#include <vector>

namespace fovea::metrics {

struct MetricInfo {
  std::string name;       // in logs, results and experiment files: "top1", "hd95_mm"; one that is
                          // known before its classes are has a * for what they are called
  std::string unit = "";  // "%", "mm"; "" for a pure number
  bool larger_is_better = true;
  int decimals = 4;         // shown to people; files have every digit
  bool per_sample = false;  // one value a sample is kept, or a volume that samples are slices of
  bool is_loss = false;     // watched while training; in tables only where asked for

  bool operator==(const MetricInfo&) const = default;
};

/// The mean of what is minimised, of every task.
inline const MetricInfo kLoss{.name = "loss", .larger_is_better = false, .is_loss = true};

/// A metric of one evaluation.
struct Measurement {
  MetricInfo info;
  double value = 0;
  std::vector<double> per_sample = {};  // in the order of the samples' indices; empty unless info
                                        // says that there are any; NaN where it is undefined
  bool of_volumes = false;              // per_sample has a value for each volume instead

  bool operator==(const Measurement&) const = default;
};

/// The facts without the values.
std::vector<MetricInfo> infos_of(const std::vector<Measurement>& measured);
/// Whether it stands for one metric of each class: "dice_*".
bool is_of_classes(const MetricInfo& info);
/// Whether it stands for the one of that name: "dice_*" for "dice_liver".
bool stands_for(const MetricInfo& info, const std::string& name);
/// The metric of that name, or the one that stands for it, or nullptr.
const MetricInfo* find_metric(const std::vector<MetricInfo>& metrics, const std::string& name);
/// The value of that name; NaN if it was not measured.
double value_of(const std::vector<Measurement>& measured, const std::string& name);

/// For people: "84.31 %", "0.4127"; "-" for NaN.
std::string value_text(const MetricInfo& info, double value);
/// As the head of a column or axis: "top1 (%)", "loss".
std::string title_of(const MetricInfo& info);

}  // namespace fovea::metrics
