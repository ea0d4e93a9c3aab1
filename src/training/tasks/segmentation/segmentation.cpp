#include "training/tasks/segmentation/segmentation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "autograd/mode.h"
#include "base/error.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "training/tasks/task_registry.h"

namespace fovea::training {
namespace {

constexpr const char* kMask = "mask";

bool has_labels(const BatchSource& source) {
  const std::vector<data::Field>& fields = source.fields();
  return std::any_of(fields.begin(), fields.end(), [](const data::Field& field) {
    return field.name == kMask && field.dtype == DType::kInt64;
  });
}

}  // namespace

Segmentation::Segmentation(models::Model& model, std::shared_ptr<BatchSource> source,
                           const schema::Component& loss, Compares compares)
    : Task(model, std::move(source), {kMask}),
      named_loss_(loss),
      compares_(compares),
      loss_(make_loss(loss, compares)) {
  if (!has_source()) return;
  const std::vector<std::string>& outputs = this->source().output_names();
  const std::int64_t maps = model.num_maps();
  const bool regions = compares == Compares::kRegions, one = outputs.size() == 1;
  FOVEA_CHECK(maps == 0 || maps == std::ssize(outputs), ConfigError,
              fmt::format("model.num_classes: {}, but the masks of the data set have {} "
                          "{} ({}); expected {}, or null",
                          maps, outputs.size(),
                          regions ? (one ? "region" : "regions") : (one ? "class" : "classes"),
                          fmt::join(outputs, ", "), outputs.size()));
}

std::unique_ptr<Task> Segmentation::make(models::Model& model, std::shared_ptr<BatchSource> source,
                                         const schema::Component& loss) {
  const bool labels =
      source != nullptr ? has_labels(*source) : compares(loss, Compares::kLabelMaps);
  if (source != nullptr && source->has_regions())
    return std::make_unique<RegionSegmentation>(model, std::move(source), loss);
  if (labels) return std::make_unique<LabelSegmentation>(model, std::move(source), loss);
  return std::make_unique<MaskSegmentation>(model, std::move(source), loss);
}

std::vector<metrics::MetricInfo> Segmentation::metrics_of(const models::DataShape& shape) {
  if (shape.regions) return metrics::region_metrics();
  return shape.label_maps ? metrics::label_map_metrics() : metrics::mask_metrics();
}

// Only the data name the classes.
std::vector<metrics::MetricInfo> Segmentation::asked_metrics(const metrics::CaseMetrics& asked,
                                                             const models::DataShape& shape) {
  return shape.label_maps ? metrics::case_metrics(asked, {}) : metrics::case_metrics(asked);
}

data::Batch Segmentation::random_batch(const models::DataShape& shape, std::int64_t size,
                                       const Device& device) {
  const Tensor image = random_images(shape, size, device);
  if (!shape.label_maps) {
    const Tensor empty = ops::zeros({size, 1, shape.height, shape.width}, DType::kFloat32, device);
    return batch_of({{"image", image}, {kMask, empty}});
  }
  Shape pixels{size};
  if (shape.regions) pixels.push_back(shape.num_classes);  // a mask each
  for (int axis = 2; axis < image.rank(); ++axis) pixels.push_back(image.size(axis));
  const std::int64_t values = shape.regions ? 2 : shape.num_classes;
  std::vector<std::int64_t> labels(static_cast<std::size_t>(pixels.numel()));
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::int64_t>(i) % values;
  return batch_of({{"image", image}, {kMask, Tensor::from(labels, pixels, device)}});
}

Tensor Segmentation::loss_of(const models::Outputs& output, const data::Batch& batch) const {
  const Tensor& mask = batch.at(kMask);
  const bool for_each_map = !output.maps.empty() && mask.rank() == output.maps.front().rank();
  const Compares what = mask.dtype() != DType::kInt64 ? Compares::kMasks
                        : for_each_map                ? Compares::kRegions
                                                      : Compares::kLabelMaps;
  // Without data it was the loss that said what masks are.
  return what == compares_ ? mean_loss(output, mask) : make_loss(named_loss_, what)(output, mask);
}

metrics::LabelSets Segmentation::scored_labels() const {
  metrics::LabelSets single;
  for (std::int64_t c = 0; c < std::ssize(source().class_names()); ++c) single.push_back({c});
  return single;
}

Tensor Segmentation::predict(data::Split split, std::int64_t i) {
  check_split(split);
  const autograd::NoGrad no_grad;
  const Tensor prob = probabilities(infer(split, evaluated(split, i)).maps.front());
  return prob.alias(prob.shape().part(1, prob.rank()));
}

Task::PixelClasses Segmentation::pixel_classes(data::Split split, std::int64_t i) {
  check_split(split);
  const autograd::NoGrad no_grad;
  const data::Batch batch = evaluated(split, i);
  const Tensor prob = probabilities(infer(split, batch).maps.front());  // (1, k, h, w)
  const Tensor& mask = batch.at(kMask);
  const Shape plane{prob.size(2), prob.size(3)};
  if (mask.dtype() == DType::kInt64)
    return {mask.alias(plane), metrics::predicted_labels(prob).alias(plane)};
  return {foreground_labels(mask).alias(plane), foreground_labels(prob).alias(plane)};
}

Tensor Segmentation::predicted_classes(const data::Batch& batch) {
  const autograd::NoGrad no_grad;
  const Tensor prob = probabilities_of(batch);  // (1, k, h, w)
  const bool labels = source().any().shape().label_maps;
  return (labels ? metrics::predicted_labels(prob) : foreground_labels(prob))
      .alias({prob.size(2), prob.size(3)});
}

Task::Picture Segmentation::picture(data::Split split, std::int64_t i) {
  const data::Sample seen = source().at(split).get(i);
  const Tensor prob = predict(split, i);
  const Tensor& mask = seen.at(kMask);
  const bool soft = mask.dtype() != DType::kInt64;
  if (soft && postprocessing().empty()) return {seen.at("image"), mask, prob};
  Shape batch{1};
  for (const std::int64_t size : prob.shape()) batch.push_back(size);
  Tensor labels = soft ? foreground_labels(prob) : metrics::predicted_labels(prob.alias(batch));
  if (!postprocessing().empty())
    labels = postprocessed_labels(labels, {prob.size(-2), prob.size(-1)}, source().one(split, i), 0,
                                  split);
  if (soft) labels = ops::cast(labels, DType::kFloat32);
  return {seen.at("image"), mask, labels.alias(mask.shape())};
}

std::string Segmentation::shown_label(const std::string& name, const char* score, double share) {
  const std::string stem = std::filesystem::path(name).stem().string();
  return std::isnan(share) ? fmt::format("{}, {} -", stem, score)
                           : fmt::format("{}, {} {:.1f} %", stem, score, 100 * share);
}

void Segmentation::add_empty_images(Report& report, std::int64_t in_truth, std::int64_t in_both) {
  report.details.set(
      "images_without_foreground",
      schema::Value::object({{"in_truth", in_truth}, {"in_truth_and_prediction", in_both}}));
  if (in_truth == 0) return;
  report.lines.push_back(fmt::format(
      "{} of the {} images have no foreground; for {} of these none was predicted: they count "
      "100 % in the means over the images, the others 0 %",
      in_truth, report.indices.size(), in_both));
}

}  // namespace fovea::training

namespace {

constexpr fovea::training::TaskInfo kInfo{
    .help = "one mask for each image, or a class for every pixel",
    .data = fovea::data::Kind::kMaskedImages,
    .network = fovea::models::Interface::kDenseNetwork,
    .gives = "masks",
    .loss = "bce_dice",
    .also = {{fovea::data::Kind::kLabelMaps, "dice_ce"}},
    .usual = {"unet", 4},
    .of_volumes = {{"unet3d", 2}}};

}  // namespace

FOVEA_TASK(segmentation, fovea::training::Segmentation, kInfo)
