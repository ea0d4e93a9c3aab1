#include "explain/interventions/run_heads.h"

#include <fmt/format.h>

#include "base/error.h"
#include "visualise/figures/figure.h"

namespace fovea::explain {
namespace {

// What `make` returns; its errors begin with the name of the run.
template <class Make>
auto naming(const visualise::ShownRun& run, const Make& make) {
  try {
    return make();
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("{}: {}", run.name, error.what()));
  }
}

}  // namespace

std::vector<HeadSite> head_sites(const visualise::ShownRun& run) {
  return naming(run, [&] {
    return head_sites(run.model,
                      models::only_input(run.model.interface(), visualise::first_sample(run)));
  });
}

std::vector<std::unique_ptr<SetHeads>> set_heads(const std::vector<visualise::ShownRun>& runs,
                                                 const std::vector<HeadSetting>& settings) {
  std::vector<std::unique_ptr<SetHeads>> set;
  if (settings.empty()) return set;
  for (const visualise::ShownRun& run : runs) {
    const std::vector<HeadSite> sites = head_sites(run);
    set.push_back(naming(run, [&] { return std::make_unique<SetHeads>(sites, settings); }));
  }
  return set;
}

}  // namespace fovea::explain
