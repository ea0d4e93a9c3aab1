#include "training/loss.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "ops/convolution.h"
#include "ops/elementwise.h"
#include "ops/loss.h"
#include "ops/region_loss.h"
#include "schema/fields.h"
#include "schema/registry.h"

namespace fovea::training {
namespace {

// What every loss of a dense network knows.
struct MapOptions {
  std::vector<double> map_weights;
  bool map_subsets = false;
};

struct CrossEntropy : ops::CrossEntropyOptions, MapOptions {};
struct BceDice : ops::BceDiceOptions, MapOptions {};
struct Dice : ops::LabelDiceOptions, MapOptions {};
struct DiceCe : Dice {
  double dice_weight = 1;
  double ce_weight = 1;
  double label_smoothing = 0;
};
struct Region : ops::RegionLossOptions, MapOptions {};

template <class Options>
schema::Fields<Options> with_map_weights(schema::Fields<Options> fields) {
  return fields
      .add("map_weights", &MapOptions::map_weights, schema::at_least(0),
           "of a network that gives several maps (deep supervision): the weight of each "
           "one's loss, the finest first; [] = 1 each")
      .add("map_subsets", &MapOptions::map_subsets,
           "instead the sum of the losses of every choice of maps, whose logits are added (EMCAD's "
           "mutation loss, gdla 3.3)");
}

// The sum of every choice of maps but none, all of one size.
std::vector<Tensor> sums_of_subsets(const std::vector<Tensor>& maps, const ops::Sizes& size) {
  std::vector<Tensor> sums;
  for (const Tensor& map : maps) {
    const bool fits = map.shape().part(2, map.rank()).to_vector() == size;
    const Tensor at_size = fits ? map : ops::resize(map, size, ops::Interpolation::kLinear);
    const std::size_t before = sums.size();
    sums.push_back(at_size);
    for (std::size_t i = 0; i < before; ++i) sums.push_back(ops::add(sums[i], at_size));
  }
  return sums;
}

struct Entry : schema::Choice {
  static constexpr const char* kKind = "loss";
  // By Compares; empty where it does not.
  std::array<std::function<Loss(const schema::Component&)>, 3> makers;
};

// (logits or a map, target, options) -> loss.
template <class Options>
using LossOf = std::function<Tensor(const Tensor&, const Tensor&, const Options&)>;

template <class Options>
Loss of_logits(const Options& options, const LossOf<Options>& loss) {
  FOVEA_CHECK(options.map_weights.empty() && !options.map_subsets, ConfigError,
              "loss.map_weights: given, but the network gives classes; expected []");
  return [=](const models::Outputs& output, const Tensor& target) {
    return loss(output.logits, target, options);
  };
}

template <class Options>
Loss of_maps(const Options& options, const LossOf<Options>& loss) {
  FOVEA_CHECK(!options.map_subsets || options.map_weights.empty(), ConfigError,
              "loss.map_weights: given with map_subsets; expected []");
  return [=](const models::Outputs& output, const Tensor& target) {
    const std::size_t given = options.map_weights.size();
    FOVEA_CHECK(given == 0 || given == output.maps.size(), ConfigError,
                fmt::format("loss.map_weights: {} numbers for the {} maps of the network", given,
                            output.maps.size()));
    const int axes = output.maps.front().rank() - 2;
    const Shape size = target.shape().part(target.rank() - axes, target.rank());
    const std::vector<Tensor> maps =
        options.map_subsets ? sums_of_subsets(output.maps, size.to_vector()) : output.maps;
    return ops::over_maps(maps, options.map_weights, size.to_vector(),
                          [&](const Tensor& map) { return loss(map, target, options); });
  };
}

template <class Options>
class EntryOf {
 public:
  EntryOf(std::string name, std::string help, schema::Fields<Options> fields)
      : fields_(
            std::make_shared<const schema::Fields<Options>>(with_map_weights(std::move(fields)))) {
    entry_ = {{std::move(name), std::move(help), fields_}, {}};
  }
  EntryOf& compares(Compares what, const LossOf<Options>& loss) {
    entry_.makers.at(static_cast<std::size_t>(what)) = [fields = fields_, what,
                                                        loss](const schema::Component& component) {
      const Options options = fields->parse(component, "loss");
      return what == Compares::kClasses ? of_logits(options, loss) : of_maps(options, loss);
    };
    return *this;
  }
  Entry entry() const { return entry_; }

 private:
  std::shared_ptr<const schema::Fields<Options>> fields_;
  Entry entry_;
};

// Of labels, or of the probabilities of the classes.
Tensor class_cross_entropy(const Tensor& logits, const Tensor& target, const CrossEntropy& o) {
  if (target.dtype() == DType::kInt64) return ops::cross_entropy(logits, target, o);
  const bool fits = target.dtype() == logits.dtype();
  return ops::soft_cross_entropy(logits, fits ? target : ops::cast(target, logits.dtype()), o);
}

Entry cross_entropy() {
  using O = CrossEntropy;
  return EntryOf<O>("cross_entropy",
                    "mean of -log softmax(logits)[label], over samples or pixels; of samples that "
                    "were mixed, the sum over their classes by their shares",
                    schema::Fields<O>{}.add(
                        "label_smoothing", &O::label_smoothing,
                        schema::at_least(0) && schema::less_than(1),
                        "share e of the target spread evenly: (1 - e) onehot + e / classes"))
      .compares(Compares::kClasses, class_cross_entropy)
      .compares(Compares::kLabelMaps, ops::pixel_cross_entropy)
      .entry();
}

// The sum of both keeps the sigmoid, which the paper's networks end in. It is float32 in mixed
// precision too: bfloat16 rounds what is above 0.998 to 1, of whose complement the loss takes the
// logarithm.
Entry bce_dice() {
  using O = BceDice;
  return EntryOf<O>(
             "bce_dice",
             "bce_weight BCE + dice_weight Dice of sigmoid(logits) and masks (kcla 5.4)",
             schema::Fields<O>{}
                 .add("bce_weight", &O::bce_weight, schema::at_least(0),
                      "weight of the cross-entropy")
                 .add("dice_weight", &O::dice_weight, schema::at_least(0), "weight of 1 - Dice")
                 .add("smooth", &O::smooth, schema::greater_than(0),
                      "added to both sides of the Dice fraction"))
      .compares(Compares::kMasks,
                [](const Tensor& map, const Tensor& masks, const O& options) {
                  return ops::bce_dice(ops::sigmoid(map), masks, options);
                })
      .entry();
}

// What losses by regions of classes know.
template <class Options>
schema::Fields<Options> with_regions(schema::Fields<Options> fields) {
  return fields
      .add("smooth", &Options::smooth, schema::greater_than(0),
           "added to both sides of the fraction")
      .add("sigmoid", &Options::sigmoid,
           "sigmoid of each map instead of a softmax over the classes")
      .add("class_weights", &Options::class_weights, schema::at_least(0),
           "weight of every class that counts in the mean over them; [] = 1 each");
}

template <class Options>
schema::Fields<Options> with_dice(schema::Fields<Options> fields) {
  return with_regions(std::move(fields))
      .add("background", &Dice::background, "whether class 0 counts in the Dice")
      .add("batch", &Dice::batch,
           "one Dice of a class over the whole batch instead of one for each image")
      .add("squared_pred", &Dice::squared_pred,
           "squares of the probabilities in the denominator (gdla 6.3, with batch)");
}

Entry dice() {
  return EntryOf<Dice>("dice",
                       "1 - mean over classes of the Dice of softmax(logits) and labels, with the "
                       "options of MONAI's DiceLoss",
                       with_dice(schema::Fields<Dice>{}))
      .compares(Compares::kLabelMaps, ops::label_dice)
      .entry();
}

Entry dice_ce() {
  using O = DiceCe;
  return EntryOf<O>(
             "dice_ce", "dice_weight dice + ce_weight cross_entropy, as MONAI and nnU-Net",
             with_dice(schema::Fields<O>{})
                 .add("dice_weight", &O::dice_weight, schema::at_least(0), "weight of 1 - Dice")
                 .add("ce_weight", &O::ce_weight, schema::at_least(0),
                      "weight of the cross-entropy")
                 .add("label_smoothing", &O::label_smoothing,
                      schema::at_least(0) && schema::less_than(1),
                      "of the cross-entropy: share of the target spread evenly"))
      .compares(Compares::kLabelMaps,
                [](const Tensor& map, const Tensor& labels, const O& o) {
                  const Tensor ce = ops::pixel_cross_entropy(
                      map, labels,
                      {.label_smoothing = o.label_smoothing, .ignore_index = o.ignore_index});
                  return ops::add(ops::mul(ops::label_dice(map, labels, o), o.dice_weight),
                                  ops::mul(ce, o.ce_weight));
                })
      .entry();
}

Entry boundary_dou() {
  return EntryOf<Region>("boundary_dou",
                         "boundary difference over union of each class over the batch (gdla 6.3)",
                         with_regions(schema::Fields<Region>{}))
      .compares(Compares::kLabelMaps, ops::boundary_dou)
      .entry();
}

const schema::Registry<Entry>& entries() {
  static const schema::Registry<Entry> all = {cross_entropy(), bce_dice(), dice(), dice_ce(),
                                              boundary_dou()};
  return all;
}

const char* name_of(Compares what) {
  switch (what) {
    case Compares::kClasses:
      return "classes";
    case Compares::kMasks:
      return "masks";
    default:
      return "label maps";
  }
}

}  // namespace

schema::Choices loss_choices() { return entries().choices(); }

bool compares(const schema::Component& component, Compares what) {
  return std::any_of(entries().begin(), entries().end(), [&](const Entry& entry) {
    return entry.name == component.type && entry.makers.at(static_cast<std::size_t>(what));
  });
}

Loss make_loss(const schema::Component& component, Compares compares) {
  const auto maker = [&](const Entry& entry) -> const auto& {
    return entry.makers.at(static_cast<std::size_t>(compares));
  };
  if (const auto& make = maker(entries().find(component.type, "loss.type"))) return make(component);
  std::string fitting;
  for (const Entry& entry : entries()) {
    if (maker(entry)) fitting += (fitting.empty() ? "" : ", ") + entry.name;
  }
  throw ConfigError(fmt::format("loss.type: {} does not compare {}; choose {}", component.type,
                                name_of(compares), fitting));
}

}  // namespace fovea::training
