#include "training/loss.h"

#include <memory>

#include "ops/loss.h"
#include "schema/fields.h"

namespace fovea::training {
namespace {

struct CrossEntropy {
  double label_smoothing = 0;
};

const std::shared_ptr<const schema::Fields<CrossEntropy>>& cross_entropy_fields() {
  static const auto fields =
      std::make_shared<const schema::Fields<CrossEntropy>>(schema::Fields<CrossEntropy>{}.add(
          "label_smoothing", &CrossEntropy::label_smoothing,
          schema::at_least(0) && schema::less_than(1),
          "share e of the target spread evenly: (1 - e) onehot + e / classes"));
  return fields;
}

}  // namespace

schema::Choices class_loss_choices() {
  return {"loss", [] {
            return std::vector<schema::Choice>{
                {"cross_entropy", "mean of -log softmax(logits)[label]", cross_entropy_fields()}};
          }};
}

ClassLoss make_class_loss(const schema::Component& component) {
  schema::find_choice(class_loss_choices(), component.type, "loss.type");
  schema::Component completed = component;
  if (completed.options.is_null()) completed.options.set("type", component.type);
  const CrossEntropy options = cross_entropy_fields()->parse(completed, "loss");
  return [options](const Tensor& logits, const Tensor& labels) {
    return ops::cross_entropy(logits, labels, {.label_smoothing = options.label_smoothing});
  };
}

}  // namespace fovea::training
