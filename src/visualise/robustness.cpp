#include "visualise/robustness.h"
#include "visualise/run_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "base/error.h"
#include "base/file.h"
#include "schema/parse.h"

namespace fovea::visualise {
namespace {

using schema::Value;

// One run's accuracies in percent.
struct Scores {
  std::string name;
  double clean = 0;
  std::vector<std::string> types;
  std::vector<double> levels;
  std::vector<std::vector<double>> noisy;  // by type and level
};

double number(const Value& value) { return value.is_null() ? std::nan("") : value.as_double(); }

double level_of(const std::string& key) {
  double level = 0;
  const auto [end, status] = std::from_chars(key.data(), key.data() + key.size(), level);
  FOVEA_CHECK(status == std::errc() && end == key.data() + key.size(), ConfigError,
              fmt::format("level \"{}\" is no number", key));
  return level;
}

Scores read_scores(const std::filesystem::path& run, const std::string& split) {
  const std::filesystem::path file = run / "eval" / split / "results.json";
  std::error_code code;
  FOVEA_CHECK(std::filesystem::exists(file, code), FileError,
              fmt::format("{}: not found; run: eval {} --split {} --noise all", file.string(),
                          run.string(), split));
  const std::string text = io::read_text(file);
  try {
    const Value result = schema::parse(text, file.string());
    const Value* corruption = result.find("corruption");
    FOVEA_CHECK(corruption != nullptr, FileError,
                fmt::format("{}: holds no scores under noise; run: eval {} --split {} --noise all",
                            file.string(), run.string(), split));
    const Value* name = result.find("name");
    Scores scores;
    scores.name = name != nullptr ? name->as_string() : run.filename().string();
    scores.clean = number(result.at("metrics").at("top1"));
    for (const Value::Member& type : corruption->at("top1").members()) {
      scores.types.push_back(type.key);
      std::vector<double> levels;
      std::vector<double>& values = scores.noisy.emplace_back();
      for (const Value::Member& level : type.value.members()) {
        if (level.key == "mean" || level.key == "nonfinite") continue;
        levels.push_back(level_of(level.key));
        values.push_back(number(level.value));
      }
      scores.levels = levels;
    }
    return scores;
  } catch (const ConfigError& error) {
    throw FileError(fmt::format("{}: damaged: {}", file.string(), error.what()));
  }
}

Spread spread_of(const std::vector<double>& values) {
  Spread spread{0, 0, std::ssize(values)};
  const auto n = static_cast<double>(values.size());
  for (const double value : values) spread.mean += value / n;
  for (const double value : values) spread.std += (value - spread.mean) * (value - spread.mean);
  spread.std = values.size() > 1 ? std::sqrt(spread.std / (n - 1)) : 0;
  return spread;
}

double mean_of(const Scores& scores) {
  double sum = 0;
  double count = 0;
  for (const auto& levels : scores.noisy) {
    for (const double value : levels) {
      sum += value;
      ++count;
    }
  }
  return sum / count;
}

RobustnessRow row_of(const std::string& name, const std::vector<Scores>& runs) {
  const auto over = [&](const auto& value) {
    std::vector<double> values;
    for (const Scores& run : runs) values.push_back(value(run));
    return spread_of(values);
  };
  RobustnessRow row;
  row.name = name;
  row.clean = over([](const Scores& run) { return run.clean; });
  row.mean = over(mean_of);
  row.retention = over([](const Scores& run) { return mean_of(run) / run.clean; });
  for (std::size_t t = 0; t < runs[0].types.size(); ++t) {
    std::vector<Spread>& levels = row.noisy.emplace_back();
    for (std::size_t l = 0; l < runs[0].levels.size(); ++l)
      levels.push_back(over([&](const Scores& run) { return run.noisy[t][l]; }));
  }
  return row;
}

std::string text_of(const Spread& spread, int digits) {
  if (spread.n < 2) return fmt::format("{:.{}f}", spread.mean, digits);
  return fmt::format("{:.{}f} ± {:.{}f}", spread.mean, digits, spread.std, digits);
}

// The average of spreads: for a type over its levels, for a level over the types.
Spread average(const std::vector<Spread>& all) {
  Spread sum;
  for (const Spread& one : all) {
    sum.mean += one.mean / static_cast<double>(all.size());
    sum.std += one.std / static_cast<double>(all.size());
    sum.n = one.n;
  }
  return sum;
}

Series curve(const RobustnessRow& row, const std::vector<double>& levels,
             const std::vector<Spread>& noisy) {
  Series series;
  series.name = row.name;
  const auto add = [&](double level, const Spread& spread) {
    series.x.push_back(level);
    series.y.push_back(spread.mean);
    if (row.clean.n > 1) series.band.push_back(spread.std);
  };
  add(0, row.clean);
  for (std::size_t l = 0; l < levels.size(); ++l) add(levels[l], noisy[l]);
  return series;
}

LinePlot plot_of(const std::string& title) {
  LinePlot plot;
  plot.title = title;
  plot.x_label = "level";
  plot.y_label = "top-1 (%)";
  return plot;
}

}  // namespace

Robustness read_robustness(const std::vector<std::filesystem::path>& runs,
                           const std::string& split) {
  FOVEA_CHECK(!runs.empty(), ConfigError, "robustness: no run given");
  Robustness result{split, {}, {}, {}};
  std::vector<std::string> names;
  std::map<std::string, std::vector<Scores>> by_name;
  for (const std::filesystem::path& folder : runs) {
    Scores scores = read_scores(folder, split);
    if (names.empty()) {
      result.types = scores.types;
      result.levels = scores.levels;
    }
    FOVEA_CHECK(
        scores.types == result.types && scores.levels == result.levels, ConfigError,
        fmt::format("{}: was scored under other types or levels of noise than {}; score both "
                    "with the same --noise and --level",
                    folder.string(), runs[0].string()));
    for (const auto& levels : scores.noisy) {
      FOVEA_CHECK(levels.size() == result.levels.size(), FileError,
                  fmt::format("{}: its types of noise have different levels", folder.string()));
    }
    if (!by_name.contains(scores.name)) names.push_back(scores.name);
    by_name[scores.name].push_back(std::move(scores));
  }
  const std::vector<std::string> shown = without_sweep(names);
  for (std::size_t i = 0; i < names.size(); ++i)
    result.rows.push_back(row_of(shown[i], by_name.at(names[i])));
  return result;
}

std::vector<std::vector<std::string>> robustness_table(const Robustness& r) {
  std::vector<std::vector<std::string>> table{{"top-1 in %", "clean"}};
  table[0].insert(table[0].end(), r.types.begin(), r.types.end());
  table[0].insert(table[0].end(), {"mean", "retention"});
  for (const RobustnessRow& row : r.rows) {
    std::vector<std::string> cells{row.name, text_of(row.clean, 2)};
    for (const auto& levels : row.noisy) cells.push_back(text_of(average(levels), 2));
    cells.push_back(text_of(row.mean, 2));
    cells.push_back(text_of(row.retention, 3));
    table.push_back(std::move(cells));
  }
  return table;
}

std::string robustness_csv(const Robustness& r) {
  std::string text = "run,type,level,top1_mean,top1_std,n\n";
  for (const RobustnessRow& row : r.rows) {
    std::string name;
    for (const char c : row.name) name += c == '"' ? std::string("\"\"") : std::string(1, c);
    const auto add = [&](const std::string& type, double level, const Spread& spread) {
      text += fmt::format("\"{}\",{},{},{},{},{}\n", name, type, level, spread.mean, spread.std,
                          spread.n);
    };
    add("clean", 0, row.clean);
    for (std::size_t t = 0; t < r.types.size(); ++t) {
      for (std::size_t l = 0; l < r.levels.size(); ++l)
        add(r.types[t], r.levels[l], row.noisy[t][l]);
    }
  }
  return text;
}

std::vector<LinePlot> robustness_plots(const Robustness& r) {
  std::vector<LinePlot> plots;
  for (std::size_t t = 0; t < r.types.size(); ++t) {
    LinePlot plot = plot_of(r.types[t]);
    for (const RobustnessRow& row : r.rows)
      plot.series.push_back(curve(row, r.levels, row.noisy[t]));
    plots.push_back(std::move(plot));
  }
  if (r.types.size() < 2) return plots;
  LinePlot plot = plot_of("mean over types");
  for (const RobustnessRow& row : r.rows) {
    std::vector<Spread> means;
    for (std::size_t l = 0; l < r.levels.size(); ++l) {
      std::vector<Spread> types;
      for (std::size_t t = 0; t < r.types.size(); ++t) types.push_back(row.noisy[t][l]);
      means.push_back(average(types));
    }
    plot.series.push_back(curve(row, r.levels, means));
  }
  plots.push_back(std::move(plot));
  return plots;
}

void write_robustness(const std::filesystem::path& path, const Robustness& robustness) {
  const std::string ending = path.extension().string();
  FOVEA_CHECK(ending == ".png" || ending == ".svg", ConfigError,
              fmt::format("{}: expected a name that ends in .png or .svg", path.string()));
  const auto plots = robustness_plots(robustness);
  const std::int64_t columns = std::min<std::int64_t>(3, std::ssize(plots));
  if (ending == ".svg") {
    io::write_atomic(path, to_svg(plots, columns));
  } else {
    write_png(path, render(plots, columns));
  }
  std::filesystem::path csv = path;
  io::write_atomic(csv.replace_extension(".csv"), robustness_csv(robustness));
}

}  // namespace fovea::visualise
