#include "training/data_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "ops/elementwise.h"
#include "training/class_names.h"

namespace fovea::training {

DataTask::DataTask(models::Model& model, std::shared_ptr<BatchSource> source, Target target)
    : model_(model), source_(std::move(source)) {
  FOVEA_CHECK(source_ == nullptr || source_->target() == target, ConfigError,
              target == Target::kMasks
                  ? "task: segmentation needs masks, but the data set has classes; choose a data "
                    "set like paired_folder"
                  : "task: classification needs classes, but the data set has masks; set "
                    "task=segmentation");
  const auto parameters = model_.parameters();
  FOVEA_CHECK(!parameters.empty(), ConfigError, "model: has no parameters");
  device_ = parameters.front().tensor.device();
  dtype_ = parameters.front().tensor.dtype();
}

const data::Batch& DataTask::data_of(const Batch& batch) {
  return static_cast<const DataBatch&>(batch).data;
}

std::unique_ptr<Batch> DataTask::next_batch() {
  std::optional<data::Batch> next = source_->next();
  return next ? std::make_unique<DataBatch>(std::move(*next)) : nullptr;
}

models::Outputs DataTask::output(const data::Batch& batch) {
  models::Inputs inputs;
  for (const models::InputField& field : models::info_of(model_.interface()).reads) {
    const Tensor there = ops::to(batch.at(field.name), device_);
    const bool fits = there.dtype() == dtype_ || !is_floating(there.dtype());
    inputs.*field.tensor = fits ? there : ops::cast(there, dtype_);
  }
  return model_(inputs);
}

Tensor DataTask::loss(const Batch& given) {
  data::Batch batch = data_of(given);
  const models::Outputs out = output(batch);
  const auto& reads = models::info_of(model_.interface()).reads;
  for (const auto& [name, tensor] : data_of(given)) {
    const bool is_input = std::any_of(reads.begin(), reads.end(),
                                      [&](const auto& field) { return field.name == name; });
    if (!is_input) batch.set(name, ops::to(tensor, device_));
  }
  return loss_of(out, batch);
}

std::vector<std::string> DataTask::names_of(const std::vector<std::int64_t>& indices,
                                            const std::string& split) const {
  std::vector<std::string> names;
  for (const std::int64_t i : indices) names.push_back(source_->sample_name(split, i));
  return names;
}

std::vector<std::string> DataTask::parts() const {
  std::vector<std::string> parts;
  for (const char* part : {"val", "test"}) {
    if (!source_->options().overfit && source_->has(part)) parts.emplace_back(part);
  }
  if (parts.empty()) parts.emplace_back("train");
  return parts;
}

std::map<std::string, std::string> DataTask::files() const {
  std::map<std::string, std::string> files = source_->files();
  files[kClassesFile] = classes_text(source_->class_names());
  return files;
}

std::vector<std::string> DataTask::check_files(const std::map<std::string, std::string>& files,
                                               const std::string& folder) const {
  source_->check_files(files, folder);
  const std::string name = folder + "/" + kClassesFile;
  const auto found = files.find(kClassesFile);
  if (found == files.end()) {
    return {
        fmt::format("{}: not found, an older program wrote the checkpoint; the names of the "
                    "classes were not compared",
                    name)};
  }
  check_classes(found->second, source_->class_names(), name);
  return {};
}

void DataTask::check_split(const std::string& split) const {
  FOVEA_CHECK(source_->has(split), ConfigError, fmt::format("dataset: has no split \"{}\"", split));
}

void DataTask::for_each_batch(const std::string& split, const std::optional<NoiseLevel>& noise,
                              const VisitOutputs& visit) {
  check_split(split);
  source_->each_batch(split, noise, [&](const data::Batch& batch) {
    models::Outputs out = output(batch);
    if (out.logits.defined()) out.logits = ops::to(out.logits, host());
    for (Tensor& map : out.maps) map = ops::to(map, host());
    visit(batch, out);
  });
}

std::map<std::string, Tensor> DataTask::tensors(const Batch& batch) const {
  const data::Batch& data = data_of(batch);
  return {data.begin(), data.end()};
}

std::vector<std::size_t> ascending(const std::vector<std::int64_t>& keys) {
  std::vector<std::size_t> order(keys.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return keys[a] < keys[b]; });
  return order;
}

}  // namespace fovea::training
