#include "experiment/reports/score_files.h"

#include <fmt/format.h>

#include <span>

#include "base/csv_field.h"
#include "base/file.h"
#include "experiment/reports/prediction_table.h"
#include "metrics/classes/class_score.h"
#include "schema/json/value.h"
#include "tensor/safetensors.h"

namespace fovea::experiment {
namespace {

// A sample is called after its file, or after its file and its record in it.
std::string file_of(const std::string& sample, const std::set<std::string>& files) {
  if (files.contains(sample)) return sample;
  const std::string file = sample.substr(0, sample.rfind(':'));
  return files.contains(file) ? file : "";
}

void write_tensors(const std::filesystem::path& file, const std::string& name,
                   const std::vector<float>& values, const training::ScoreRows& rows,
                   const ScoredSamples& samples, const Device& host) {
  const std::int64_t n = std::ssize(samples.indices);
  TensorFile content;
  content.tensors = {{name, Tensor::from(values, {n, rows.width}, host)},
                     {"index", Tensor::from(samples.indices, {n}, host)},
                     {"label", Tensor::from(rows.labels, {n}, host)}};
  content.metadata = {{"names", schema::Value::array(samples.names).dump(0)},
                      {"classes", schema::Value::array(samples.classes).dump(0)}};
  write_safetensors(file, content);
}

void write_table(const std::filesystem::path& file, const std::vector<float>& values,
                 const training::ScoreRows& rows, const ScoredSamples& samples) {
  const auto width = static_cast<std::size_t>(rows.width);
  const std::vector<std::string>& classes = samples.classes;
  std::string text = "index,name,label";
  // A network may have more outputs than the data set has classes.
  for (std::size_t c = 0; c < width; ++c)
    text += fmt::format(",{}",
                        c < classes.size() ? csv_field(classes[c]) : fmt::format("output {}", c));
  text += "\n";
  for (std::size_t i = 0; i < samples.indices.size(); ++i) {
    text +=
        fmt::format("{},{},{}", samples.indices[i], csv_field(samples.names[i]), rows.labels[i]);
    for (std::size_t c = 0; c < width; ++c) text += fmt::format(",{}", values[i * width + c]);
    text += "\n";
  }
  io::write_atomic(file, text);
}

}  // namespace

void write_predictions(const std::filesystem::path& folder, const training::ScoreRows& rows,
                       const ScoredSamples& samples) {
  const bool each = std::ssize(samples.classes) <= kMostClassColumns;
  const std::vector<float> probabilities = metrics::class_probabilities(rows.logits, rows.width);
  const auto width = static_cast<std::size_t>(rows.width);
  std::string text = csv_line(prediction_heads(samples.classes, each));
  for (std::size_t i = 0; i < samples.names.size(); ++i) {
    const PredictionRow row{samples.names[i],
                            file_of(samples.names[i], samples.files),
                            rows.labels[i],
                            rows.predictions[i],
                            std::span(probabilities).subspan(i * width, width),
                            samples.indices[i]};
    text += csv_line(prediction_cells(row, samples.classes, each));
  }
  io::write_atomic(folder / "predictions.csv", text);
}

std::vector<std::string> score_words() {
  return {"logits",        "logits.safetensors",        "logits.csv",
          "probabilities", "probabilities.safetensors", "probabilities.csv"};
}

std::vector<std::string> write_scores(const std::filesystem::path& folder,
                                      const std::set<std::string>& wanted,
                                      const training::ScoreRows& rows, const ScoredSamples& samples,
                                      const Device& host) {
  std::vector<std::string> files;
  for (const std::string name : {"logits", "probabilities"}) {
    const bool tensors = wanted.contains(name) || wanted.contains(name + ".safetensors");
    const bool table = wanted.contains(name + ".csv");
    if (!tensors && !table) continue;
    const std::vector<float> values =
        name == "logits" ? rows.logits : metrics::class_probabilities(rows.logits, rows.width);
    if (tensors) {
      files.push_back(name + ".safetensors");
      write_tensors(folder / files.back(), name, values, rows, samples, host);
    }
    if (table) {
      files.push_back(name + ".csv");
      write_table(folder / files.back(), values, rows, samples);
    }
  }
  return files;
}

}  // namespace fovea::experiment
