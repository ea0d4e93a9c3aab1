// Tasks by name: what an experiment is about, and all that is to be known of it before there are
// data. A task is one source file and one line in tasks.def (docs/adding-a-task.md).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/parts/split.h"
#include "models/model.h"
#include "schema/registry.h"
#include "training/tasks/task.h"

namespace fovea::training {

/// A literal, so that it is there whenever the registry is asked.
struct TaskInfo {
  const char* help = "";
  data::Kind data = data::Kind::kImages;                            // the kind of data set it reads
  models::Interface network = models::Interface::kImageClassifier;  // what it drives
  const char* gives = "";  // what its network says of a sample: "classes", "masks"; for eval --save
  const char* loss = "";   // type of the loss of an experiment that names none; "": the task's own
  /// A second kind of data set that it reads, with the loss for it.
  struct Also {
    data::Kind data;
    const char* loss;
  };
  std::optional<Also> also = {};
  /// What an experiment has that says nothing else: a network that learns such data, and as many
  /// samples as a training step has memory for on a usual machine.
  struct Usual {
    const char* model;
    std::int64_t batch_size;
  };
  Usual usual = {"vit", 128};
  std::optional<Usual> of_volumes = {};  // and of volumes, if that is something else

  bool reads(data::Kind kind) const { return kind == data || (also && kind == also->data); }
  const char* loss_for(data::Kind kind) const {
    return also && kind == also->data ? also->loss : loss;
  }
};

/// One line of the registry.
struct TaskEntry : schema::Choice {
  static constexpr const char* kKind = "task";
  TaskInfo info;
  /// What a run will measure, once the sizes of the data are known.
  std::function<std::vector<metrics::MetricInfo>(const models::DataShape&)> metrics;
  /// And those that eval.metrics adds.
  std::function<std::vector<metrics::MetricInfo>(const metrics::CaseMetrics& asked,
                                                 const models::DataShape&)>
      asked_metrics;
  /// Made-up samples of the right shape, for counting time and memory. Every member of the shape
  /// that the network reads is set.
  std::function<data::Batch(const models::DataShape&, std::int64_t batch_size, const Device&)>
      random_batch;
  /// `source` may be null, see Task.
  std::function<std::unique_ptr<Task>(models::Model&, std::shared_ptr<BatchSource>,
                                      const schema::Component& loss)>
      make;
};

/// All of tasks.def, and what was added since.
schema::Registry<TaskEntry>& tasks();

/// Normal numbers (b, c, h, w) or (b, c, d, h, w), or ids of words (b, n) without padding.
Tensor random_images(const models::DataShape& shape, std::int64_t batch_size, const Device& device);
Tensor random_texts(const models::DataShape& shape, std::int64_t batch_size, const Device& device);
/// A batch of these tensors.
data::Batch batch_of(const std::vector<data::NamedTensors::Entry>& tensors);

template <class Class>
TaskEntry make_task(std::string name, TaskInfo info) {
  const auto no_options = std::make_shared<const schema::Fields<TaskInfo>>();
  const auto make = [](models::Model& model, std::shared_ptr<BatchSource> source,
                       const schema::Component& loss) -> std::unique_ptr<Task> {
    if constexpr (requires { &Class::make; }) {
      return Class::make(model, std::move(source), loss);
    } else {
      return std::make_unique<Class>(model, std::move(source), loss);
    }
  };
  const auto asked_metrics =
      []([[maybe_unused]] const metrics::CaseMetrics& asked,
         [[maybe_unused]] const models::DataShape& shape) -> std::vector<metrics::MetricInfo> {
    if constexpr (requires { &Class::asked_metrics; }) {
      return Class::asked_metrics(asked, shape);
    } else {
      return {};  // add_metrics() refuses them
    }
  };
  return {{std::move(name), info.help, no_options},
          info,
          Class::metrics_of,
          asked_metrics,
          Class::random_batch,
          make};
}

}  // namespace fovea::training

/// Registers a class built from (models::Model&, std::shared_ptr<BatchSource>, const
/// schema::Component& loss), whose static members metrics_of and random_batch are those of
/// TaskEntry, or one whose static make() chooses among several; `name` also needs a line in
/// tasks.def.
#define FOVEA_TASK(name, Class, info)                        \
  ::fovea::training::TaskEntry fovea_task_##name() {         \
    return ::fovea::training::make_task<Class>(#name, info); \
  }
