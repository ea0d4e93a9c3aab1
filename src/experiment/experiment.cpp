#include "experiment/experiment.h"

#include <fmt/format.h>

#include "backend/devices.h"
#include "base/error.h"
#include "data/registry.h"
#include "ops/create.h"
#include "optim/registry.h"
#include "schema/carry.h"
#include "schema/renamed.h"
#include "training/loss.h"

namespace fovea::experiment {

using schema::at_least;
using schema::one_of;

const schema::Fields<Experiment>& experiment_fields() {
  static const auto fields = [] {
    using E = Experiment;
    return schema::Fields<E>{}
        .add("name", &E::name, "name of the run in tables and plots; empty = the file's name")
        .no_effect()
        .add_any("paper", &E::paper,
                 "what it reproduces, e.g. {\"key\": \"dgsa\", \"table\": \"1\"}")
        .no_effect()
        .add("task", &E::task,
             one_of({"image_classification", "text_classification", "segmentation"}),
             "one label for each image or text, or one mask for each image")
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

namespace {

const char* name_of(models::Input input) {
  return input == models::Input::kTexts ? "texts" : "images";
}
const char* name_of(models::Output output) {
  return output == models::Output::kMasks ? "masks" : "classes";
}

bool reads_texts(const Experiment& e) {
  return models::find_entry(e.model.type).input == models::Input::kTexts;
}

// What a task needs of its data set and of its network.
struct Needs {
  data::Kind data;
  models::Input input;
  models::Output output;
};

Needs needs_of(const std::string& task) {
  using data::Kind;
  using models::Input;
  using models::Output;
  if (task == "text_classification") return {Kind::kTexts, Input::kTexts, Output::kClasses};
  if (task == "segmentation") return {Kind::kMaskedImages, Input::kImages, Output::kMasks};
  return {Kind::kImages, Input::kImages, Output::kClasses};
}

void check_kinds(const Experiment& e) {
  const Needs needs = needs_of(e.task);
  const data::Kind kind = data::kind_of(e.dataset);
  FOVEA_CHECK(kind == needs.data, ConfigError,
              fmt::format("task: {} needs a data set of {}; dataset.type {} holds {}", e.task,
                          data::name_of(needs.data), e.dataset.type, data::name_of(kind)));
  const models::Entry& model = models::find_entry(e.model.type);
  FOVEA_CHECK(model.input == needs.input, ConfigError,
              fmt::format("task: {} needs a network for {}; model.type {} reads {}", e.task,
                          name_of(needs.input), e.model.type, name_of(model.input)));
  FOVEA_CHECK(model.output == needs.output, ConfigError,
              fmt::format("task: {} needs a network that gives {}; model.type {} gives {}", e.task,
                          name_of(needs.output), e.model.type, name_of(model.output)));
}

std::int64_t option_or(const Experiment& e, const char* key, std::int64_t otherwise) {
  const schema::Value* value = e.model.options.find(key);
  return value == nullptr || value->is_null() ? otherwise : value->as_int();
}

}  // namespace

const ExperimentKind& experiment_kind() {
  static const ExperimentKind kind{&experiment_fields(), [](const auto& unresolved, auto& notes) {
                                     return resolve(unresolved, notes);
                                   }};
  return kind;
}

schema::Value load_unresolved(const std::filesystem::path& path,
                              const std::vector<std::string>& overrides, schema::Notes& notes) {
  schema::Value root = load_file(experiment_kind(), path, notes);
  for (const std::string& assignment : overrides)
    override_setting(experiment_kind(), root, assignment, notes);
  const schema::Value* name = root.find("name");
  if (name == nullptr) root.set("name", path.stem().string());
  return root;
}

schema::Value load_unresolved(const std::filesystem::path& path,
                              const std::vector<std::string>& overrides) {
  schema::Notes unheard;
  return load_unresolved(path, overrides, unheard);
}

schema::Value resolve(const schema::Value& unresolved, schema::Notes& notes) {
  schema::Value settled = unresolved;
  // Again, since a file may leave the type to its parent and some keys are renamed for one type.
  schema::rename_keys(experiment_fields(), settled, schema::OldKeys::kLater, notes);
  schema::drop_foreign_options(experiment_fields(), settled, notes);
  schema::Value resolved = experiment_fields().resolve(settled);
  check_kinds(parse(resolved));
  return resolved;
}

schema::Value resolve(const schema::Value& unresolved) {
  schema::Notes unheard;
  return resolve(unresolved, unheard);
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
  if (reads_texts(experiment)) {
    if (given("num_classes") && given("vocab_size") && given("max_len")) return shape;
    return shape_of(*data::make_texts(experiment.dataset, nullptr, data::Wanted::kTrain).train);
  }
  if (given("num_classes") && given("in_chans") && given("img_size")) return shape;
  if (const auto known = data::known_shape(experiment.dataset)) {
    shape.channels = known->channels;
    shape.height = known->height;
    shape.width = known->width;
    shape.num_classes = known->classes;
    return shape;
  }
  return shape_of(*data::make_dataset(experiment.dataset, data::Split::kTrain));
}

models::DataShape shape_of(const data::Dataset& dataset) {
  models::DataShape shape;
  shape.channels = dataset.channels();
  shape.height = dataset.height();
  shape.width = dataset.width();
  shape.num_classes = dataset.num_classes();
  return shape;
}

models::DataShape shape_of(const data::TextDataset& dataset) {
  models::DataShape shape;
  shape.num_classes = dataset.num_classes();
  shape.vocab_size = dataset.vocabulary().size();
  shape.max_len = dataset.options().max_len;
  return shape;
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
  if (reads_texts(experiment)) return {option_or(experiment, "max_len", shape.max_len)};
  const schema::Value& options = experiment.model.options;
  const auto of = [&](const char* key, std::size_t index, std::int64_t otherwise) {
    const schema::Value* value = options.find(key);
    if (value == nullptr || value->is_null()) return otherwise;
    return value->is_array() ? value->at(index).as_int() : value->as_int();
  };
  return {of("in_chans", 0, shape.channels), of("img_size", 0, shape.height),
          of("img_size", 1, shape.width)};
}

Tensor random_batch(const Experiment& experiment, const models::DataShape& shape,
                    std::int64_t batch_size, const Device& device) {
  Shape whole{batch_size};
  for (const std::int64_t axis : sample_shape(experiment, shape)) whole.push_back(axis);
  const RandomStream random(1);
  if (!reads_texts(experiment))
    return ops::random_normal(whole, 0, 1, random, DType::kFloat32, device);
  // No padding: ids from 1 on.
  const std::int64_t words = option_or(experiment, "vocab_size", shape.vocab_size) - 1;
  std::vector<std::int64_t> ids(static_cast<std::size_t>(whole.numel()));
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = 1 + random.below(words, i);
  const Device host = device.is_host() ? device : make_cpu();
  return ops::to(Tensor::from(ids, whole, host), device);
}

}  // namespace fovea::experiment
