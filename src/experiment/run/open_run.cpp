#include "experiment/run/open_run.h"

#include <fmt/format.h>

#include "backend/devices.h"
#include "base/error.h"
#include "base/file.h"
#include "data/registry.h"
#include "data/texts/text_dataset.h"
#include "experiment/run/exported.h"
#include "schema/json/parse.h"
#include "schema/load.h"
#include "training/monitor.h"
#include "training/store/checkpoint.h"
#include "training/store/weights.h"
#include "training/tasks/task_registry.h"

namespace fovea::experiment {
namespace {

using schema::Value;

// "best" or "last": the weights that the final numbers of a summary are of.
std::string weights_of(const Value& summary, const Value& config) {
  if (const Value* said = summary.find("weights"); said != nullptr && said->is_string())
    return said->as_string();
  // Written before summaries said so: the best ones, where a validation part had chosen them.
  const Value* best = summary.find("best");
  const bool chosen = best != nullptr && best->is_object() &&
                      best->at("split").as_string() == "val" &&
                      summary.at("metrics").find("test") != nullptr;
  return chosen && config.at("train").at("select").as_string() != "last" ? "best" : "last";
}

void choose_checkpoint(const TrainedRun& from, const Value& config, WeightsUsed& weights) {
  weights.checkpoint = from.checkpoint;
  if (!weights.checkpoint.empty()) return;
  const auto summary = from.folder / "summary.json";
  if (io::fs::exists(summary)) {
    weights.checkpoint =
        weights_of(schema::parse(io::read_text(summary), summary.string()), config);
  } else {
    weights.checkpoint = "last";
    weights.note = "the run has no summary.json yet";
  }
}

// A network whose checkpoint an older program wrote, with all of its data.
std::unique_ptr<Run> open_described_by_data(const StoredRun& stored, RunOptions options) {
  const std::string missing = options.weight_files->path_of(data::kDescriptionFile);
  options.parts = data::OpenParts::kAll;
  options.only = {};
  try {
    auto run = std::make_unique<Run>(stored.config, options);
    run->add_notes({fmt::format(
        "{}: not found, an older program wrote the checkpoint; its data set was opened instead; "
        "fovea export makes a file of the run that needs it no more",
        missing)});
    return run;
  } catch (const FileError& error) {
    throw FileError(fmt::format(
        "{}; the data set is needed because an older program wrote the checkpoint, without {}: "
        "fovea export, where the data are, makes a file of the run that needs them no more",
        error.what(), data::kDescriptionFile));
  }
}

// What a run that took no step kept of its random start.
void describe_start(const std::filesystem::path& folder, WeightsUsed& weights) {
  const auto file = folder / kInitFile;
  if (!io::fs::exists(file)) return;
  const Value init = schema::parse(io::read_text(file), file.string());
  for (const Value& name : init.at("random").items()) weights.random.push_back(name.as_string());
  weights.random_text = training::random_text(init);
}

}  // namespace

std::string WeightsUsed::text() const {
  if (!file.empty()) return "weights " + file.string();
  return fmt::format("checkpoint {}, step {}{}{}", checkpoint, step,
                     averaged ? ", averaged weights" : "", note.empty() ? "" : "; " + note);
}

void WeightsUsed::describe(Value& record) const {
  if (file.empty()) {
    record.set("checkpoint", checkpoint);
    record.set("step", step);
    record.set("averaged", averaged);
    if (!note.empty()) record.set("note", note);
  } else {
    record.set("weights", file.string());
    record.set("unused", Value::array(unused));
  }
  record.set("random", Value::array(random));
}

WantedSamples WantedSamples::of(const std::string& split) {
  if (split.empty()) return {};
  return {data::OpenParts::kReported, data::split_from_name(split)};
}

std::optional<bool> averaged_for_images(const Value& config) {
  const auto network = training::tasks().find(config.at("task").as_string()).info.network;
  const bool keeps_averages = config.at("train").at("ema_decay").as_double() > 0;
  if (network != models::Interface::kDenoiser || !keeps_averages) return std::nullopt;
  return true;
}

StoredRun read_run(const TrainedRun& from) {
  if (training::is_model_file(from.folder)) return read_exported(from);
  StoredRun stored;
  schema::Notes notes;
  stored.config = resolved_of_run(load_config(from.folder), from.overrides, notes);
  stored.notes = notes.list();
  WeightsUsed& weights = stored.weights;
  choose_checkpoint(from, stored.config, weights);
  const training::CheckpointStore store(from.folder);
  stored.folder = store.folder_of(weights.checkpoint);
  stored.checkpoint = training::read_checkpoint(stored.folder, make_cpu(1));
  if (const auto chosen = from.folder / kPostprocessingFile; io::fs::exists(chosen))
    stored.checkpoint.files[kPostprocessingFile] = io::read_text(chosen);
  const training::Checkpoint& checkpoint = stored.checkpoint;
  weights.step = checkpoint.state.step;
  // The metric that chose the best weights; older programs wrote none.
  const auto& best = checkpoint.state.best;
  const std::string chosen_by = best && !best->metric.empty()
                                    ? best->metric
                                    : stored.config.at("train").at("monitor").as_string();
  const bool chosen_by_averages = training::is_of_averages(chosen_by) && !checkpoint.ema.empty();
  weights.averaged = from.averaged.value_or(chosen_by_averages);
  FOVEA_CHECK(!weights.averaged || !checkpoint.ema.empty(), FileError,
              fmt::format("{}: not found; the run kept no averaged weights (train.ema_decay)",
                          (stored.folder / "ema.safetensors").string()));
  stored.file =
      (stored.folder / (weights.averaged ? "ema.safetensors" : "model.safetensors")).string();
  if (weights.step == 0) describe_start(from.folder, weights);
  return stored;
}

Opened open_run(const TrainedRun& from) {
  const StoredRun stored = read_run(from);
  const training::Checkpoint& checkpoint = stored.checkpoint;
  Opened opened;
  opened.weights = stored.weights;
  opened.data = checkpoint.state.data;
  if (const auto chosen = checkpoint.files.find(kPostprocessingFile);
      chosen != checkpoint.files.end())
    opened.postprocessing = chosen->second;
  RunOptions options;
  options.threads = from.threads;
  options.all_weights_given = true;
  options.weight_files =
      std::make_shared<const data::WeightFiles>(data::WeightFiles{checkpoint.files, stored.folder});
  options.parts = from.samples.parts;
  options.only = from.samples.only;
  opened.run = options.weight_files->describe() ? std::make_unique<Run>(stored.config, options)
                                                : open_described_by_data(stored, options);
  opened.run->check_files(checkpoint, stored.folder);
  opened.run->add_notes(stored.notes);
  nn::load_weights(opened.run->model(), stored.tensors(), stored.file);
  return opened;
}

bool is_experiment_file(const std::filesystem::path& path) {
  return io::fs::is_regular_file(path) && !training::is_model_file(path);
}

Opened open_experiment(const ForeignRun& from) {
  RunOptions options;
  options.threads = from.threads;
  options.all_weights_given = true;
  options.init = from.weights;
  options.parts = from.samples.parts;
  options.only = from.samples.only;
  const auto words = from.weights.file.parent_path() / data::kVocabularyFile;
  schema::Notes notes;
  const Value config = resolve(load_unresolved(from.experiment, from.overrides, notes), notes);
  const bool reads_texts = data::kind_of(parse(config).dataset) == data::Kind::kTexts;
  data::WeightFiles beside{{}, words.parent_path()};
  if (reads_texts && io::fs::exists(words))
    beside.files[data::kVocabularyFile] = io::read_text(words);
  options.weight_files = std::make_shared<const data::WeightFiles>(std::move(beside));
  Opened opened;
  opened.run = std::make_unique<Run>(config, options);
  opened.run->add_notes(notes.list());
  const nn::LoadReport& report = *opened.run->init();
  opened.weights.file = from.weights.file;
  opened.weights.random = report.random;
  opened.weights.unused = report.unused;
  opened.weights.random_text = training::random_text(training::to_value(report));
  return opened;
}

}  // namespace fovea::experiment
