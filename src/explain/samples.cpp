#include "explain/samples.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace fovea::explain {

using visualise::ShownRun;

std::vector<std::int64_t> common_samples(const std::vector<ShownRun>& runs, std::int64_t limit) {
  const data::Dataset& first = runs.front().samples;
  FOVEA_CHECK(first.size() > 0, ConfigError,
              fmt::format("{}: no samples; expected a split with some", runs.front().name));
  const std::int64_t count = std::min(first.size(), limit);
  std::vector<std::int64_t> samples;
  for (std::int64_t k = 0; k < count; ++k) samples.push_back(k * first.size() / count);
  for (const ShownRun& run : runs) {
    const bool same =
        run.samples.size() == first.size() && std::ranges::all_of(samples, [&](std::int64_t i) {
          return run.samples.source_index(i) == first.source_index(i);
        });
    FOVEA_CHECK(same, ConfigError,
                fmt::format("{}: its split has other samples than that of {}; expected the same, "
                            "so that they can be compared sample by sample",
                            run.name, runs.front().name));
  }
  return samples;
}

}  // namespace fovea::explain
