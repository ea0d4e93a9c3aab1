// The root of an experiment file: what is trained, on what, how. docs/experiment-files.md lists
// every key, generated from these fields.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "experiment/file/experiment_kind.h"
#include "metrics/metric_info.h"
#include "models/model.h"
#include "schema/fields.h"
#include "training/eval_options.h"
#include "training/options.h"

namespace fovea::experiment {

/// What an experiment is about that does not say so: the first task of the registry.
std::string default_task();

struct Experiment {
  std::string name;
  schema::Value paper;  // free: {"key": "dgsa", "table": "1", "row": "..."}
  std::string task = default_task();
  std::int64_t seed = 0;
  schema::Component dataset{"digits", {}};
  schema::Component model{"vit", {}};
  std::optional<schema::Component> loss;  // none: the task has one of its own
  schema::Component optimizer{"adamw", {}};
  schema::Component schedule{"cosine", {}};
  training::TrainOptions train;
  training::EvalOptions eval;
  std::vector<std::int64_t> cost_img_size;        // see costs.h; empty: the size of the data
  schema::Value files = schema::Value::object();  // hashes (schema/describe/contents.h)
};

const schema::Fields<Experiment>& experiment_fields();

/// The same for sweeps and for configurations that older programs stored.
const ExperimentKind& experiment_kind();

/// A file (with its `extends`) and overrides "key=value", not yet validated. `notes`: keys that
/// have another name today.
schema::Value load_unresolved(const std::filesystem::path& path,
                              const std::vector<std::string>& overrides, schema::Notes& notes);
schema::Value load_unresolved(const std::filesystem::path& path,
                              const std::vector<std::string>& overrides);

/// The folder of an experiment or a sweep where none is given, PARENT/<name>. Throws ConfigError
/// for a name that leads elsewhere or that no folder can have.
std::filesystem::path default_folder(const std::filesystem::path& parent, const std::string& name);
/// Validated, with every default filled in; what config.json holds. `notes`: options that were
/// dropped with the type they belonged to. Throws ConfigError, also where task, data set and
/// network are not of one kind.
schema::Value resolve(const schema::Value& unresolved, schema::Notes& notes);
schema::Value resolve(const schema::Value& unresolved);
/// The struct of a resolved value.
Experiment parse(const schema::Value& resolved);

/// Sizes of the data set, without its files where the model or the kind of data set gives them
/// all.
models::DataShape data_shape(const Experiment& experiment);

/// What a data set says of itself.
models::DataShape shape_of(const data::Dataset& dataset);

/// The network on a device with initial weights from the seed. Throws ConfigError where its weights
/// alone take more than the memory of this machine, before any of them is made.
std::unique_ptr<models::Model> make_model(const Experiment& experiment, const Device& device,
                                          const models::DataShape& shape);

/// What the data set says of itself, overridden by the options of the network: what the network
/// sees.
models::DataShape seen_shape(const Experiment& experiment, const models::DataShape& shape);

/// One sample's shape without the batch axis: (c, h, w) of an image, (n) of the longest text.
Shape sample_shape(const Experiment& experiment, const models::DataShape& shape);

/// What a run may measure on each split, averaged weights included.
std::vector<metrics::MetricInfo> metrics_of(const Experiment& experiment);

}  // namespace fovea::experiment
