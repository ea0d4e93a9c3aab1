#include "experiment/file/usual_settings.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "data/registry.h"
#include "training/tasks/task_registry.h"

namespace fovea::experiment {
namespace {

using schema::Value;

bool is_given(const Value& object, const char* key) {
  const Value* value = object.find(key);
  return value != nullptr && !value->is_null();
}

// The entry that a component names, which may not be valid yet; null: none, or an unknown one.
template <class Entries>
auto named_in(const Entries& entries, const Value* component) -> decltype(&*entries.begin()) {
  const Value* type =
      component != nullptr && component->is_object() ? component->find("type") : component;
  if (type == nullptr || !type->is_string()) return nullptr;
  const auto found = std::find_if(entries.begin(), entries.end(), [&](const auto& entry) {
    return entry.name == type->as_string();
  });
  return found == entries.end() ? nullptr : &*found;
}

// The first task that reads such data, where none is given.
void choose_task(Value& settled, data::Kind kind) {
  if (is_given(settled, "task")) return;
  for (const training::TaskEntry& task : training::tasks()) {
    if (!task.info.reads(kind)) continue;
    settled.set("task", task.name);
    return;
  }
}

// A component whose type is not given, of that type.
void choose_type(Value& settled, const char* key, const std::string& type) {
  const Value* given = settled.find(key);
  const bool none = given == nullptr || given->is_null();
  if (!none && (!given->is_object() || given->find("type") != nullptr)) return;
  Value chosen = none ? Value::object() : *given;
  chosen.set("type", type);
  settled.set(key, chosen);
}

// Pictures whose side is more than a Transformer with small patches has memory for, or that have
// sizes of their own.
bool has_large_images(const data::DatasetEntry& dataset, const Value& options) {
  constexpr std::int64_t kSmall = 64;
  const schema::Field* key = dataset.fields->find("img_size");
  if (key == nullptr) return false;
  const Value* given = options.is_object() ? options.find(key->key) : nullptr;
  const Value& side = given != nullptr ? *given : key->default_value;
  return side.is_integer() && (side.as_int() == 0 || side.as_int() > kSmall);
}

// What an experiment has that says nothing else. dataset: null = an unknown one.
training::TaskInfo::Usual usual_of(const training::TaskInfo& info,
                                   const data::DatasetEntry* dataset, const Value* options) {
  if (dataset == nullptr) return info.usual;
  if (dataset->axes == 3 && info.of_volumes) return *info.of_volumes;
  const bool classes = info.network == models::Interface::kImageClassifier;
  if (classes && has_large_images(*dataset, *options)) return {"resnet18", 32};
  return info.usual;
}

void choose_batch_size(Value& settled, std::int64_t samples) {
  const Value* given = settled.find("train");
  const bool none = given == nullptr || given->is_null();
  if (!none && (!given->is_object() || is_given(*given, "batch_size"))) return;
  Value train = none ? Value::object() : *given;
  train.set("batch_size", samples);
  settled.set("train", train);
}

}  // namespace

Value with_usual_settings(const Value& unresolved) {
  Value settled = unresolved;
  const data::DatasetEntry* dataset = named_in(data::datasets(), settled.find("dataset"));
  if (dataset != nullptr) choose_task(settled, dataset->kind_of(*settled.find("dataset")));
  const Value* name = settled.find("task");
  const training::TaskEntry* task = name == nullptr || name->is_null()
                                        ? &*training::tasks().begin()
                                        : named_in(training::tasks(), name);
  if (task == nullptr) return settled;
  const training::TaskInfo& info = task->info;
  const data::Kind kind =
      dataset != nullptr ? dataset->kind_of(*settled.find("dataset")) : info.data;
  const training::TaskInfo::Usual usual = usual_of(info, dataset, settled.find("dataset"));
  choose_type(settled, "model", usual.model);
  choose_batch_size(settled, usual.batch_size);
  const std::string loss = info.loss_for(kind);
  FOVEA_CHECK(!loss.empty() || !is_given(settled, "loss"), ConfigError,
              fmt::format("{}{} has a loss of its own; remove this one",
                          schema::where(settled.find("loss")->origin(), "loss"), task->name));
  if (!loss.empty()) choose_type(settled, "loss", loss);
  return settled;
}

}  // namespace fovea::experiment
