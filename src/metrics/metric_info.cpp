#include "metrics/metric_info.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace fovea::metrics {

// A 32-bit FNV-1a hash tells which values are defined.
Coverage coverage_of(const std::vector<std::vector<double>>& values) {
  Coverage coverage;
  std::uint32_t hash = 2166136261u;
  for (const std::vector<double>& row : values) {
    for (const double value : row) {
      const bool there = !std::isnan(value);
      coverage.defined += there ? 1 : 0;
      ++coverage.compared;
      hash = (hash ^ (there ? 1u : 0u)) * 16777619u;
    }
  }
  if (!coverage.complete()) coverage.set = fmt::format("{:08x}", hash);
  return coverage;
}

std::vector<MetricInfo> infos_of(const std::vector<Measurement>& measured) {
  std::vector<MetricInfo> infos;
  for (const Measurement& metric : measured) infos.push_back(metric.info);
  return infos;
}

bool is_of_classes(const MetricInfo& info) { return info.name.find('*') != std::string::npos; }

MetricInfo of_class(MetricInfo info, const std::string& word) {
  const auto put = [&](std::string& name) {
    if (const std::size_t place = name.find('*'); place != std::string::npos)
      name.replace(place, 1, word);
  };
  put(info.name);
  for (std::string& alias : info.aliases) put(alias);
  return info;
}

namespace {

// How many letters of `name` match the metric: all, or those before the *; 0 where it is another
// metric.
std::size_t letters_in_common(const std::string& metric, const std::string& name) {
  if (metric == name) return std::string::npos;
  const std::size_t place = metric.find('*');
  if (place == std::string::npos || name.size() <= place) return 0;
  return name.starts_with(metric.substr(0, place)) ? place : 0;
}

struct FoundMetric {
  const MetricInfo* info = nullptr;
  std::size_t letters = 0;
};

FoundMetric find_closest(const std::vector<MetricInfo>& metrics, const std::string& name) {
  FoundMetric found;
  const auto look = [&](const MetricInfo& info, const std::string& own) {
    const std::size_t letters = letters_in_common(own, name);
    if (letters > found.letters) found = {&info, letters};
  };
  // A current name wins over an older name that matches as many letters.
  for (const MetricInfo& info : metrics) look(info, info.name);
  for (const MetricInfo& info : metrics) {
    for (const std::string& alias : info.aliases) look(info, alias);
  }
  return found;
}

}  // namespace

const MetricInfo* find_metric(const std::vector<MetricInfo>& metrics, const std::string& name) {
  return find_closest(metrics, name).info;
}

std::optional<MetricInfo> named_metric(const std::vector<MetricInfo>& metrics,
                                       const std::string& name) {
  const FoundMetric found = find_closest(metrics, name);
  if (found.info == nullptr) return {};
  return found.letters == std::string::npos ? *found.info
                                            : of_class(*found.info, name.substr(found.letters));
}

std::string current_name(const std::vector<MetricInfo>& metrics, const std::string& name) {
  const std::optional<MetricInfo> found = named_metric(metrics, name);
  return found ? found->name : name;
}

double value_of(const std::vector<Measurement>& measured, const std::string& name) {
  for (const Measurement& metric : measured) {
    if (metric.info.name == name) return metric.value;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

double retention(const MetricInfo& info, double noisy, double clean) {
  return info.larger_is_better ? noisy / clean : clean / noisy;
}

std::string coverage_text(const Coverage& coverage) {
  return coverage.complete() ? std::string()
                             : fmt::format(" ({}/{})", coverage.defined, coverage.compared);
}

std::string value_text(const MetricInfo& info, double value) {
  if (std::isnan(value)) return "-";
  return fmt::format("{:.{}f}{}{}", value, info.decimals, info.unit.empty() ? "" : " ", info.unit);
}

std::string title_of(const MetricInfo& info) {
  return info.unit.empty() ? info.name : fmt::format("{} ({})", info.name, info.unit);
}

}  // namespace fovea::metrics
