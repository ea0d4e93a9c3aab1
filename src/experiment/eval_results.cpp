#include "experiment/eval_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "schema/compare.h"
#include "schema/parse.h"
#include "training/checkpoint.h"

namespace fovea::experiment {
namespace {

namespace fs = std::filesystem;
using schema::Value;

// Levels of one type, by their words.
using Levels = std::vector<std::pair<std::string, double>>;

struct MetricScores {
  std::string metric;
  std::vector<std::pair<std::string, Levels>> types;
};

double as_number(const Value& value) { return value.is_null() ? std::nan("") : value.as_double(); }

// Members of a table, where one of that name is made if there is none.
template <class Table>
auto& entry_of(Table& table, const std::string& name) {
  for (auto& entry : table) {
    if (entry.first == name) return entry.second;
  }
  return table.emplace_back(name, typename Table::value_type::second_type{}).second;
}

// Adds {metric: {type: {level: value}}}; the means beside them are made anew.
void add(std::vector<MetricScores>& all, const Value& corruption) {
  for (const Value::Member& metric : corruption.members()) {
    if (!metric.value.is_object()) continue;
    MetricScores* scores = nullptr;
    for (MetricScores& known : all) {
      if (known.metric == metric.key) scores = &known;
    }
    if (scores == nullptr) scores = &all.emplace_back(MetricScores{metric.key, {}});
    for (const Value::Member& type : metric.value.members()) {
      Levels& levels = entry_of(scores->types, type.key);
      for (const Value::Member& level : type.value.members()) {
        if (level.key != "mean" && level.key != "nonfinite")
          entry_of(levels, level.key) = as_number(level.value);
      }
    }
  }
}

double level_of(const std::string& word) {
  double level = 0;
  std::from_chars(word.data(), word.data() + word.size(), level);
  return level;
}

Value corruption_of(std::vector<MetricScores> all, const Value& metrics) {
  Value corruption = Value::object();
  for (MetricScores& scores : all) {
    Value types = Value::object();
    double total = 0;
    for (auto& [type, levels] : scores.types) {
      std::stable_sort(levels.begin(), levels.end(), [](const auto& a, const auto& b) {
        return level_of(a.first) < level_of(b.first);
      });
      Value by_level = Value::object();
      double sum = 0;
      for (const auto& [level, value] : levels) {
        training::set_number(by_level, level, value);
        sum += value;
      }
      const double mean = sum / static_cast<double>(levels.size());
      training::set_number(by_level, "mean", mean);
      total += mean;
      types.set(type, by_level);
    }
    const double mean = total / static_cast<double>(scores.types.size());
    corruption.set(scores.metric, types);
    training::set_number(corruption, "mean_" + scores.metric, mean);
    if (const Value* clean = metrics.find(scores.metric))
      training::set_number(corruption, "retention", mean / as_number(*clean));
  }
  return corruption;
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
    const auto* bytes = reinterpret_cast<const char*>(named.tensor.raw());
    hashes += named.name + " " +
              training::hash_bytes({bytes, static_cast<std::size_t>(named.tensor.bytes())}) + "\n";
  }
  return training::hash_bytes(hashes);
}

Value write_eval_results(const fs::path& folder, Value fresh, const EvalSubject& subject) {
  const Value about = Value::object({{"weights", subject.weights},
                                     {"samples", fresh.at("samples")},
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
  std::vector<MetricScores> scores;
  if (before && before->find("corruption") != nullptr) add(scores, before->at("corruption"));
  if (fresh.find("corruption") != nullptr) add(scores, fresh.at("corruption"));
  if (!scores.empty())
    fresh.set("corruption", corruption_of(std::move(scores), fresh.at("metrics")));
  io::write_atomic(file, fresh.dump() + "\n");
  std::error_code code;
  fs::remove(away, code);  // its numbers stand in results.json now
  return fresh;
}

}  // namespace fovea::experiment
