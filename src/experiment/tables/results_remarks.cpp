#include "experiment/tables/results_remarks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "data/parts/split.h"
#include "schema/compare.h"

namespace fovea::experiment {
namespace {

using schema::Value;

// Runs by what they have in common.
using Groups = std::map<std::string, std::vector<const Job*>>;

// "ViT, DGViT seed 1": rows whose runs are all in the group by their name alone.
std::string names_of(const Ablation& ablation, const std::vector<FinishedRun>& runs,
                     const std::vector<const Job*>& group) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < ablation.rows.size(); ++i) {
    std::vector<std::string> repeats;
    for (const Job* job : group) {
      if (job->row == i) repeats.push_back(std::to_string(job->repeat()));
    }
    const auto all = std::count_if(runs.begin(), runs.end(),
                                   [&](const FinishedRun& run) { return run.job->row == i; });
    if (repeats.empty()) continue;
    const bool whole = std::ssize(repeats) == all;
    names.push_back(whole ? ablation.rows[i].name
                          : fmt::format("{} {}{} {}", ablation.rows[i].name,
                                        ablation.folds > 0 ? "fold" : "seed",
                                        repeats.size() == 1 ? "" : "s", fmt::join(repeats, ", ")));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

// The folds that score a run also choose its weights, as far as any are chosen.
void remark_folds(const Ablation& ablation, const std::vector<FinishedRun>& runs,
                  std::vector<std::string>& remarks) {
  const bool chosen = std::any_of(runs.begin(), runs.end(), [](const FinishedRun& run) {
    return run.summary.selected_on == data::name_of(data::Split::kVal);
  });
  if (ablation.folds > 0 && chosen)
    remarks.emplace_back(
        "The weights of a run were chosen on the fold that it is scored on, which flatters val "
        "numbers; train.select=last chooses nothing.");
}

void remark_selection(const Ablation& ablation, const std::vector<FinishedRun>& runs,
                      std::vector<std::string>& remarks) {
  std::vector<const Job*> on_test;
  for (const FinishedRun& run : runs) {
    if (run.summary.selected_on == "test") on_test.push_back(run.job);
  }
  if (on_test.empty()) return;
  remarks.push_back(on_test.size() == runs.size()
                        ? std::string("Selected on test: the weights were chosen by the numbers "
                                      "shown.")
                        : fmt::format("Selected on test: the weights of {} were chosen by the "
                                      "numbers shown.",
                                      names_of(ablation, runs, on_test)));
}

std::string list_of(const Ablation& ablation, const std::vector<FinishedRun>& runs,
                    const Groups& groups) {
  std::vector<std::string> parts;
  for (const auto& [what, jobs] : groups)
    parts.push_back(
        fmt::format("{} ({})", what.empty() ? "unknown" : what, names_of(ablation, runs, jobs)));
  return fmt::format("{}", fmt::join(parts, "; "));
}

// Rows that mean different data by their settings may of course read different data.
void remark_data(const Ablation& ablation, const std::vector<FinishedRun>& runs,
                 std::vector<std::string>& remarks) {
  constexpr std::size_t kDigits = 8;
  std::map<std::string, Groups> by_setting;
  for (const FinishedRun& run : runs) {
    const Value identity =
        schema::identity(*ablation.kind.fields, run.job->config, run.job->counted);
    const Value* dataset = identity.find("dataset");
    const std::string setting = dataset == nullptr ? "" : schema::content_hash(*dataset);
    if (!run.summary.data.empty())
      by_setting[setting][run.summary.data.substr(0, kDigits)].push_back(run.job);
  }
  for (const auto& [setting, groups] : by_setting) {
    if (groups.size() > 1)
      remarks.push_back(
          fmt::format("The data changed between runs: {}.", list_of(ablation, runs, groups)));
  }
}

// Older programs chose the weights of masks by their loss.
void remark_choice(const Ablation& ablation, const std::vector<FinishedRun>& runs,
                   std::vector<std::string>& remarks) {
  const std::vector<Column> known = known_columns(ablation);
  Groups groups;
  for (const FinishedRun& run : runs) {
    const RunSummary& summary = run.summary;
    if (summary.selected_by.empty()) continue;
    const MetricKey key{summary.selected_on, summary.selected_by};
    groups[column_called(column_name(key), known).name].push_back(run.job);
  }
  if (groups.size() > 1)
    remarks.push_back(fmt::format("The weights were chosen by different metrics: {}.",
                                  list_of(ablation, runs, groups)));
}

void remark_programs(const Ablation& ablation, const std::vector<FinishedRun>& runs,
                     std::vector<std::string>& remarks) {
  Groups groups;
  for (const FinishedRun& run : runs) groups[run.summary.program].push_back(run.job);
  if (groups.size() > 1)
    remarks.push_back(
        fmt::format("Made by different programs: {}.", list_of(ablation, runs, groups)));
}

void remark_sizes(const Ablation& ablation, const std::vector<FinishedRun>& runs,
                  std::vector<std::string>& remarks) {
  Groups groups;
  for (const FinishedRun& run : runs)
    groups[run.summary.macs_size.empty() ? "the size of the data" : run.summary.macs_size]
        .push_back(run.job);
  if (groups.size() > 1) {
    remarks.push_back(
        fmt::format("MACs are counted at different sizes: {}.", list_of(ablation, runs, groups)));
  } else if (!runs.empty() && !runs.front().summary.macs_size.empty()) {
    remarks.push_back(fmt::format("MACs are counted at {}, not at the size of the data.",
                                  runs.front().summary.macs_size));
  }
}

}  // namespace

std::vector<std::string> remarks_on(const Ablation& ablation,
                                    const std::vector<FinishedRun>& runs) {
  std::vector<std::string> remarks = ablation.differs;
  remark_selection(ablation, runs, remarks);
  remark_folds(ablation, runs, remarks);
  remark_choice(ablation, runs, remarks);
  remark_data(ablation, runs, remarks);
  remark_programs(ablation, runs, remarks);
  remark_sizes(ablation, runs, remarks);
  return remarks;
}

}  // namespace fovea::experiment
