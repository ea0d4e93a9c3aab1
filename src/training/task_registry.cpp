#include "training/task_registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/suggest.h"
#include "ops/create.h"

#define FOVEA_ENTRY(name) ::fovea::training::TaskEntry fovea_task_##name();
#include "training/tasks.def"
#undef FOVEA_ENTRY

namespace fovea::training {
namespace {

std::vector<TaskEntry>& all_tasks() {
  static std::vector<TaskEntry> all = {
#define FOVEA_ENTRY(name) fovea_task_##name(),
#include "training/tasks.def"
#undef FOVEA_ENTRY
  };
  return all;
}

}  // namespace

const std::vector<TaskEntry>& tasks() { return all_tasks(); }

const TaskEntry& find_task(const std::string& name) {
  std::vector<std::string> names;
  for (const TaskEntry& task : tasks()) {
    if (task.name == name) return task;
    names.push_back(task.name);
  }
  throw ConfigError(fmt::format("task: no task called \"{}\"{} run: inspect --list task", name,
                                did_you_mean(name, names)));
}

void register_task(TaskEntry entry) {
  std::vector<TaskEntry>& all = all_tasks();
  const bool taken = std::any_of(all.begin(), all.end(),
                                 [&](const TaskEntry& task) { return task.name == entry.name; });
  FOVEA_CHECK(!taken, ConfigError, fmt::format("task: there are two called \"{}\"", entry.name));
  all.push_back(std::move(entry));
}

schema::Choices task_choices() {
  return {"task", [] {
            static const auto no_options = std::make_shared<const schema::Fields<TaskInfo>>();
            std::vector<schema::Choice> choices;
            for (const TaskEntry& task : tasks())
              choices.push_back({task.name, task.info.help, no_options});
            return choices;
          }};
}

Tensor random_images(const models::DataShape& shape, std::int64_t batch_size,
                     const Device& device) {
  return ops::random_normal({batch_size, shape.channels, shape.height, shape.width}, 0, 1,
                            RandomStream(1), DType::kFloat32, device);
}

Tensor random_texts(const models::DataShape& shape, std::int64_t batch_size, const Device& device) {
  const RandomStream random(1);
  std::vector<std::int64_t> ids(static_cast<std::size_t>(batch_size * shape.max_len));
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = 1 + random.below(shape.vocab_size - 1, i);
  return Tensor::from(ids, {batch_size, shape.max_len}, device);
}

data::Batch batch_of(const std::vector<data::NamedTensors::Entry>& tensors) {
  data::Batch batch;
  for (const auto& [name, tensor] : tensors) batch.set(name, tensor);
  batch.indices.resize(static_cast<std::size_t>(tensors.front().second.size(0)));
  std::iota(batch.indices.begin(), batch.indices.end(), std::int64_t{0});
  return batch;
}

}  // namespace fovea::training
