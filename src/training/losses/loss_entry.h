// What a loss of losses.def is to the list of them. A loss is one source file, which ends in
// FOVEA_LOSS, and one line in losses.def; its mathematics is in ops/losses.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "schema/fields.h"
#include "schema/registry.h"
#include "training/losses/loss.h"

namespace fovea::training {

/// What every loss of a dense network knows; its options derive from this.
struct MapOptions {
  std::vector<double> map_weights;
  bool map_subsets = false;
  double map_decay = 0;      // where there are no map_weights: each map's weight over the one's
                             // before, all of them 1 together; 0: 1 each
  bool at_map_size = false;  // labels are brought to the size of each map, not maps to that of them
};

/// The loss of a network's maps, by how each one is compared with the target. Throws ConfigError
/// for options that contradict each other; so does the loss where the number of maps does not fit.
Loss loss_of_maps(const MapOptions& options,
                  std::function<Tensor(const Tensor& map, const Tensor& target)> compare);
/// That of the logits of classes. Throws ConfigError for options that are of maps.
Loss loss_of_logits(const MapOptions& options,
                    std::function<Tensor(const Tensor& logits, const Tensor& target)> compare);

struct LossEntry : schema::Choice {
  static constexpr const char* kKind = "loss";
  /// By Compares; empty where it does not.
  std::array<std::function<Loss(const schema::Component&, const LabelCounts&)>, 5> makers;
};

/// Makes an entry: one compares() for each kind of target.
template <class Options>
class LossMaker {
 public:
  LossMaker(std::string help, schema::Fields<Options> fields)
      : fields_(
            std::make_shared<const schema::Fields<Options>>(with_map_weights(std::move(fields)))) {
    entry_ = {{"", std::move(help), fields_}, {}};
  }
  /// compare: (logits or a map, target, options) -> loss.
  LossMaker& compares(
      Compares what,
      const std::function<Tensor(const Tensor&, const Tensor&, const Options&)>& compare) {
    entry_.makers.at(static_cast<std::size_t>(what)) =
        [fields = fields_, what, compare](const schema::Component& component,
                                          [[maybe_unused]] const LabelCounts& counts) {
          Options options = fields->parse(component, "loss");
          if constexpr (requires { options.balanced; })
            options.class_weights = chosen_weights(options.class_weights, options.balanced, counts);
          const auto with_options = [=](const Tensor& x, const Tensor& target) {
            return compare(x, target, options);
          };
          return what == Compares::kClasses ? loss_of_logits(options, with_options)
                                            : loss_of_maps(options, with_options);
        };
    return *this;
  }
  /// compare: (what the network gives, target, options) -> loss, of Compares::kSequences.
  LossMaker& compares_sequences(
      const std::function<Tensor(const models::Outputs&, const Tensor&, const Options&)>& compare) {
    entry_.makers.at(static_cast<std::size_t>(Compares::kSequences)) =
        [fields = fields_, compare](const schema::Component& component,
                                    const LabelCounts& /*counts*/) -> Loss {
      const Options options = fields->parse(component, "loss");
      FOVEA_CHECK(options.map_weights.empty() && !options.map_subsets, ConfigError,
                  "loss.map_weights: given, but the network gives no maps; expected []");
      return [=](const models::Outputs& output, const Tensor& target) {
        return compare(output, target, options);
      };
    };
    return *this;
  }
  LossEntry named(const char* name) const {
    LossEntry entry = entry_;
    entry.name = name;
    return entry;
  }

 private:
  static schema::Fields<Options> with_map_weights(schema::Fields<Options> fields) {
    return fields
        .add("map_weights", &MapOptions::map_weights, schema::at_least(0),
             "of a network that gives several maps (deep supervision): the weight of each "
             "one's loss, the finest first; [] = 1 each")
        .add("map_subsets", &MapOptions::map_subsets,
             "instead the sum of the losses of every choice of maps, whose logits are added "
             "(EMCAD's mutation loss, gdla 3.3)");
  }

  std::shared_ptr<const schema::Fields<Options>> fields_;
  LossEntry entry_;
};

/// Deep supervision as nnU-Net does it: 1, 1/2, 1/4, ... of the loss, each map at its own size.
template <class Options>
schema::Fields<Options> with_halving_maps() {
  Options options;
  options.map_decay = 0.5;
  options.at_map_size = true;
  return schema::Fields<Options>(options)
      .add("map_decay", &MapOptions::map_decay, schema::in_range(0, 1),
           "of a network that gives several maps, without map_weights: the weight of each map "
           "relative to the one before it, all of them 1 together; 0 = 1 each")
      .add("at_map_size", &MapOptions::at_map_size,
           "labels are brought to the size of each map (nearest), instead of maps to that of the "
           "labels");
}

/// All of losses.def, and what was added since.
schema::Registry<LossEntry>& losses();

}  // namespace fovea::training

/// FOVEA_LOSS(name, LossMaker<Options>(help, fields).compares(...)...): defines the entry that a
/// line of losses.def refers to. Inside namespace fovea::training.
#define FOVEA_LOSS(name, ...) \
  LossEntry fovea_loss_##name() { return (__VA_ARGS__).named(#name); }
