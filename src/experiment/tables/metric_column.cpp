#include "experiment/tables/metric_column.h"

#include "data/parts/split.h"

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

Column column_called(const std::string& name, const std::vector<Column>& known) {
  const std::size_t cut = name.find('_');
  const std::string split = name.substr(0, cut);
  if (cut != std::string::npos) {
    std::vector<metrics::MetricInfo> metrics;
    for (const Column& column : known) {
      if (column.key.split == split) metrics.push_back(column.info);
    }
    if (const auto found = metrics::named_metric(metrics, name.substr(cut + 1))) {
      const MetricKey key{split, found->name};
      return {column_name(key), key, *found};
    }
  }
  return {name, {"", name}, {.name = name}};
}

}  // namespace fovea::experiment
