// What a classifier says of every sample, as files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "tensor/device.h"
#include "training/tasks/task_report.h"

namespace fovea::experiment {

/// The samples of a report.
struct ScoredSamples {
  std::vector<std::int64_t> indices;  // in their split
  std::vector<std::string> names;
  std::set<std::string> files;  // that samples are in
  std::vector<std::string> classes;
};

/// predictions.csv (prediction_table.h).
void write_predictions(const std::filesystem::path& folder, const training::ScoreRows& rows,
                       const ScoredSamples& samples);

/// The words that write_scores() knows.
std::vector<std::string> score_words();
/// The files asked for, and their names:
///   logits.safetensors         "logits" (n, classes) float32, "index" (n) and "label" (n) int64;
///                              metadata "names" and "classes" are JSON lists
///   logits.csv                 index,name,label and a column for each class
///   probabilities.safetensors, probabilities.csv: the softmax of the logits, likewise
/// host: a host device, for tensors.
std::vector<std::string> write_scores(const std::filesystem::path& folder,
                                      const std::set<std::string>& wanted,
                                      const training::ScoreRows& rows, const ScoredSamples& samples,
                                      const Device& host);

}  // namespace fovea::experiment
