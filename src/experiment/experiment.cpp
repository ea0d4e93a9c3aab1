#include "experiment/experiment.h"

#include <fmt/format.h>

#include "base/error.h"
#include "data/registry.h"
#include "optim/registry.h"
#include "schema/load.h"
#include "training/loss.h"

namespace fovea::experiment {

using schema::at_least;
using schema::one_of;

const schema::Fields<Experiment>& experiment_fields() {
  static const auto fields = [] {
    using E = Experiment;
    return schema::Fields<E>{}
        .add("name", &E::name, "name of the run in tables and plots; empty = the file's name")
        .add_any("paper", &E::paper,
                 "what it reproduces, e.g. {\"key\": \"dgsa\", \"table\": \"1\"}")
        .add("task", &E::task, one_of({"image_classification", "segmentation"}),
             "one label, or one mask, for each image")
        .add("seed", &E::seed, at_least(0), "of initial weights, data order, augmentation, dropout")
        .add_component("dataset", &E::dataset, data::dataset_choices(),
                       "data, augmentation and noise")
        .add_component("model", &E::model, models::choices(), "network")
        .add_component("loss", &E::loss, training::loss_choices(), "what is minimised")
        .add_component("optimizer", &E::optimizer, optim::optimiser_choices(), "update rule")
        .add_component("schedule", &E::schedule, optim::schedule_choices(),
                       "learning rate over time")
        .add_object("train", &E::train, training::train_fields(),
                    "length, batches, evaluation, device");
  }();
  return fields;
}

schema::Value load_unresolved(const std::filesystem::path& path,
                              const std::vector<std::string>& overrides) {
  schema::Value root = schema::load(path);
  for (const std::string& assignment : overrides) schema::apply_override(root, assignment);
  const schema::Value* name = root.find("name");
  if (name == nullptr) root.set("name", path.stem().string());
  return root;
}

schema::Value resolve(const schema::Value& unresolved) {
  return experiment_fields().resolve(unresolved);
}

Experiment parse(const schema::Value& resolved) {
  return experiment_fields().from_resolved(resolved);
}

models::DataShape data_shape(const Experiment& experiment) {
  const schema::Value& options = experiment.model.options;
  const auto given = [&](const char* key) {
    const schema::Value* value = options.find(key);
    return value != nullptr && !value->is_null();
  };
  models::DataShape shape;
  if (given("num_classes") && given("in_chans") && given("img_size")) return shape;
  const auto dataset = data::make_dataset(experiment.dataset, data::Split::kTrain);
  return {dataset->channels(), dataset->height(), dataset->width(), dataset->num_classes()};
}

std::unique_ptr<models::Model> make_model(const Experiment& experiment, const Device& device,
                                          const models::DataShape& shape) {
  const RandomStream random =
      RandomStream(static_cast<std::uint64_t>(experiment.seed)).fork("init");
  return models::make(experiment.model,
                      {.device = device,
                       .random = random,
                       .activations = dtype_from_name(experiment.train.precision)},
                      shape);
}

Shape sample_shape(const Experiment& experiment, const models::DataShape& shape) {
  const schema::Value& options = experiment.model.options;
  const auto of = [&](const char* key, std::size_t index, std::int64_t otherwise) {
    const schema::Value* value = options.find(key);
    if (value == nullptr || value->is_null()) return otherwise;
    return value->is_array() ? value->at(index).as_int() : value->as_int();
  };
  return {of("in_chans", 0, shape.channels), of("img_size", 0, shape.height),
          of("img_size", 1, shape.width)};
}

}  // namespace fovea::experiment
