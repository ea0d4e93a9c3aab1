#include "experiment/inference/eval_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "metrics/classification.h"
#include "schema/compare.h"
#include "schema/json/parse.h"
#include "schema/load.h"
#include "training/store/checkpoint.h"

namespace fovea::experiment {
namespace {

namespace fs = std::filesystem;
using schema::Value;

double as_number(const Value& value) { return value.is_null() ? std::nan("") : value.as_double(); }

// A number replaces that of the same metric, type and level.
void add(std::vector<NoiseScore>& all, const NoiseScore& score) {
  for (NoiseScore& known : all) {
    if (known.metric == score.metric && known.type == score.type && known.level == score.level) {
      known.value = score.value;
      return;
    }
  }
  all.push_back(score);
}

// Those of the main metric may have its older name.
std::vector<NoiseScore> noise_from(const Value& results, const metrics::MetricInfo& main) {
  std::vector<NoiseScore> all;
  const Value* noise = results.find("noise");
  if (noise == nullptr) return all;
  for (const Value& score : noise->items()) {
    all.push_back({metrics::current_name({main}, score.at("metric").as_string()),
                   score.at("type").as_string(), score.at("level").as_double(),
                   as_number(score.at("value"))});
  }
  return all;
}

Value noise_json(const std::vector<NoiseScore>& scores) {
  Value list = Value::array();
  for (const NoiseScore& score : scores) {
    Value record =
        Value::object({{"metric", score.metric}, {"type", score.type}, {"level", score.level}});
    training::set_number(record, "value", score.value);
    list.push_back(record);
  }
  return list;
}

Value robustness_json(const std::vector<NoiseScore>& scores, const metrics::MetricInfo& main,
                      double clean) {
  const NoiseMeans means = noise_means(scores, main, clean);
  Value by_type = Value::object();
  for (const auto& [type, mean] : means.by_type) training::set_number(by_type, type, mean);
  Value record = Value::object({{"metric", main.name},
                                {"unit", main.unit},
                                {"decimals", main.decimals},
                                {"larger_is_better", main.larger_is_better},
                                {"by_type", by_type}});
  training::set_number(record, "mean", means.mean);
  training::set_number(record, "retention", means.retention);
  return record;
}

// The results in a file; nothing where it is missing or no such file.
std::optional<Value> read_results(const fs::path& file) {
  std::error_code code;
  if (!fs::exists(file, code)) return {};
  try {
    Value results = schema::parse(io::read_text(file), file.string());
    if (results.is_object()) return results;
  } catch (const ConfigError&) {
    // Cut short or edited by hand: it is moved away like another subject's.
  }
  return Value::object();
}

std::string name_of(const Value* subject) {
  return fmt::format("results-{}.json",
                     subject == nullptr ? "unknown" : schema::content_hash(*subject).substr(0, 8));
}

}  // namespace

std::string weights_hash(nn::Module& model) {
  std::vector<nn::NamedTensor> tensors = model.parameters();
  for (const nn::NamedTensor& buffer : model.buffers()) tensors.push_back(buffer);
  std::string hashes;
  for (const nn::NamedTensor& named : tensors) {
    std::string bytes(static_cast<std::size_t>(named.tensor.bytes()), '\0');
    named.tensor.download(bytes.data());
    hashes += named.name + " " + training::hash_bytes(bytes) + "\n";
  }
  return training::hash_bytes(hashes);
}

NoiseMeans noise_means(const std::vector<NoiseScore>& scores, const metrics::MetricInfo& metric,
                       double clean) {
  std::vector<std::pair<std::string, metrics::RunningMean>> types;
  for (const NoiseScore& score : scores) {
    if (score.metric != metric.name) continue;
    auto found = std::find_if(types.begin(), types.end(),
                              [&](const auto& type) { return type.first == score.type; });
    if (found == types.end())
      found = types.emplace(types.end(), score.type, metrics::RunningMean());
    found->second.add(score.value);
  }
  NoiseMeans means;
  metrics::RunningMean all;
  for (const auto& [type, mean] : types) {
    means.by_type.emplace_back(type, mean.value());
    all.add(mean.value());
  }
  means.mean = all.value();
  means.retention = metrics::retention(metric, means.mean, clean);
  return means;
}

Value write_eval_results(const fs::path& folder, Value fresh, const std::vector<NoiseScore>& noise,
                         const metrics::MetricInfo& main, const EvalSubject& subject) {
  const Value about = Value::object({{"dataset", fresh.at("dataset")},
                                     {"split", fresh.at("split")},
                                     {"samples", fresh.at("samples")},
                                     {"weights", subject.weights},
                                     {"overrides", Value::array(subject.overrides)}});
  fresh.set("subject", about);
  const fs::path file = folder / "results.json", away = folder / name_of(&about);
  std::optional<Value> before = read_results(file);
  if (before) {
    const Value* other = before->find("subject");
    if (other == nullptr || !(*other == about)) {
      fs::rename(file, folder / name_of(other));
      before = read_results(away);
    }
  }
  std::vector<NoiseScore> scores = before ? noise_from(*before, main) : std::vector<NoiseScore>();
  for (const NoiseScore& score : noise) add(scores, score);
  if (!scores.empty()) {
    // Levels of a type in order, whenever they were scored.
    std::vector<std::string> types;
    for (const NoiseScore& score : scores) {
      if (std::find(types.begin(), types.end(), score.type) == types.end())
        types.push_back(score.type);
    }
    const auto place = [&](const NoiseScore& score) {
      return std::pair(std::find(types.begin(), types.end(), score.type), score.level);
    };
    std::stable_sort(scores.begin(), scores.end(),
                     [&](const auto& a, const auto& b) { return place(a) < place(b); });
    fresh.set("noise", noise_json(scores));
    fresh.set("robustness",
              robustness_json(scores, main, as_number(fresh.at("metrics").at(main.name))));
  }
  io::write_atomic(file, fresh.dump() + "\n");
  std::error_code code;
  fs::remove(away, code);  // its numbers stand in results.json now
  return fresh;
}

std::optional<CaseScores> read_case_scores(const fs::path& folder, const std::string& metric) {
  const std::optional<Value> results = read_results(folder / "results.json");
  if (!results) return {};
  const auto values_in = [&](const char* key) {
    const Value* holder = results->find(key);
    return holder != nullptr ? holder->find(metric) : nullptr;
  };
  const Value* values = values_in("cases");
  const Value* of_volumes = values_in("volumes");
  if (values == nullptr && of_volumes == nullptr) return {};
  CaseScores scores;
  scores.value = as_number(results->at("metrics").at(metric));
  for (const Value& value : (values != nullptr ? values : of_volumes)->items())
    scores.values.push_back(as_number(value));
  if (values == nullptr) {
    for (const Value& name : results->at("volumes").at("name").items())
      scores.volumes.push_back(name.as_string());
    return scores;
  }
  for (const Value& index : results->at("cases").at("index").items())
    scores.indices.push_back(index.as_int());
  return scores;
}

}  // namespace fovea::experiment
