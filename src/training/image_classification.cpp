// Task: one label for each image.
#include "training/classification.h"
#include "training/task_registry.h"

namespace {

using namespace fovea;

constexpr training::TaskInfo kInfo{.help = "one label for each image",
                                   .data = data::Kind::kImages,
                                   .network = models::Interface::kImageClassifier,
                                   .loss = "cross_entropy"};

class ImageClassification final : public training::Classification {
 public:
  using Classification::Classification;

  static std::vector<metrics::MetricInfo> metrics_of(const models::DataShape& shape) {
    return metrics::class_metrics(shape.num_classes);
  }
  static data::Batch random_batch(const models::DataShape& shape, std::int64_t size,
                                  const Device& device) {
    return training::batch_of({{"image", training::random_images(shape, size, device)},
                               {"label", training::some_labels(size, shape.num_classes, device)}});
  }
};

}  // namespace

FOVEA_TASK(image_classification, ImageClassification, kInfo)
