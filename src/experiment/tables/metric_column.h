// A number of a run by what it was measured on, and its name in tables.
#pragma once

#include <compare>
#include <string>
#include <vector>

#include "metrics/metric_info.h"

namespace fovea::experiment {

struct MetricKey {
  std::string split;   // "test"
  std::string metric;  // "top1"
  auto operator<=>(const MetricKey&) const = default;
};

/// What ablation files and tables call it: "test_top1".
std::string column_name(const MetricKey& key);

/// A metric of one split as a column of a table.
struct Column {
  std::string name;
  MetricKey key;
  metrics::MetricInfo info;
};

/// The column of that name or older name ("test_dsc"), also one of a single class that a known one
/// stands for. A number that no task of this program measures is a column as it is.
Column column_called(const std::string& name, const std::vector<Column>& known);

/// Every column that runs with these metrics may have.
std::vector<Column> columns_of(const std::vector<metrics::MetricInfo>& metrics);

}  // namespace fovea::experiment
