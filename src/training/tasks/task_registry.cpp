#include "training/tasks/task_registry.h"

#include <numeric>

#include "ops/create.h"

#define FOVEA_ENTRY(name) ::fovea::training::TaskEntry fovea_task_##name();
#include "training/tasks/tasks.def"
#undef FOVEA_ENTRY

namespace fovea::training {

schema::Registry<TaskEntry>& tasks() {
  static schema::Registry<TaskEntry> all = {
#define FOVEA_ENTRY(name) fovea_task_##name(),
#include "training/tasks/tasks.def"
#undef FOVEA_ENTRY
  };
  return all;
}

Tensor random_images(const models::DataShape& shape, std::int64_t batch_size,
                     const Device& device) {
  Shape images{batch_size, shape.channels};
  if (shape.depth > 0) images.push_back(shape.depth);
  images.push_back(shape.height);
  images.push_back(shape.width);
  return ops::random_normal(images, 0, 1, RandomStream(1), DType::kFloat32, device);
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
