#include "experiment/metric_column.h"

#include "data/split.h"

namespace fovea::experiment {

std::string column_name(const MetricKey& key) { return key.split + "_" + key.metric; }

std::vector<Column> columns_of(const std::vector<metrics::MetricInfo>& metrics) {
  std::vector<Column> columns;
  for (const data::Split split : {data::Split::kTest, data::Split::kVal, data::Split::kTrain}) {
    for (const metrics::MetricInfo& info : metrics) {
      const MetricKey key{std::string(data::name_of(split)), info.name};
      columns.push_back({column_name(key), key, info});
    }
  }
  return columns;
}

}  // namespace fovea::experiment
