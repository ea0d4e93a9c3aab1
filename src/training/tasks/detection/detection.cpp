#include "training/tasks/detection/detection.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "autograd/mode.h"
#include "base/error.h"
#include "ops/elementwise.h"
#include "training/tasks/detection/detection_batch.h"
#include "training/tasks/detection/found_objects.h"
#include "training/tasks/task_registry.h"

namespace fovea::training {
namespace {

using metrics::Overlap;

models::Detector& detector_of(models::Model& model) {
  auto* detector = dynamic_cast<models::Detector*>(&model);
  FOVEA_CHECK(detector != nullptr, ConfigError,
              fmt::format("task: detection needs {}; the network is {}",
                          models::info_of(models::Interface::kDetector).name,
                          models::info_of(model.interface()).name));
  return *detector;
}

std::vector<metrics::MetricInfo> metrics_named(const std::vector<std::string>& classes,
                                               bool masks) {
  std::vector<metrics::MetricInfo> all = metrics::detection_metrics(Overlap::kBoxes, classes);
  if (!masks) return all;
  const auto of_masks = metrics::detection_metrics(Overlap::kMasks, classes);
  all.insert(all.end(), of_masks.begin(), of_masks.end());
  return all;
}

// Of the files that the images of a batch are of.
std::vector<models::ImageSize> original_sizes(const data::Batch& batch) {
  std::vector<models::ImageSize> sizes;
  for (const data::Geometry& place : batch.geometry)
    sizes.push_back({place.original_size.at(0), place.original_size.at(1)});
  return sizes;
}

}  // namespace

Detection::Detection(models::Model& model, std::shared_ptr<BatchSource> source,
                     const schema::Component&)
    : Task(model, std::move(source), {"boxes", "labels", "crowd", "area"}),
      detector_(detector_of(model)) {
  if (!has_source() || !detector_.makes_masks()) return;
  const std::vector<data::Field>& fields = this->source().fields();
  const bool there = std::any_of(fields.begin(), fields.end(),
                                 [](const data::Field& field) { return field.name == "masks"; });
  FOVEA_CHECK(there, ConfigError,
              "dataset.masks: false, but the network makes masks and learns from them; expected "
              "true, of a data set that has them");
}

std::vector<metrics::MetricInfo> Detection::metrics_of(const models::DataShape&) {
  return metrics_named({}, true);
}

data::Batch Detection::random_batch(const models::DataShape& shape, std::int64_t size,
                                    const Device& device) {
  return random_detection_batch(shape, size, device);
}

Task::LossParts Detection::loss_parts_of(const models::Outputs& output,
                                         const data::Batch& batch) const {
  LossParts all;
  for (const auto& [name, loss] :
       detector_.losses(output, image_sizes(batch), truth_of(batch, detector_.makes_masks()))) {
    all.sum = all.sum.defined() ? ops::add(all.sum, loss) : loss;
    all.parts.emplace_back(name, loss.detach());
  }
  return all;
}

std::vector<metrics::MetricInfo> Detection::metrics() const {
  return metrics_named(has_source() ? source().class_names() : std::vector<std::string>(),
                       detector_.makes_masks());
}

metrics::MetricInfo Detection::monitor() const {
  return metrics::detection_metrics(Overlap::kBoxes).front();
}

const data::BoxDataset& Detection::samples(data::Split split) const {
  check_split(split);
  const data::BoxDataset* boxes = data::find_boxes(source().at(split));
  FOVEA_CHECK(boxes != nullptr, ConfigError,
              "task: detection needs a data set of images with boxes");
  return *boxes;
}

std::vector<std::vector<metrics::DetectedObject>> Detection::find(
    const data::Batch& batch, const models::Outputs& output,
    const std::vector<models::ImageSize>& sizes) const {
  const std::vector<models::ImageSize> seen = image_sizes(batch);
  const std::vector<models::Detections> all = detector_.detect(output, seen);
  std::vector<std::vector<metrics::DetectedObject>> found;
  for (std::size_t i = 0; i < all.size(); ++i) {
    found.push_back(objects_at(all[i], seen[i], sizes[i]));
    const std::int64_t classes = std::ssize(source().class_names());
    for (const metrics::DetectedObject& object : found.back())
      FOVEA_CHECK(object.label < classes, ConfigError,
                  fmt::format("model.num_classes: the network found class {}, but the data set has "
                              "{}; expected {}, or null",
                              object.label, classes, classes));
  }
  return found;
}

metrics::DetectionScores Detection::score(const std::vector<DetectedImage>& images,
                                          Overlap overlap) const {
  metrics::DetectionEvaluation evaluation(std::ssize(source().class_names()), overlap);
  for (const DetectedImage& image : images) evaluation.add(image.truth, image.found);
  return evaluation.scores();
}

Detection::Evaluation Detection::evaluate_in_full(data::Split split,
                                                  const std::optional<NoiseLevel>& noise) {
  const data::BoxDataset& data = samples(split);
  const autograd::NoGrad no_grad;
  std::vector<std::int64_t> indices;
  std::vector<DetectedImage> images;
  for_each_batch(split, noise, [&](const data::Batch& batch, const models::Outputs& output) {
    auto found = find(batch, output, original_sizes(batch));
    for (std::size_t i = 0; i < found.size(); ++i) {
      DetectedImage image = true_image(data.truth(batch.indices[i]));
      image.found = std::move(found[i]);
      images.push_back(std::move(image));
    }
    indices.insert(indices.end(), batch.indices.begin(), batch.indices.end());
  });
  // As pycocotools, which goes through the images in order, where scores are equal.
  const std::vector<std::size_t> order = ascending(indices);
  Evaluation result{.metrics = {},
                    .indices = reordered(indices, order),
                    .images = reordered(images, order),
                    .boxes = {},
                    .masks = {}};
  const std::vector<std::string>& classes = source().class_names();
  result.boxes = score(result.images, Overlap::kBoxes);
  result.metrics = metrics::measure_detections(result.boxes, Overlap::kBoxes, classes);
  if (!detector_.makes_masks()) return result;
  result.masks = score(result.images, Overlap::kMasks);
  for (metrics::Measurement& metric :
       metrics::measure_detections(*result.masks, Overlap::kMasks, classes))
    result.metrics.push_back(std::move(metric));
  return result;
}

std::vector<metrics::DetectedObject> Detection::objects_in(const data::Batch& batch) {
  return std::move(find(batch, infer(batch), original_sizes(batch)).front());
}

Task::Picture Detection::picture(data::Split split, std::int64_t i) {
  const data::BoxDataset& data = samples(split);
  const autograd::NoGrad no_grad;
  const data::Sample shown = data.get(i);
  const data::Batch batch = source().one(split, i);
  const std::vector<models::ImageSize> sizes = image_sizes(batch);
  Picture picture{shown.at("image"), {}, {}};
  picture.objects = objects_at(true_image(data.truth(i)), sizes.front());
  picture.found = std::move(find(batch, infer(batch), sizes).front());
  return picture;
}

}  // namespace fovea::training

namespace {

constexpr fovea::training::TaskInfo kInfo{.help = "the objects of images: boxes, and masks",
                                          .data = fovea::data::Kind::kBoxes,
                                          .network = fovea::models::Interface::kDetector,
                                          .gives = "boxes",
                                          .loss = "",
                                          .usual = {"retinanet", 4}};

}  // namespace

FOVEA_TASK(detection, fovea::training::Detection, kInfo)
