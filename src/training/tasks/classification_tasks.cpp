// Tasks: one label for each image, one label for each text. They differ in what the network reads.
#include "training/tasks/classification.h"
#include "training/tasks/task_registry.h"

namespace {

using namespace fovea;

// `Input` says what batches call that, and makes some up.
template <class Input>
class ClassificationOf final : public training::Classification {
 public:
  using Classification::Classification;

  static data::Batch random_batch(const models::DataShape& shape, std::int64_t size,
                                  const Device& device) {
    return training::batch_of({{Input::kName, Input::random(shape, size, device)},
                               {"label", training::some_labels(size, shape.num_classes, device)}});
  }
};

struct Images {
  static constexpr const char* kName = "image";
  static constexpr auto random = training::random_images;
};
constexpr training::TaskInfo kImages{.help = "one label for each image",
                                     .data = data::Kind::kImages,
                                     .network = models::Interface::kImageClassifier,
                                     .gives = "classes",
                                     .loss = "cross_entropy"};

struct Texts {
  static constexpr const char* kName = "tokens";
  static constexpr auto random = training::random_texts;
};
constexpr training::TaskInfo kTexts{.help = "one label for each text",
                                    .data = data::Kind::kTexts,
                                    .network = models::Interface::kTextClassifier,
                                    .gives = "classes",
                                    .loss = "cross_entropy",
                                    .usual = {"transformer", 32}};

}  // namespace

FOVEA_TASK(image_classification, ClassificationOf<Images>, kImages)
FOVEA_TASK(text_classification, ClassificationOf<Texts>, kTexts)
