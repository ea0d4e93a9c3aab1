#include "experiment/runner.h"

#include <fmt/format.h>
#include <unistd.h>

#include "backend/backend.h"
#include "backend/devices.h"
#include "base/error.h"
#include "base/version.h"
#include "data/registry.h"
#include "experiment/summary.h"
#include "schema/load.h"
#include "training/weights.h"

namespace fovea::experiment {
namespace {

// Training and evaluation on the first N training samples, in batches that hold them all if
// possible.
schema::Value limited(schema::Value resolved, std::int64_t samples) {
  schema::set_path(resolved, "dataset.limit.train", samples);
  const schema::Value* batch = schema::find_path(resolved, "train.batch_size");
  if (batch->as_int() > samples) schema::set_path(resolved, "train.batch_size", samples);
  return resolve(resolved);
}

template <class Kind>
Kind& task_as(training::DataTask& task, const std::string& name) {
  auto* found = dynamic_cast<Kind*>(&task);
  FOVEA_CHECK(found != nullptr, ConfigError, fmt::format("task: {} cannot do this", name));
  return *found;
}

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

}  // namespace

Run::Run(const schema::Value& resolved, const RunOptions& options)
    : resolved_(options.overfit > 0 ? limited(resolved, options.overfit) : resolved),
      options_(options),
      experiment_(parse(resolved_)) {
  const auto& train = experiment_.train;
  const int threads = options.threads > 0 ? options.threads : static_cast<int>(train.threads);
  device_ = make_device(train.device, threads);
  host_ = device_.is_host() ? device_ : make_cpu(threads);
  training::DataTaskSetup setup;
  setup.train = data::make_dataset(experiment_.dataset, data::Split::kTrain);
  if (data::has_val(experiment_.dataset)) {
    setup.val = data::make_dataset(experiment_.dataset, data::Split::kVal);
  }
  if (options.overfit == 0)
    setup.test = data::make_dataset(experiment_.dataset, data::Split::kTest);
  shape_ = {setup.train->channels(), setup.train->height(), setup.train->width(),
            setup.train->num_classes()};
  model_ = make_model(experiment_, device_, shape_);
  if (!options.init.empty()) {
    training::load_weights(*model_, read_safetensors(options.init, host_).tensors,
                           options.init.string(), {options.init_ignore});
  }
  setup.loss = experiment_.loss;
  setup.options = train;
  setup.seed = static_cast<std::uint64_t>(experiment_.seed);
  setup.host = host_;
  setup.overfit = options.overfit > 0;
  if (experiment_.task == "segmentation") {
    task_ = std::make_unique<training::Segmentation>(*model_, setup);
  } else {
    task_ = std::make_unique<training::ImageClassification>(*model_, setup);
  }
}

training::ImageClassification& Run::image_classification() {
  return task_as<training::ImageClassification>(*task_, experiment_.task);
}

training::Segmentation& Run::segmentation() {
  return task_as<training::Segmentation>(*task_, experiment_.task);
}

training::TrainerSetup Run::setup() const {
  training::TrainerSetup setup;
  setup.train = experiment_.train;
  setup.optimizer = experiment_.optimizer;
  setup.schedule = experiment_.schedule;
  setup.seed = static_cast<std::uint64_t>(experiment_.seed);
  setup.run_folder = options_.folder;
  setup.config = resolved_;
  setup.host = host_;
  setup.resume = options_.resume;
  setup.progress = options_.progress;
  setup.stop = options_.stop;
  return setup;
}

schema::Value Run::train() {
  training::TrainerSetup with_facts = setup();
  const Summary summary =
      summarise([&](const Device& device) { return make_model(experiment_, device, shape_); },
                sample_shape(experiment_, shape_), 1, 0);
  with_facts.about = schema::Value::object({{"name", experiment_.name},
                                            {"macs", summary.macs},
                                            {"version", version()},
                                            {"commit", commit()},
                                            {"compiler", compiler()},
                                            {"backend", device_.backend().description()},
                                            {"host", host_name()}});
  return training::Trainer(*task_, std::move(with_facts)).run();
}

training::DryRun Run::dry_run() { return training::Trainer(*task_, setup()).dry_run(); }

schema::Value load_config(const std::filesystem::path& run_folder) {
  const auto path = run_folder / "config.json";
  FOVEA_CHECK(
      std::filesystem::exists(path), FileError,
      fmt::format("{}: not found; expected the folder of a run made by train", path.string()));
  return resolve(schema::load(path));
}

void load_run_weights(const std::filesystem::path& run_folder, const std::string& which, bool ema,
                      models::Model& model, const Device& host) {
  const training::Checkpoint checkpoint = training::CheckpointStore(run_folder).load(which, host);
  const std::string file =
      (run_folder / "checkpoints" / which / (ema ? "ema.safetensors" : "model.safetensors"))
          .string();
  FOVEA_CHECK(
      !ema || !checkpoint.ema.empty(), FileError,
      fmt::format("{}: not found; the run kept no averaged weights (train.ema_decay)", file));
  training::load_weights(model, ema ? checkpoint.ema : checkpoint.model, file);
}

}  // namespace fovea::experiment
