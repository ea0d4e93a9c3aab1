#include "training/tasks/score_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/csv_field.h"
#include "base/file.h"
#include "ops/elementwise.h"
#include "schema/json/value.h"
#include "tensor/safetensors.h"
#include "training/tasks/task.h"

namespace fovea::training {
namespace {

// A table of numbers with what its rows are.
struct Scores {
  std::int64_t width = 0;
  std::vector<float> values;
  std::vector<std::int64_t> indices, labels;
};

// The sums in float64; the largest logit is subtracted so that nothing overflows.
std::vector<float> softmax(const std::vector<float>& logits, std::int64_t width) {
  std::vector<float> result(logits.size());
  const auto w = static_cast<std::size_t>(width);
  for (std::size_t row = 0; row < logits.size(); row += w) {
    const float* x = logits.data() + row;
    const double largest = *std::max_element(x, x + w);
    double sum = 0;
    for (std::size_t c = 0; c < w; ++c) sum += std::exp(x[c] - largest);
    for (std::size_t c = 0; c < w; ++c)
      result[row + c] = static_cast<float>(std::exp(x[c] - largest) / sum);
  }
  return result;
}

void write_tensors(const std::filesystem::path& file, const std::string& name, const Scores& scores,
                   const std::vector<std::string>& names, const std::vector<std::string>& classes,
                   const Device& host) {
  const std::int64_t n = std::ssize(scores.indices);
  TensorFile content;
  content.tensors = {{name, Tensor::from(scores.values, {n, scores.width}, host)},
                     {"index", Tensor::from(scores.indices, {n}, host)},
                     {"label", Tensor::from(scores.labels, {n}, host)}};
  content.metadata = {{"names", schema::Value::array(names).dump(0)},
                      {"classes", schema::Value::array(classes).dump(0)}};
  write_safetensors(file, content);
}

void write_table(const std::filesystem::path& file, const Scores& scores,
                 const std::vector<std::string>& names, const std::vector<std::string>& classes) {
  std::string text = "index,name,label";
  // A network may have more outputs than the data set has classes.
  for (std::size_t c = 0; c < static_cast<std::size_t>(scores.width); ++c)
    text += fmt::format(",{}",
                        c < classes.size() ? csv_field(classes[c]) : fmt::format("output {}", c));
  text += "\n";
  for (std::size_t i = 0; i < scores.indices.size(); ++i) {
    text += fmt::format("{},{},{}", scores.indices[i], csv_field(names[i]), scores.labels[i]);
    const auto w = static_cast<std::size_t>(scores.width);
    for (std::size_t c = 0; c < w; ++c) text += fmt::format(",{}", scores.values[i * w + c]);
    text += "\n";
  }
  io::write_atomic(file, text);
}

}  // namespace

void ScoreRows::add(const Tensor& logits, const Tensor& labels,
                    const std::vector<std::int64_t>& indices) {
  width_ = logits.size(1);
  host_ = logits.device();
  const Tensor wide = ops::cast(logits, DType::kFloat32);
  const auto values = wide.host_values<float>();
  const auto own = labels.host_values<std::int64_t>();
  values_.insert(values_.end(), values.begin(), values.end());
  labels_.insert(labels_.end(), own.begin(), own.end());
  indices_.insert(indices_.end(), indices.begin(), indices.end());
}

std::vector<float> ScoreRows::sorted_values() const {
  std::vector<float> values;
  values.reserve(values_.size());
  const auto w = static_cast<std::size_t>(width_);
  for (const std::size_t row : ascending(indices_)) {
    const auto first = values_.begin() + static_cast<std::ptrdiff_t>(row * w);
    values.insert(values.end(), first, first + static_cast<std::ptrdiff_t>(w));
  }
  return values;
}

std::vector<float> ScoreRows::probabilities() const { return softmax(sorted_values(), width_); }

std::vector<std::string> ScoreRows::words() {
  return {"logits",        "logits.safetensors",        "logits.csv",
          "probabilities", "probabilities.safetensors", "probabilities.csv"};
}

std::vector<std::string> ScoreRows::write(const std::filesystem::path& folder,
                                          const std::set<std::string>& wanted,
                                          const std::vector<std::string>& names,
                                          const std::vector<std::string>& classes) const {
  const auto order = ascending(indices_);
  Scores scores{width_, sorted_values(), reordered(indices_, order), reordered(labels_, order)};
  std::vector<std::string> files;
  const auto write_both = [&](const std::string& name) {
    if (wanted.contains(name) || wanted.contains(name + ".safetensors")) {
      files.push_back(name + ".safetensors");
      write_tensors(folder / files.back(), name, scores, names, classes, host_);
    }
    if (wanted.contains(name + ".csv")) {
      files.push_back(name + ".csv");
      write_table(folder / files.back(), scores, names, classes);
    }
  };
  write_both("logits");
  scores.values = softmax(scores.values, width_);
  write_both("probabilities");
  return files;
}

}  // namespace fovea::training
