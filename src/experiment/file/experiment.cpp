#include "experiment/file/experiment.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "backend/devices.h"
#include "base/error.h"
#include "data/registry.h"
#include "experiment/costs/machine_memory.h"
#include "experiment/file/folds.h"
#include "experiment/file/usual_settings.h"
#include "optim/registry.h"
#include "schema/carry.h"
#include "schema/describe/contents.h"
#include "schema/renamed.h"
#include "training/losses/loss.h"
#include "training/monitor.h"
#include "training/tasks/language_modelling/question_scores.h"
#include "training/tasks/task_registry.h"

namespace fovea::experiment {

using schema::at_least;

namespace {

std::vector<std::string> task_names() {
  std::vector<std::string> names;
  for (const training::TaskEntry& task : training::tasks()) names.push_back(task.name);
  return names;
}

std::string task_help() {
  std::string help;
  for (const training::TaskEntry& task : training::tasks())
    help += (help.empty() ? "" : "; ") + task.name + ": " + task.info.help;
  return help;
}

}  // namespace

std::string default_task() { return training::tasks().begin()->name; }

const schema::Fields<Experiment>& experiment_fields() {
  static const auto fields = [] {
    using E = Experiment;
    return schema::Fields<E>{}
        .add("name", &E::name, schema::in_one_line(),
             "name of the run in tables and plots, and of its folder where --out gives none; empty "
             "= the file's name")
        .no_effect()
        .add_any("paper", &E::paper,
                 "what it reproduces, e.g. {\"key\": \"dgsa\", \"table\": \"1\"}")
        .no_effect()
        .add("task", &E::task, schema::one_of(task_names()), task_help())
        .add("seed", &E::seed, at_least(0), "of initial weights, data order, augmentation, dropout")
        .add_component("dataset", &E::dataset, data::datasets().choices(),
                       "data, augmentation and noise")
        .add_component("model", &E::model, models::entries().choices(), "network")
        .add_component("loss", &E::loss, training::loss_choices(),
                       "what is minimised; null = what fits the task")
        .add_component("optimizer", &E::optimizer, optim::optimiser_choices(), "update rule")
        .add_component("schedule", &E::schedule, optim::schedule_choices(),
                       "learning rate over time")
        .add_object("train", &E::train, training::train_fields(),
                    "length, batches, evaluation, device")
        .add_object("eval", &E::eval, training::eval_fields(),
                    "how the outputs that are scored are made")
        .add("cost_img_size", &E::cost_img_size, at_least(1),
             "size of the images (height, width; of volumes depth, height, width) at which "
             "summary.json and tables count multiply-adds, where a paper counts at another size "
             "than it is trained at here; empty: the size of the data")
        .no_effect()
        .add_any("files", &E::files,
                 "hashes of the files that settings name, {\"model.backbone.weights\": \"...\"}; "
                 "noted by the program: a run refuses files of other content, and one with other "
                 "files is another run")
        .is_content();
  }();
  return fields;
}

namespace {

bool reads_texts(const Experiment& e) {
  const models::Interface network = models::entries().find(e.model.type).interface;
  return models::info_of(network).reads.front().name == "tokens";
}

void check_kinds(const Experiment& e) {
  const training::TaskInfo& needs = training::tasks().find(e.task).info;
  const data::Kind kind = data::kind_of(e.dataset);
  FOVEA_CHECK(needs.reads(kind), ConfigError,
              fmt::format("task: {} needs a data set of {}{}; dataset.type {} holds {}", e.task,
                          data::name_of(needs.data),
                          needs.also ? fmt::format(" or {}", data::name_of(needs.also->data)) : "",
                          e.dataset.type, data::name_of(kind)));
  const models::Interface network = models::entries().find(e.model.type).interface;
  FOVEA_CHECK(network == needs.network, ConfigError,
              fmt::format("task: {} needs {}; model.type {} is {}", e.task,
                          models::info_of(needs.network).name, e.model.type,
                          models::info_of(network).name));
}

}  // namespace

const ExperimentKind& experiment_kind() {
  static const ExperimentKind kind{
      .fields = &experiment_fields(),
      .resolve = [](const auto& unresolved, auto& notes) { return resolve(unresolved, notes); },
      .metrics = [](const schema::Value& resolved) { return metrics_of(parse(resolved)); },
      .with_fold = with_fold};
  return kind;
}

schema::Value load_unresolved(const std::filesystem::path& path,
                              const std::vector<std::string>& overrides, schema::Notes& notes) {
  schema::Value root = load_file(experiment_kind(), path, notes);
  for (const std::string& assignment : overrides)
    override_setting(experiment_kind(), root, assignment, notes);
  const schema::Value* name = root.find("name");
  const bool none = name == nullptr || (name->is_string() && name->as_string().empty());
  if (none) root.set("name", path.stem().string());
  return root;
}

std::filesystem::path default_folder(const std::filesystem::path& parent, const std::string& name) {
  constexpr std::size_t kLongest = 200;
  const bool blank = name.find_first_not_of(' ') == std::string::npos;
  const bool good = !blank && name.size() <= kLongest && name != "." && name != ".." &&
                    name.find_first_of(std::string_view("/\\\0", 3)) == std::string::npos &&
                    schema::in_one_line().accepts(schema::Value(name));
  FOVEA_CHECK(good, ConfigError,
              fmt::format("name: {} cannot be the name of a folder in {}/; give a folder with "
                          "--out, or another name",
                          describe(schema::Value(name)), parent.string()));
  return parent / name;
}

schema::Value load_unresolved(const std::filesystem::path& path,
                              const std::vector<std::string>& overrides) {
  schema::Notes unheard;
  return load_unresolved(path, overrides, unheard);
}

schema::Value resolve(const schema::Value& unresolved, schema::Notes& notes) {
  schema::Value settled = with_usual_settings(unresolved);
  // Again, since a file may leave the type to its parent and some keys are renamed for one type.
  schema::rename_keys(experiment_fields(), settled, schema::OldKeys::kLater, notes);
  schema::drop_foreign_options(experiment_fields(), settled, notes);
  schema::Value resolved = experiment_fields().resolve(settled);
  check_kinds(parse(resolved));
  schema::note_contents(experiment_fields(), resolved);
  return resolved;
}

schema::Value resolve(const schema::Value& unresolved) {
  schema::Notes unheard;
  return resolve(unresolved, unheard);
}

Experiment parse(const schema::Value& resolved) {
  return experiment_fields().from_resolved(resolved);
}

namespace {

models::DataShape to_model(const data::SampleShape& data) {
  models::DataShape shape;
  shape.channels = data.channels;
  shape.height = data.height;
  shape.width = data.width;
  shape.num_classes = data.classes;
  shape.vocab_size = data.vocab_size;
  shape.max_len = data.max_len;
  shape.label_maps = data.label_maps;
  shape.depth = data.depth;
  shape.regions = data.regions;
  shape.mels = data.mels;
  shape.frames = data.frames;
  return shape;
}

}  // namespace

// Where recordings are not asked for theirs: of 10 seconds, by the usual hop.
constexpr std::int64_t kUsualFrames = 1000;

models::DataShape data_shape(const Experiment& experiment) {
  const schema::Value& options = experiment.model.options;
  const auto given = [&](const char* key) {
    const schema::Value* value = options.find(key);
    return value != nullptr && !value->is_null();
  };
  const bool speech =
      models::entries().find(experiment.model.type).interface == models::Interface::kTranscriber;
  const bool all_given = speech ? given("num_classes") && given("num_mels")
                         : reads_texts(experiment)
                             ? given("num_classes") && given("vocab_size") && given("max_len")
                             : given("num_classes") && given("in_chans") && given("img_size");
  if (all_given) {
    models::DataShape shape;
    if (speech) shape.frames = kUsualFrames;
    shape.label_maps = data::kind_of(experiment.dataset) == data::Kind::kLabelMaps;
    return shape;
  }
  const auto known = data::known_shape(experiment.dataset);
  // (Of streams of text the vocabulary may not be.)
  const bool all_known =
      !reads_texts(experiment) || given("vocab_size") || (known && known->vocab_size > 0);
  if (known && all_known) return to_model(*known);
  return shape_of(*data::make_dataset(experiment.dataset, data::Split::kTrain));
}

models::DataShape shape_of(const data::Dataset& dataset) { return to_model(dataset.shape()); }

namespace {

// Built on the meta device first, where weights take no memory.
void check_weights_fit(const Experiment& experiment, const models::DataShape& shape) {
  const std::int64_t memory = machine_memory();
  if (memory == 0) return;
  const auto counted = make_model(experiment, make_meta(), shape);
  double bytes = 0;  // (a sum of int64 could overflow)
  for (const nn::NamedTensor& named : counted->parameters())
    bytes += static_cast<double>(named.tensor.bytes());
  FOVEA_CHECK(bytes <= static_cast<double>(memory), ConfigError,
              fmt::format("model: its weights alone take {:.4g} GiB, this machine has {:.4g} GiB; "
                          "expected a smaller network",
                          bytes / (1 << 30), static_cast<double>(memory) / (1 << 30)));
}

}  // namespace

std::unique_ptr<models::Model> make_model(const Experiment& experiment, const Device& device,
                                          const models::DataShape& shape) {
  if (device.is_host()) check_weights_fit(experiment, shape);
  const RandomStream random =
      RandomStream(static_cast<std::uint64_t>(experiment.seed)).fork("init");
  return models::make_model(experiment.model,
                            {.device = device,
                             .random = random,
                             .activations = dtype_from_name(experiment.train.precision)},
                            shape);
}

models::DataShape seen_shape(const Experiment& experiment, const models::DataShape& shape) {
  const schema::Value& options = experiment.model.options;
  const auto of = [&](const char* key, std::size_t index, std::int64_t otherwise) {
    const schema::Value* value = options.find(key);
    if (value == nullptr || value->is_null()) return otherwise;
    return value->is_array() ? value->at(index).as_int() : value->as_int();
  };
  const bool volumes = models::entries().find(experiment.model.type).axes == 3;
  const std::size_t plane = volumes ? 1 : 0;  // the first of its sides in img_size
  return {.channels = of("in_chans", 0, shape.channels),
          .height = of("img_size", plane, shape.height),
          .width = of("img_size", plane + 1, shape.width),
          .num_classes = of("num_classes", 0, shape.num_classes),
          .vocab_size = of("vocab_size", 0, shape.vocab_size),
          .max_len = of("max_len", 0, shape.max_len),
          .label_maps = shape.label_maps,
          .depth = volumes ? of("img_size", 0, shape.depth) : 0,
          .regions = shape.regions,
          .mels = of("num_mels", 0, shape.mels),
          .frames = shape.frames};
}

Shape sample_shape(const Experiment& experiment, const models::DataShape& shape) {
  const models::DataShape seen = seen_shape(experiment, shape);
  if (reads_texts(experiment)) return {seen.max_len};
  if (seen.mels > 0) return {seen.frames, seen.mels};
  if (seen.depth > 0) return {seen.channels, seen.depth, seen.height, seen.width};
  return {seen.channels, seen.height, seen.width};
}

std::vector<metrics::MetricInfo> metrics_of(const Experiment& experiment) {
  models::DataShape large;
  large.num_classes = std::numeric_limits<std::int64_t>::max();
  large.label_maps = data::kind_of(experiment.dataset) == data::Kind::kLabelMaps;
  const training::TaskEntry& task = training::tasks().find(experiment.task);
  std::vector<metrics::MetricInfo> of_task = task.metrics(large);
  for (const metrics::MetricInfo& info : task.asked_metrics(experiment.eval, large))
    of_task.push_back(info);
  for (const metrics::MetricInfo& info : training::question_metrics(experiment.eval.questions))
    of_task.push_back(info);
  return training::measured(experiment.train, of_task);
}

}  // namespace fovea::experiment
