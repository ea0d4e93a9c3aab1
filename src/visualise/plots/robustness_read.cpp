// The scores that eval wrote into run folders, gathered by configuration.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "schema/compare.h"
#include "schema/json/parse.h"
#include "visualise/plots/robustness.h"
#include "visualise/plots/run_names.h"

namespace fovea::visualise {
namespace {

using schema::Value;

// One run's scores.
struct Scores {
  std::string folder;
  metrics::MetricInfo metric;
  std::string weights;  // "last", "best"
  std::int64_t samples = 0;
  double clean = 0;
  std::vector<std::string> types;
  std::vector<double> levels;
  std::vector<std::vector<double>> noisy;  // by type and level
};

// The runs of one configuration.
struct Group {
  std::string name;
  Value settings;  // without name and seed
  std::vector<Scores> runs;
  std::set<std::int64_t> seeds;
};

double number(const Value& value) { return value.is_null() ? std::nan("") : value.as_double(); }

// The scores of a type under noise, level by level.
void read_type(const std::string& type, const Value& noise, Scores& scores) {
  std::vector<double> levels;
  std::vector<double>& values = scores.noisy.emplace_back();
  for (const Value& score : noise.items()) {
    if (score.at("metric").as_string() != scores.metric.name) continue;
    if (score.at("type").as_string() != type) continue;
    levels.push_back(score.at("level").as_double());
    values.push_back(number(score.at("value")));
  }
  FOVEA_CHECK(scores.types.empty() || levels == scores.levels, ConfigError,
              fmt::format("{} was scored at levels {}, {} at {}; score both with the same --level",
                          scores.types.empty() ? "" : scores.types.front(),
                          fmt::join(scores.levels, " "), type, fmt::join(levels, " ")));
  scores.types.push_back(type);
  scores.levels = std::move(levels);
}

Scores scores_from(const Value& result, const Value& robustness) {
  Scores scores;
  scores.metric.name = robustness.at("metric").as_string();
  scores.metric.unit = robustness.at("unit").as_string();
  scores.metric.decimals = static_cast<int>(robustness.at("decimals").as_int());
  scores.metric.larger_is_better = robustness.at("larger_is_better").as_bool();
  for (const Value::Member& type : robustness.at("by_type").members()) {
    if (type.key != "nonfinite") read_type(type.key, result.at("noise"), scores);
  }
  FOVEA_CHECK(!scores.types.empty(), ConfigError, "robustness has no type of noise");
  scores.clean = number(result.at("metrics").at(scores.metric.name));
  if (const Value* weights = result.find("checkpoint"))
    scores.weights = weights->is_string() ? weights->as_string() : weights->dump(0);
  if (const Value* samples = result.find("samples")) scores.samples = samples->as_int();
  return scores;
}

Scores read_scores(const std::filesystem::path& run, const std::string& split) {
  const std::filesystem::path file = run / "eval" / split / "results.json";
  std::error_code code;
  FOVEA_CHECK(std::filesystem::exists(file, code), FileError,
              fmt::format("{}: not found; run: fovea eval {} --split {} --noise all", file.string(),
                          run.string(), split));
  const std::string text = io::read_text(file);
  try {
    const Value result = schema::parse(text, file.string());
    const Value* robustness = result.find("robustness");
    FOVEA_CHECK(
        robustness != nullptr, FileError,
        fmt::format("{}: holds no scores under noise; run: fovea eval {} --split {} --noise all",
                    file.string(), run.string(), split));
    Scores scores = scores_from(result, *robustness);
    scores.folder = run.string();
    return scores;
  } catch (const ConfigError& error) {
    throw FileError(fmt::format("{}: cannot be read: {}", file.string(), error.what()));
  }
}

SeedSpread spread_of(const std::vector<double>& values) {
  SeedSpread spread{0, 0, std::ssize(values)};
  const auto n = static_cast<double>(values.size());
  for (const double value : values) spread.mean += value / n;
  for (const double value : values) spread.std += (value - spread.mean) * (value - spread.mean);
  spread.std = values.size() > 1 ? std::sqrt(spread.std / (n - 1)) : std::nan("");
  return spread;
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

// Every type has the same levels, so the mean over both is that of the types' means.
double mean_of(const Scores& scores) {
  std::vector<double> means;
  for (const auto& levels : scores.noisy) means.push_back(mean_of(levels));
  return mean_of(means);
}

// Means are taken inside each run and the spread is that of the runs' means: seeds that are better
// at one level and worse at another do not look uncertain where they agree.
RobustnessRow row_of(const std::string& name, const std::vector<Scores>& runs) {
  const auto over = [&](const auto& value) {
    std::vector<double> values;
    for (const Scores& run : runs) values.push_back(value(run));
    return spread_of(values);
  };
  RobustnessRow row;
  row.name = name;
  row.clean = over([](const Scores& run) { return run.clean; });
  row.mean = over([](const Scores& run) { return mean_of(run); });
  row.retention = over(
      [](const Scores& run) { return metrics::retention(run.metric, mean_of(run), run.clean); });
  const std::size_t types = runs[0].types.size(), levels = runs[0].levels.size();
  for (std::size_t t = 0; t < types; ++t) {
    row.by_type.push_back(over([&](const Scores& run) { return mean_of(run.noisy[t]); }));
    std::vector<SeedSpread>& noisy = row.noisy.emplace_back();
    for (std::size_t l = 0; l < levels; ++l)
      noisy.push_back(over([&](const Scores& run) { return run.noisy[t][l]; }));
  }
  for (std::size_t l = 0; l < levels; ++l) {
    row.by_level.push_back(over([&](const Scores& run) {
      std::vector<double> values;
      for (const auto& type : run.noisy) values.push_back(type[l]);
      return mean_of(values);
    }));
  }
  return row;
}

void check_same_grid(const Scores& first, const Scores& other) {
  FOVEA_CHECK(other.metric.name == first.metric.name, ConfigError,
              fmt::format("{}: was scored by {}, {} by {}; draw them apart", other.folder,
                          other.metric.name, first.folder, first.metric.name));
  FOVEA_CHECK(other.types == first.types && other.levels == first.levels, ConfigError,
              fmt::format("{}: was scored under other types or levels of noise than {}; score both "
                          "with the same --noise and --level",
                          other.folder, first.folder));
}

void add(Group& group, Scores scores, std::int64_t seed) {
  if (!group.runs.empty()) {
    const Scores& first = group.runs.front();
    FOVEA_CHECK(
        group.seeds.count(seed) == 0, ConfigError,
        fmt::format("{}: has the configuration and the seed ({}) of another run of {}; name "
                    "every run once",
                    scores.folder, seed, group.name));
    FOVEA_CHECK(scores.weights == first.weights && scores.samples == first.samples, ConfigError,
                fmt::format("{}: was scored with weights \"{}\" on {} samples, {} with \"{}\" on "
                            "{}; score both in the same way",
                            scores.folder, scores.weights, scores.samples, first.folder,
                            first.weights, first.samples));
  }
  group.seeds.insert(seed);
  group.runs.push_back(std::move(scores));
}

// "key=value" of all settings that differ among the groups, as this one has them.
std::string differences(const Group& group, const std::vector<const Group*>& same_name) {
  std::vector<std::string> words;
  for (const Group* other : same_name) {
    // "train.lr: 0.1 -> 0.2", or "(none)" on a side.
    for (const std::string& line : schema::diff(group.settings, other->settings)) {
      const std::string key = line.substr(0, line.find(": "));
      const std::string value = line.substr(key.size() + 2, line.find(" -> ") - key.size() - 2);
      const std::string word = key + "=" + value;
      if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(word);
    }
  }
  constexpr std::size_t kShown = 3;
  const std::size_t more = words.size() > kShown ? words.size() - kShown : 0;
  words.resize(words.size() - more);
  return fmt::format("{}{}", fmt::join(words, ", "),
                     more > 0 ? fmt::format(" and {} more", more) : "");
}

std::vector<std::string> row_names(const std::vector<Group>& groups) {
  std::vector<std::string> names;
  for (const Group& group : groups) names.push_back(group.name);
  names = without_sweep(std::move(names));
  for (std::size_t i = 0; i < groups.size(); ++i) {
    std::vector<const Group*> same_name;
    for (const Group& other : groups) {
      if (&other != &groups[i] && other.name == groups[i].name) same_name.push_back(&other);
    }
    if (!same_name.empty())
      names[i] = fmt::format("{} ({})", names[i], differences(groups[i], same_name));
  }
  return names;
}

}  // namespace

Robustness read_robustness(const std::vector<ScoredRun>& runs, const std::string& split) {
  FOVEA_CHECK(!runs.empty(), ConfigError, "robustness: no run given");
  std::vector<Group> groups;
  for (const ScoredRun& run : runs) {
    Scores scores = read_scores(run.folder, split);
    if (!groups.empty()) check_same_grid(groups.front().runs.front(), scores);
    const std::string name = run.config.at("name").as_string();
    Value settings = run.settings;
    for (const char* key : {"name", "paper", "seed"}) settings.erase(key);
    const auto found = std::find_if(groups.begin(), groups.end(), [&](const Group& group) {
      return group.name == name && group.settings == settings;
    });
    Group& group =
        found == groups.end() ? groups.emplace_back(Group{name, settings, {}, {}}) : *found;
    add(group, std::move(scores), run.config.at("seed").as_int());
  }
  const Scores& first = groups.front().runs.front();
  Robustness result{split, first.metric, first.types, first.levels, {}};
  const std::vector<std::string> names = row_names(groups);
  for (std::size_t i = 0; i < groups.size(); ++i)
    result.rows.push_back(row_of(names[i], groups[i].runs));
  return result;
}

}  // namespace fovea::visualise
