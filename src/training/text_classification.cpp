// Task: one label for each text.
#include "training/classification.h"
#include "training/task_registry.h"

namespace {

using namespace fovea;

constexpr training::TaskInfo kInfo{.help = "one label for each text",
                                   .data = data::Kind::kTexts,
                                   .network = models::Interface::kTextClassifier,
                                   .loss = "cross_entropy"};

class TextClassification final : public training::Classification {
 public:
  using Classification::Classification;

  static std::vector<metrics::MetricInfo> metrics_of(const models::DataShape& shape) {
    return metrics::class_metrics(shape.num_classes);
  }
  static data::Batch random_batch(const models::DataShape& shape, std::int64_t size,
                                  const Device& device) {
    return training::batch_of({{"tokens", training::random_texts(shape, size, device)},
                               {"label", training::some_labels(size, shape.num_classes, device)}});
  }
};

}  // namespace

FOVEA_TASK(text_classification, TextClassification, kInfo)
