#include "visualise/layouts/shown_samples.h"

#include <algorithm>
#include <map>

namespace fovea::visualise {

ShownSamples one_of_each_class(std::span<const std::int64_t> labels, std::int64_t most) {
  std::map<std::int64_t, std::int64_t> first;  // by class
  for (std::size_t i = 0; i < labels.size(); ++i)
    first.emplace(labels[i], static_cast<std::int64_t>(i));
  std::vector<std::int64_t> all;
  for (const auto& [label, sample] : first) all.push_back(sample);
  ShownSamples shown;
  shown.classes = std::ssize(all);
  const std::int64_t count = std::min(most, shown.classes);
  for (std::int64_t k = 0; k < count; ++k)
    shown.samples.push_back(all[static_cast<std::size_t>(k * shown.classes / count)]);
  return shown;
}

}  // namespace fovea::visualise
