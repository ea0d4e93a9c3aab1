#include "experiment/costs/tradeoff_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/suggest.h"
#include "experiment/sweep/ablation.h"
#include "experiment/tables/metric_column.h"
#include "experiment/tables/published.h"
#include "schema/json/parse.h"

namespace fovea::experiment {
namespace {

using schema::Value;
using visualise::TradeoffRow;
using visualise::TradeoffSource;

std::string chosen(const std::string& flag, const std::string& wanted,
                   const std::vector<std::string>& known, const std::string& holder) {
  FOVEA_CHECK(std::find(known.begin(), known.end(), wanted) != known.end(), ConfigError,
              fmt::format("{} \"{}\": {} has none of that name{} (known: {})", flag, wanted, holder,
                          did_you_mean(wanted, known), fmt::join(known, ", ")));
  return wanted;
}

std::optional<double> count_of(const Value& row, const char* key) {
  const Value* count = row.find(key);
  if (count == nullptr || count->is_null()) return std::nullopt;
  return count->as_double();
}

// The resolved configuration of a row.
Value config_of(const std::filesystem::path& sweep, const std::string& row) {
  const std::filesystem::path file = sweep / "ablation.json";
  const Value ablation = schema::parse(io::read_text(file), file.string());
  for (const Value& known : ablation.at("rows").items()) {
    if (known.at("name").as_string() == row)
      return brought_up_to_date(experiment_kind(), known.at("config"));
  }
  throw FileError(fmt::format("{}: has no row \"{}\"", file.string(), row));
}

void time_network(const Experiment& network, const ThroughputSettings& settings,
                  TradeoffRow& point) {
  const Throughput found = measure_throughput(network, settings);
  point.samples_per_s = found.samples_per_s;
  point.measured_on = found.measured_on;
}

TradeoffSource of_sweep(const TradeoffRequest& request) {
  const std::filesystem::path file = request.path / "results.json";
  const Value rows = schema::parse(io::read_text(file), file.string());
  std::vector<std::string> known;
  for (const Value& row : rows.items()) {
    for (const auto& member : row.at("metrics").members()) {
      if (std::find(known.begin(), known.end(), member.key) == known.end())
        known.push_back(member.key);
    }
  }
  FOVEA_CHECK(!known.empty(), ConfigError,
              fmt::format("{}: has no finished run", request.path.string()));
  std::string wanted = request.metric.empty() ? known.front() : request.metric;
  const bool has_plan = std::filesystem::exists(request.path / "ablation.json");
  if (has_plan && std::find(known.begin(), known.end(), wanted) == known.end()) {
    // Perhaps an older name.
    const Value config = config_of(request.path, rows.at(0).at("name").as_string());
    wanted = column_called(wanted, columns_of(experiment_kind().metrics(config))).name;
  }
  const std::string metric = chosen("--metric", wanted, known, request.path.string());
  TradeoffSource source{request.path.filename().string(), metric, {}};
  for (const Value& row : rows.items()) {
    const Value* score = row.at("metrics").find(metric);
    if (score == nullptr || score->at("mean").is_null()) {
      ++source.left_out;
      continue;
    }
    if (source.rows.empty() && !score->at("unit").as_string().empty())
      source.score = fmt::format("{} ({})", metric, score->at("unit").as_string());
    source.rows.push_back({row.at("name").as_string(), score->at("mean").as_double(),
                           count_of(row, "parameters"), count_of(row, "macs"),
                           count_of(row, "macs_paper")});
    if (!request.throughput) continue;
    TradeoffRow& point = source.rows.back();
    time_network(parse(config_of(request.path, point.name)), *request.throughput, point);
  }
  return source;
}

std::optional<double> published_count(const Row& row, const char* metric) {
  for (const PublishedCell& cell : row.published) {
    if (cell.metric == metric) return cell.value.mean;
  }
  return std::nullopt;
}

// Scores are the paper's, networks are those of the rows.
TradeoffSource of_plan(const TradeoffRequest& request) {
  const Ablation ablation = load_ablation(request.path, experiment_kind());
  std::vector<std::string> known;
  for (const Row& row : ablation.rows) {
    for (const PublishedCell& cell : row.published) {
      const bool is_count =
          cell.metric == "parameters" || cell.metric == "macs" || cell.metric == "macs_paper";
      if (!is_count && std::find(known.begin(), known.end(), cell.metric) == known.end())
        known.push_back(cell.metric);
    }
  }
  FOVEA_CHECK(!known.empty(), ConfigError,
              fmt::format("{}: no row has a published score", request.path.string()));
  const std::string metric =
      chosen("--metric", request.metric.empty() ? known.front() : request.metric, known,
             request.path.string());
  TradeoffSource source{ablation.name, metric + ", published", {}};
  for (const Row& row : ablation.rows) {
    const auto score = published_count(row, metric.c_str());
    if (!score) {
      ++source.left_out;
      continue;
    }
    TradeoffRow& point = source.rows.emplace_back();
    point.name = row.name;
    point.score = *score;
    point.parameters = published_count(row, "parameters");
    point.macs_paper = published_count(row, "macs_paper");
    if (request.throughput) time_network(parse(row.config), *request.throughput, point);
  }
  return source;
}

TradeoffSource of_paper(const TradeoffRequest& request) {
  const Published published(request.path);
  const std::vector<std::string> tables = published.tables();
  FOVEA_CHECK(!tables.empty(), ConfigError,
              fmt::format("{}: has no tables", request.path.string()));
  const std::string table = chosen("--table", request.table.empty() ? tables[0] : request.table,
                                   tables, request.path.string());
  const std::vector<std::string> columns = published.columns(table);
  FOVEA_CHECK(!request.metric.empty() || columns.size() == 1, ConfigError,
              fmt::format("--metric: name the column of {} to draw (known: {})", table,
                          fmt::join(columns, ", ")));
  const std::string metric =
      request.metric.empty() ? columns[0] : chosen("--metric", request.metric, columns, table);
  TradeoffSource source{"published, " + table, metric, {}};
  for (const std::string& row : published.rows(table)) {
    const auto score = published.value(table, row, metric);
    if (!score) {
      ++source.left_out;
      continue;
    }
    TradeoffRow& point = source.rows.emplace_back();
    point.name = row;
    point.score = score->mean;
    if (const auto found = published.of_row(row, "parameters")) point.parameters = found->mean;
    if (const auto found = published.of_row(row, "macs_paper")) point.macs_paper = found->mean;
  }
  return source;
}

}  // namespace

TradeoffSource read_tradeoff(const TradeoffRequest& request) {
  if (std::filesystem::is_directory(request.path)) return of_sweep(request);
  const std::string file = request.path.string();
  const bool is_plan = schema::parse(io::read_text(request.path), file).find("rows") != nullptr;
  return is_plan ? of_plan(request) : of_paper(request);
}

}  // namespace fovea::experiment
