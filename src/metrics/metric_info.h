// What there is to know about a metric besides its value. The metric's own file says it; code that
// chooses weights, prints tables or draws curves reads it here and knows no metric by name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fovea::metrics {

struct MetricInfo {
  std::string name;       // in logs, results and experiment files: "top1", "hd95_mm"; with a * in
                          // place of the class while the classes are not known
  std::string unit = "";  // "%", "mm"; "" for a pure number
  bool larger_is_better = true;
  int decimals = 4;         // shown to people; files have every digit
  bool per_sample = false;  // one value is kept for each sample, or for each volume of slices
  bool is_loss = false;     // shown while training; in tables only on request
  std::vector<std::string> aliases = {};  // older names and those of other tools, which are
                                          // accepted too

  bool operator==(const MetricInfo&) const = default;
};

/// The mean of what a task minimises.
inline const MetricInfo kLoss{.name = "loss", .larger_is_better = false, .is_loss = true};

/// Over how many values a mean was taken: the defined ones among those of all cases and classes.
struct Coverage {
  std::int64_t defined = 0;
  std::int64_t compared = 0;  // all values; 0: none can be missing
  std::string set = "";       // identifies which values are missing; "" where none is

  bool complete() const { return defined == compared; }
  bool operator==(const Coverage&) const = default;
};

/// The defined values of rows of values, of which NaN is none.
Coverage coverage_of(const std::vector<std::vector<double>>& values);

/// A metric of one evaluation.
struct Measurement {
  MetricInfo info;
  double value = 0;
  std::vector<double> per_sample = {};  // in the order of the samples' indices; empty unless info
                                        // says that there are any; NaN where it is undefined
  bool of_volumes = false;              // per_sample has a value for each volume instead
  Coverage coverage = {};

  bool operator==(const Measurement&) const = default;
};

/// The metrics without their values.
std::vector<MetricInfo> infos_of(const std::vector<Measurement>& measured);
/// Whether it stands for one metric for each class: "dice_*".
bool is_of_classes(const MetricInfo& info);
/// The metric of one class: `word` replaces the *.
MetricInfo of_class(MetricInfo info, const std::string& word);
/// The metric with that name or older name; else the one whose * stands for the class,
/// "case_dice_*" for "case_dice_liver", with the most letters in common; or nullptr.
const MetricInfo* find_metric(const std::vector<MetricInfo>& metrics, const std::string& name);
/// What find_metric() finds, with the class in place of the *.
std::optional<MetricInfo> named_metric(const std::vector<MetricInfo>& metrics,
                                       const std::string& name);
/// The current name: "pooled_dice" for "mean_dice". A name that is no metric stays as it is.
std::string current_name(const std::vector<MetricInfo>& metrics, const std::string& name);
/// The value of that name; NaN if it was not measured.
double value_of(const std::vector<Measurement>& measured, const std::string& name);
/// The share of a clean score that is left under noise: noisy / clean, or clean / noisy where
/// smaller values are better.
double retention(const MetricInfo& info, double noisy, double clean);

/// For people: "84.31 %", "0.4127"; "-" for NaN.
std::string value_text(const MetricInfo& info, double value);
/// " (11/12)" where values are missing, else "".
std::string coverage_text(const Coverage& coverage);
/// For the head of a column or an axis: "top1 (%)", "loss".
std::string title_of(const MetricInfo& info);

}  // namespace fovea::metrics
