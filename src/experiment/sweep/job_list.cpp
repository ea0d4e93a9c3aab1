#include "experiment/sweep/job_list.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <set>

#include "experiment/sweep/sweep_folder.h"
#include "training/progress.h"

namespace fovea::experiment {
namespace {

using schema::Value;

std::string utc(std::int64_t seconds) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(static_cast<std::time_t>(seconds)));
}

std::string details_of(const JobStatus& status, std::int64_t now) {
  if (status.state == JobState::kRunning && status.held) {
    // The clocks of two machines may differ.
    const auto age = static_cast<double>(std::max<std::int64_t>(0, now - status.held->last_sign));
    return fmt::format("{}, since {}, sign of life {} ago", described(*status.held),
                       status.held->holder.since, training::duration_text(age));
  }
  if (status.held && status.held->gone)
    return fmt::format("left by {}, which is gone", described(status.held->holder));
  return status.message;
}

}  // namespace

std::string described(const io::ClaimSight& sight) {
  const std::string holder = described(sight.holder);
  const bool child = sight.lock == KernelLock::kHeld && has_ended(sight.holder);
  return child ? fmt::format("a child of {}, which has ended", holder) : holder;
}

std::string job_list_text(const std::vector<const Job*>& jobs,
                          const std::vector<JobStatus>& statuses, std::int64_t now) {
  std::size_t width = 0;
  for (const Job* job : jobs) width = std::max(width, job->id.size());
  std::string text;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const std::string details = details_of(statuses[i], now);
    text += fmt::format("{:<{}}  ", jobs[i]->id, width);
    text += details.empty() ? name_of(statuses[i].state)
                            : fmt::format("{:<8}  {}", name_of(statuses[i].state), details);
    text += "\n";
  }
  return text;
}

Value job_list_value(const std::vector<const Job*>& jobs, const std::vector<JobStatus>& statuses) {
  Value list = Value::array();
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const JobStatus& status = statuses[i];
    Value entry = Value::object({{"id", jobs[i]->id}, {"seed", jobs[i]->seed}});
    if (jobs[i]->fold) entry.set("fold", *jobs[i]->fold);
    entry.set("state", std::string(name_of(status.state)));
    entry.set("message", status.message);
    entry.set("holder", nullptr);
    if (status.held) {
      const Holder& holder = status.held->holder;
      Value held = Value::object({{"host", holder.host}, {"process", holder.process}});
      held.set("slurm", holder.slurm.empty() ? Value(nullptr) : Value(holder.slurm));
      held.set("since", holder.since);
      held.set("last_sign", utc(status.held->last_sign));
      held.set("gone", status.held->gone);
      entry.set("holder", held);
    }
    list.push_back(entry);
  }
  return list;
}

std::vector<std::string> check_claims(const Ablation& ablation,
                                      const std::filesystem::path& sweep) {
  std::set<std::filesystem::path> known;
  for (const Job& job : ablation.jobs) known.insert(paths_of(sweep, job).claim);
  std::vector<std::string> lines;
  io::ClaimWatch watch;
  for (const std::filesystem::path& claim : claims_in(sweep)) {
    const auto sight = watch.look(claim);
    if (!sight) {
      for (const auto& file : io::litter_of_claim(claim))
        lines.push_back(
            fmt::format("{}: was left by a process that is gone; the next ablate "
                        "removes it",
                        file.string()));
    } else if (sight->gone) {
      lines.push_back(fmt::format("{}: was left by {}, which is gone; the next ablate removes it",
                                  claim.string(), described(sight->holder)));
    } else if (!known.contains(claim)) {
      lines.push_back(fmt::format("{}: of no job of this ablation; {} runs it", claim.string(),
                                  described(*sight)));
    }
  }
  return lines;
}

}  // namespace fovea::experiment
