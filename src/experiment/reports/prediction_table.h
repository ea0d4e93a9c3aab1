// predictions.csv: what a classifier says of each sample, of a data set (eval) or of files of one's
// own (predict), in one form.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "experiment/reports/result_line.h"

namespace fovea::experiment {

struct PredictionRow {
  std::string name;
  std::string file = "";                   // that the sample is in; "" where there is none
  std::optional<std::int64_t> label = {};  // the truth, where it is known
  std::int64_t prediction = 0;
  std::span<const float> probabilities;  // of each class
  std::int64_t index = 0;                // in its split, or among the inputs
};

/// Of more classes, `eval` leaves the columns of the single ones out: eval --save
/// probabilities.csv.
inline constexpr std::int64_t kMostClassColumns = 100;

/// "name,file,label,label_index,prediction,prediction_index,probability,index" and, with columns of
/// classes, one for each.
ResultHeads prediction_heads(const std::vector<std::string>& classes, bool class_columns);
/// What stands below them. label and prediction are names of classes, nothing for an unknown truth;
/// probability is that of the prediction.
ResultRow prediction_cells(const PredictionRow& row, const std::vector<std::string>& classes,
                           bool class_columns);

}  // namespace fovea::experiment
