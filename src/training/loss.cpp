#include "training/loss.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "ops/loss.h"
#include "schema/fields.h"

namespace fovea::training {
namespace {

enum class Kind { kClasses, kMasks };

struct Entry {
  std::string name;
  std::string help;
  Kind kind;
  std::shared_ptr<const schema::Description> fields;
  std::function<Loss(const schema::Component&)> make;
};

template <class Options>
Entry make_entry(std::string name, std::string help, Kind kind,
                 const schema::Fields<Options>& fields,
                 Tensor (*loss)(const Tensor&, const Tensor&, const Options&)) {
  const auto shared = std::make_shared<const schema::Fields<Options>>(fields);
  return {std::move(name), std::move(help), kind, shared,
          [shared, loss](const schema::Component& component) -> Loss {
            const Options options = shared->parse(component, "loss");
            return [options, loss](const Tensor& output, const Tensor& target) {
              return loss(output, target, options);
            };
          }};
}

Entry cross_entropy() {
  using O = ops::CrossEntropyOptions;
  return make_entry<O>(
      "cross_entropy", "mean of -log softmax(logits)[label]", Kind::kClasses,
      schema::Fields<O>{}.add("label_smoothing", &O::label_smoothing,
                              schema::at_least(0) && schema::less_than(1),
                              "share e of the target spread evenly: (1 - e) onehot + e / classes"),
      ops::cross_entropy);
}

Entry bce_dice() {
  using O = ops::BceDiceOptions;
  return make_entry<O>(
      "bce_dice", "bce_weight BCE + dice_weight Dice of probabilities and masks (kcla 5.4)",
      Kind::kMasks,
      schema::Fields<O>{}
          .add("bce_weight", &O::bce_weight, schema::at_least(0), "weight of the cross-entropy")
          .add("dice_weight", &O::dice_weight, schema::at_least(0), "weight of 1 - Dice")
          .add("smooth", &O::smooth, schema::greater_than(0),
               "added to both sides of the Dice fraction"),
      ops::bce_dice);
}

const std::vector<Entry>& entries() {
  static const std::vector<Entry> all = {cross_entropy(), bce_dice()};
  return all;
}

Loss make(const schema::Component& component, Kind kind) {
  schema::find_choice(loss_choices(), component.type, "loss.type");
  schema::Component completed = component;
  if (completed.options.is_null()) completed.options.set("type", component.type);
  std::string fitting;
  for (const Entry& entry : entries()) {
    if (entry.kind != kind) continue;
    if (entry.name == component.type) return entry.make(completed);
    fitting += (fitting.empty() ? "" : ", ") + entry.name;
  }
  throw ConfigError(fmt::format("loss.type: {} does not compare {}; choose {}", component.type,
                                kind == Kind::kMasks ? "masks" : "classes", fitting));
}

}  // namespace

schema::Choices loss_choices() {
  return {"loss", [] {
            std::vector<schema::Choice> choices;
            for (const Entry& entry : entries())
              choices.push_back({entry.name, entry.help, entry.fields});
            return choices;
          }};
}

Loss make_class_loss(const schema::Component& component) { return make(component, Kind::kClasses); }

Loss make_mask_loss(const schema::Component& component) { return make(component, Kind::kMasks); }

}  // namespace fovea::training
