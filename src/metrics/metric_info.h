// What is to be known of a metric besides its value. A metric's own file says it; whoever chooses
// weights, prints tables or draws curves asks here and knows no metric by its name.
#pragma once

#include <cstdint>
#include <optional>
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
  std::vector<std::string> aliases = {};  // older names, which are understood wherever one is given

  bool operator==(const MetricInfo&) const = default;
};

/// The mean of what is minimised, of every task.
inline const MetricInfo kLoss{.name = "loss", .larger_is_better = false, .is_loss = true};

/// Over how many values a mean was taken: those that are defined, of those of all cases and
/// classes.
struct Coverage {
  std::int64_t defined = 0;
  std::int64_t compared = 0;  // 0: nothing can be missing
  std::string set = "";       // tells sets of missing values apart; "" where none is missing

  bool complete() const { return defined == compared; }
  bool operator==(const Coverage&) const = default;
};

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

/// The facts without the values.
std::vector<MetricInfo> infos_of(const std::vector<Measurement>& measured);
/// Whether it stands for one metric of each class: "dice_*".
bool is_of_classes(const MetricInfo& info);
/// That of one class: `word` for the *.
MetricInfo of_class(MetricInfo info, const std::string& word);
/// The metric of that name or older name; else the one that stands for it, "case_dice_*" for
/// "case_dice_liver", by the most letters in common; or nullptr.
const MetricInfo* find_metric(const std::vector<MetricInfo>& metrics, const std::string& name);
/// What find_metric() finds, with the class of the name for the *.
std::optional<MetricInfo> named_metric(const std::vector<MetricInfo>& metrics,
                                       const std::string& name);
/// Its name today: "pooled_dice" of "mean_dice". What is no metric stays as it is.
std::string current_name(const std::vector<MetricInfo>& metrics, const std::string& name);
/// The value of that name; NaN if it was not measured.
double value_of(const std::vector<Measurement>& measured, const std::string& name);
/// What is left of a clean score under noise, 1 for all of it: noisy / clean, or clean / noisy of a
/// metric where less is better.
double retention(const MetricInfo& info, double noisy, double clean);

/// For people: "84.31 %", "0.4127"; "-" for NaN.
std::string value_text(const MetricInfo& info, double value);
/// " (11/12)" where values are missing, else "".
std::string coverage_text(const Coverage& coverage);
/// As the head of a column or axis: "top1 (%)", "loss".
std::string title_of(const MetricInfo& info);

}  // namespace fovea::metrics
