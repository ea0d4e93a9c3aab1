#include "explain/interventions/run_heads.h"

#include "explain/naming.h"
#include "visualise/figures/figure.h"

namespace fovea::explain {
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
