// Where the points of a plot of score against cost come from: a sweep, a paper's tables, or an
// ablation file with the published scores of its rows.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "experiment/costs/throughput.h"
#include "visualise/plots/tradeoff.h"

namespace fovea::experiment {

struct TradeoffRequest {
  std::filesystem::path path;  // of a sweep's folder, of a file of published numbers, or of one
                               // for ablate
  std::string table;           // of such a file; empty: its first
  std::string metric;          // a column; empty: the sweep's first, or a table's only one
  /// Time the network of every row of a sweep or an ablation file. A published table has no
  /// networks.
  std::optional<ThroughputSettings> throughput = {};
};

/// Rows of results.json (mean over seeds, parameters, multiply-adds), or of a published table, with
/// "parameters" and "macs_paper" of the same rows, wherever the file has these; or the rows of an
/// ablation file that have a published number for the metric. Throws FileError, and ConfigError for
/// columns and tables that are not there.
visualise::TradeoffSource read_tradeoff(const TradeoffRequest& request);

}  // namespace fovea::experiment
