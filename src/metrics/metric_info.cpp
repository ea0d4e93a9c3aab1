#include "metrics/metric_info.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace fovea::metrics {

std::vector<MetricInfo> infos_of(const std::vector<Measurement>& measured) {
  std::vector<MetricInfo> infos;
  for (const Measurement& metric : measured) infos.push_back(metric.info);
  return infos;
}

bool is_of_classes(const MetricInfo& info) { return info.name.find('*') != std::string::npos; }

bool stands_for(const MetricInfo& info, const std::string& name) {
  return is_of_classes(info) && name.starts_with(info.name.substr(0, info.name.find('*')));
}

const MetricInfo* find_metric(const std::vector<MetricInfo>& metrics, const std::string& name) {
  auto found = std::find_if(metrics.begin(), metrics.end(),
                            [&](const MetricInfo& info) { return info.name == name; });
  if (found == metrics.end()) {
    found = std::find_if(metrics.begin(), metrics.end(),
                         [&](const MetricInfo& info) { return stands_for(info, name); });
  }
  return found == metrics.end() ? nullptr : &*found;
}

double value_of(const std::vector<Measurement>& measured, const std::string& name) {
  for (const Measurement& metric : measured) {
    if (metric.info.name == name) return metric.value;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

std::string value_text(const MetricInfo& info, double value) {
  if (std::isnan(value)) return "-";
  return fmt::format("{:.{}f}{}{}", value, info.decimals, info.unit.empty() ? "" : " ", info.unit);
}

std::string title_of(const MetricInfo& info) {
  return info.unit.empty() ? info.name : fmt::format("{} ({})", info.name, info.unit);
}

}  // namespace fovea::metrics
