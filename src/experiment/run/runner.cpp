#include "experiment/run/runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "backend/backend.h"
#include "backend/devices.h"
#include "base/cores.h"
#include "base/error.h"
#include "base/file.h"
#include "base/holder.h"
#include "base/threads.h"
#include "base/version.h"
#include "data/files/pictures/image_file.h"
#include "experiment/costs/costs.h"
#include "experiment/inference/generation.h"
#include "experiment/run/summary.h"
#include "schema/describe/contents.h"
#include "schema/json/parse.h"
#include "schema/load.h"
#include "training/inference/sampler.h"
#include "training/store/checkpoint.h"
#include "training/store/model_file.h"
#include "training/store/weights_file.h"
#include "training/tasks/task_registry.h"

namespace fovea::experiment {
namespace {

// Training and evaluation on the first N training samples, in batches that hold them all if
// possible. There is nothing to select on.
schema::Value limited(schema::Value resolved, std::int64_t samples) {
  schema::set_path(resolved, "dataset.limit.train", samples);
  const schema::Value* batch = schema::find_path(resolved, "train.batch_size");
  if (batch->as_int() > samples) schema::set_path(resolved, "train.batch_size", samples);
  for (const auto& [key, value] :
       std::initializer_list<std::pair<const char*, schema::Value>>{{"select", "last"},
                                                                    {"select_on", nullptr},
                                                                    {"patience", 0},
                                                                    {"monitor", ""},
                                                                    {"monitor_mode", "auto"},
                                                                    {"min_delta", 0.0}}) {
    schema::set_path(resolved, std::string("train.") + key, value);
  }
  return resolve(resolved);
}

schema::Value with_more_epochs(schema::Value resolved, std::int64_t epochs) {
  const std::int64_t before = schema::find_path(resolved, "train.epochs")->as_int();
  schema::set_path(resolved, "train.epochs", before + epochs);
  return resolved;
}

// Keys of generators of images, which would change nothing elsewhere.
void check_images(const Experiment& e) {
  const training::TaskInfo& info = training::tasks().find(e.task).info;
  if (info.network == models::Interface::kDenoiser) return;
  const training::EvalOptions standard;
  FOVEA_CHECK(training::sampler_options(e.eval.sampler) == training::SamplerOptions{}, ConfigError,
              fmt::format("eval.sampler: is of generation; the task is {}; expected \"{}\"", e.task,
                          standard.sampler.type));
  FOVEA_CHECK(e.eval.samples == standard.samples, ConfigError,
              fmt::format("eval.samples: is {}, and of generation; the task is {}; expected {}",
                          e.eval.samples, e.task, standard.samples));
}

// The outputs that the network's options say, unless they leave it to the data.
std::optional<std::int64_t> given_classes(const Experiment& e) {
  const schema::Value* classes = e.model.options.find("num_classes");
  if (classes == nullptr || classes->is_null()) return std::nullopt;
  return classes->as_int();
}

}  // namespace

Run::Run(const schema::Value& resolved, const RunOptions& options)
    : resolved_(with_more_epochs(
          options.overfit > 0 ? limited(resolved, options.overfit) : resolved, options.extend)),
      options_(options),
      experiment_(parse(resolved_)) {
  const auto& train = experiment_.train;
  const int threads = options.threads > 0 ? options.threads : static_cast<int>(train.threads);
  device_ = options.device.defined() ? options.device
                                     : make_device(train.device, train.device_settings(threads));
  host_ = device_.is_host() ? device_ : make_cpu(threads);
  const int wanted = std::min(threads > 0 ? threads : usable_cores(), kMostThreads);
  if (const int have = host_threads(host_); have < wanted)
    add_notes({fmt::format("threads: {} of {} could be started; the system gives no more", have,
                           wanted)});
  training::BatchOptions batches;
  batches.train = train;
  batches.seed = static_cast<std::uint64_t>(experiment_.seed);
  batches.host = host_;
  if (options.ranks != nullptr)
    batches.share = {train.grad_accum_steps, options.ranks->size(), options.ranks->rank()};
  batches.overfit = options.overfit > 0;
  batches.beside = options.weight_files;
  const auto open = [&] { return open_data(batches); };
  const OpenedData opened = options.data != nullptr ? options.data->get(experiment_, open) : open();
  const auto source = opened.source;
  shape_ = opened.shape;
  build_model();
  task_ = training::tasks()
              .find(experiment_.task)
              .make(*model_, source, experiment_.loss.value_or(schema::Component{}));
  task_->set_inferer(training::make_inferer(experiment_.eval.inferer));
  task_->set_decoding(experiment_.eval.decoding);
  check_images(experiment_);
  task_->add_metrics(experiment_.eval);
}

OpenedData Run::open_data(training::BatchOptions options) const {
  data::MakeOptions how{.parts = options_.parts,
                        .only = options_.only,
                        .weights = options_.weight_files,
                        .num_classes = given_classes(experiment_)};
  if (how.parts == data::OpenParts::kNone && !data::known_without_files(experiment_.dataset, how))
    how.parts = data::OpenParts::kReported;
  if (training::needs_transcripts(experiment_.eval.decoding, options_.weight_files.get())) {
    how.parts = data::OpenParts::kAll;
    how.only = {};
  }
  if (options.overfit) how.only = data::Split::kTrain;
  data::Splits splits = data::make_splits(experiment_.dataset, how);
  const models::DataShape shape = shape_of(splits.any());
  const schema::Value* rows = experiment_.model.options.find("vocab_size");
  FOVEA_CHECK(rows == nullptr || rows->is_null() || rows->as_int() >= shape.vocab_size, ConfigError,
              fmt::format("model.vocab_size: {}, but the vocabulary has {} words; expected at "
                          "least as many, or null",
                          rows->as_int(), shape.vocab_size));
  return {std::make_shared<training::BatchSource>(std::move(splits), std::move(options)), shape};
}

void Run::build_model() {
  model_ = make_model(experiment_, device_, shape_);
  const bool goes_on = options_.resume && training::CheckpointStore(options_.folder).find_last();
  if (!options_.all_weights_given && !goes_on) {
    schema::check_contents(experiment_fields(), resolved_);
    add_notes(model_->load_pretrained(host_));
  }
  if (!options_.init) return;
  training::ForeignWeights from = *options_.init;
  from.file = training::weights_file(from.file);
  init_ = training::load_foreign(*model_, from, host_);
}

void Run::check_files(const training::Checkpoint& checkpoint, const std::filesystem::path& folder) {
  for (std::string& note : task_->source().check_files(checkpoint.files, folder.string()))
    notes_.push_back(std::move(note));
}

training::TrainerSetup Run::setup() const {
  training::TrainerSetup setup;
  setup.train = experiment_.train;
  setup.optimizer = experiment_.optimizer;
  setup.schedule = experiment_.schedule;
  setup.seed = static_cast<std::uint64_t>(experiment_.seed);
  setup.run_folder = options_.folder;
  setup.config = resolved_;
  setup.identity = [counted = counted_in(experiment_kind(), resolved_)](const auto& stored) {
    return identity(experiment_kind(), stored, counted);
  };
  setup.host = host_;
  setup.resume = options_.resume;
  setup.extend = options_.extend;
  for (const std::string& note : notes_) setup.notes.push_back("note: " + note);
  for (const std::string& note : task_->source().notes()) setup.notes.push_back("note: " + note);
  for (const std::string& note : missing_libraries(device_.type()))
    setup.notes.push_back("note: " + note);
  setup.ranks = options_.ranks;
  setup.progress = options_.progress;
  setup.stop = options_.stop;
  return setup;
}

void Run::prepare_evaluation() {
  if (!std::exchange(asks_, true)) task_->set_questions(experiment_.eval.questions);
}

schema::Value Run::train() {
  prepare_evaluation();
  task_->check_inferer();  // else the first evaluation would fail, an epoch later
  training::TrainerSetup with_facts = setup();
  const Summary summary = count_costs(experiment_, shape_);
  with_facts.about = schema::Value::object({{"name", experiment_.name},
                                            {"macs", summary.macs},
                                            {"version", version()},
                                            {"commit", commit()},
                                            {"compiler", compiler()},
                                            {"backend", device_.backend().description()},
                                            {"jpeg_decoder", data::jpeg_decoder()},
                                            {"host", host_name()}});
  if (summary.macs_paper) with_facts.about.set("macs_paper", *summary.macs_paper);
  if (const std::string size = cost_size_text(experiment_); !size.empty())
    with_facts.about.set("macs_size", size);
  if (const auto notes = task_->source().notes(); !notes.empty()) {
    with_facts.about.set("data_notes", schema::Value::array(notes));
  }
  if (shape_.vocab_size > 0) with_facts.about.set("vocab_size", shape_.vocab_size);
  if (experiment_.files.size() > 0) with_facts.about.set("files", experiment_.files);
  if (const auto init = described_init()) {
    with_facts.about.set("init", *init);
    with_facts.files[kInitFile] = init->dump() + "\n";
  }
  if (options_.ranks == nullptr || options_.ranks->first())
    with_facts.evaluated = [this](std::int64_t epoch) {
      const auto picture =
          epoch_samples(*this, fmt::format("{}, epoch {}", experiment_.name, epoch));
      if (!picture) return;
      io::make_directories(options_.folder / "samples");
      visualise::write_png(options_.folder / "samples" / fmt::format("epoch-{:04}.png", epoch),
                           *picture);
    };
  return training::Trainer(*task_, std::move(with_facts)).run();
}

// A resumed run began with what its folder says.
std::optional<schema::Value> Run::described_init() const {
  const auto file = options_.folder / kInitFile;
  if (options_.resume) {
    if (!std::filesystem::exists(file)) return std::nullopt;
    FOVEA_CHECK(init_ || training::CheckpointStore(options_.folder).find_last(), FileError,
                fmt::format("{}: the run began with weights of a file and has no checkpoint yet; "
                            "give them again with --init",
                            file.string()));
    const schema::Value before = schema::parse(io::read_text(file), file.string());
    const schema::Value* hash = before.find("hash");  // older programs noted none
    FOVEA_CHECK(
        !init_ || hash == nullptr || *hash == training::to_value(*options_.init, *init_).at("hash"),
        FileError,
        fmt::format("{}: the run began with weights of another content than {} has; give "
                    "those again with --init",
                    file.string(), options_.init->file.string()));
    return before;
  }
  if (!init_) return std::nullopt;
  return training::to_value(*options_.init, *init_);
}

void Run::check() {
  prepare_evaluation();
  const training::Trainer trainer(*task_, setup());
  task_->check_inferer();
}

std::string Run::rates_text() { return training::Trainer(*task_, setup()).rates_text(); }

training::DryRun Run::dry_run() {
  prepare_evaluation();
  task_->check_inferer();
  return training::Trainer(*task_, setup()).dry_run();
}

schema::Value load_config(const std::filesystem::path& run_folder) {
  if (training::is_model_file(run_folder))
    return brought_up_to_date(experiment_kind(),
                              training::read_model_file(run_folder, make_cpu(1)).config);
  const auto path = run_folder / "config.json";
  FOVEA_CHECK(
      std::filesystem::exists(path), FileError,
      fmt::format("{}: not found; expected the folder of a run made by train", path.string()));
  schema::Value stored;
  try {
    stored = schema::load(path);
  } catch (const ConfigError& error) {
    throw FileError(
        fmt::format("{}; the file is damaged: bring it back from a copy, or remove it "
                    "and run fovea train EXPERIMENT --resume --out {}, which writes it "
                    "again",
                    error.what(), run_folder.string()));
  }
  return brought_up_to_date(experiment_kind(), stored);
}

schema::Value resolved_of_run(const schema::Value& config,
                              const std::vector<std::string>& overrides, schema::Notes& notes) {
  schema::Value changed = config;
  for (const std::string& assignment : overrides)
    override_setting(experiment_kind(), changed, assignment, notes);
  return resolve(changed, notes);
}

}  // namespace fovea::experiment
