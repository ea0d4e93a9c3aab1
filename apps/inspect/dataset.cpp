#include "inspect/dataset.h"

#include <fmt/format.h>

#include <optional>

#include "base/cores.h"
#include "common/app.h"
#include "data/registry.h"
#include "data/survey.h"
#include "experiment/costs/machine_memory.h"
#include "experiment/file/experiment.h"
#include "experiment/planning/proposal.h"

namespace fovea::apps {

Options add_dataset(Options cli, std::string& experiment, DatasetArguments& arguments) {
  Options dataset = cli.add_subcommand(
      "dataset",
      "reads every sample of an experiment's data set: counts, sizes, mean and std, labels, words, "
      "what cannot be read, and the content hash that runs record");
  dataset.add_option("EXPERIMENT", experiment, "experiment file").required().value("EXPERIMENT");
  const Option plan = dataset.add_flag(
      "--plan", arguments.plan,
      "proposes patch and batch size, depth, strides and kernels of a U-Net by nnU-Net's rules, as "
      "lines for the experiment file: for volumes, and images with masks");
  dataset
      .add_option(
          "--memory", arguments.memory_gib,
          "GiB of the device that nnU-Net's rules plan for (default: 8); less is taken where "
          "the estimate of a training step exceeds this machine's memory")
      .positive()
      .value("GIB")
      .needs(plan);
  return dataset;
}

int inspect_dataset(const schema::Value& resolved, const DatasetArguments& arguments, bool json) {
  const experiment::Experiment e = experiment::parse(resolved);
  const data::Splits splits = data::make_splits(e.dataset, {.survey = true});
  const int threads = e.train.threads > 0 ? static_cast<int>(e.train.threads) : usable_cores();
  data::SurveyProgress progress;
  if (stderr_is_terminal() && !json) {
    progress = [](std::int64_t done, std::int64_t total) {
      fmt::print(stderr, "\r{} of {} samples{}", done, total, done == total ? "\n" : "");
    };
  }
  const data::Survey found = data::survey(splits, threads, progress);
  std::optional<experiment::Proposal> proposal;
  if (arguments.plan) {
    experiment::ProposalRules rules;
    rules.unet.memory_gib = arguments.memory_gib;
    if (e.train.device == "cpu") rules.most_bytes = experiment::machine_memory();
    proposal = experiment::propose(resolved, found, experiment::shape_of(splits.any()), rules);
  }
  if (json) {
    schema::Value object = schema::Value::object({{"type", e.dataset.type}});
    const schema::Value details = data::to_json(found);
    for (const auto& member : details.members()) object.set(member.key, member.value);
    if (proposal) object.set("proposal", experiment::to_json(*proposal));
    fmt::print("{}\n", object.dump());
  } else {
    fmt::print("{}: {}, {}", e.dataset.type, data::name_of(data::kind_of(e.dataset)),
               data::to_text(found));
    if (proposal) fmt::print("\n{}", experiment::to_text(*proposal));
  }
  return 0;
}

}  // namespace fovea::apps
