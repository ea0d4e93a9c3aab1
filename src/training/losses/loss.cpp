#include "training/losses/loss.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "ops/conv/convolution.h"
#include "ops/elementwise.h"
#include "ops/losses/loss.h"
#include "ops/losses/mask_loss.h"
#include "ops/losses/region_loss.h"
#include "ops/losses/volume_loss.h"
#include "schema/fields.h"
#include "schema/registry.h"

namespace fovea::training {
namespace {

// What every loss of a dense network knows.
struct MapOptions {
  std::vector<double> map_weights;
  bool map_subsets = false;
  double map_decay = 0;      // where there are no map_weights: each map's weight over the one's
                             // before, all of them 1 together; 0: 1 each
  bool at_map_size = false;  // labels are brought to the size of each map, not maps to that of them
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
struct NnUnet : ops::NnUnetOptions, MapOptions {};
struct PaperEq8 : ops::PaperEq8Options, MapOptions {};

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

// Deep supervision as nnU-Net does it: 1, 1/2, 1/4, ... of the loss, each map at its own size.
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

std::vector<double> weights_of(const MapOptions& options, std::size_t maps) {
  if (!options.map_weights.empty() || options.map_decay == 0) return options.map_weights;
  std::vector<double> weights;
  double total = 0;
  for (std::size_t i = 0; i < maps; ++i) {
    weights.push_back(i == 0 ? 1 : weights.back() * options.map_decay);
    total += weights.back();
  }
  for (double& weight : weights) weight /= total;
  return weights;
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

// Labels (b, ...), or masks (b, k, ...) of every map, by the nearest place.
Tensor at_size_of(const Tensor& map, const Tensor& target) {
  const ops::Sizes size = map.shape().part(2, map.rank()).to_vector();
  if (target.rank() != map.rank()) return ops::nearest_labels(target, size);
  Shape rows{target.size(0) * target.size(1)};
  for (int axis = 2; axis < target.rank(); ++axis) rows.push_back(target.size(axis));
  return ops::nearest_labels(target.alias(rows), size).alias(map.shape());
}

struct Entry : schema::Choice {
  static constexpr const char* kKind = "loss";
  // By Compares; empty where it does not.
  std::array<std::function<Loss(const schema::Component&)>, 4> makers;
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
    const std::vector<double> weights = weights_of(options, output.maps.size());
    if (options.at_map_size && !options.map_subsets) {
      Tensor total;
      for (std::size_t i = 0; i < output.maps.size(); ++i) {
        const Tensor& map = output.maps[i];
        Tensor part = loss(map, at_size_of(map, target), options);
        if (!weights.empty()) part = ops::mul(part, weights[i]);
        total = total.defined() ? ops::add(total, part) : part;
      }
      return total;
    }
    const int axes = output.maps.front().rank() - 2;
    const Shape size = target.shape().part(target.rank() - axes, target.rank());
    const std::vector<Tensor> maps =
        options.map_subsets ? sums_of_subsets(output.maps, size.to_vector()) : output.maps;
    return ops::over_maps(maps, weights, size.to_vector(),
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
                    schema::Fields<O>{}
                        .add("label_smoothing", &O::label_smoothing,
                             schema::at_least(0) && schema::less_than(1),
                             "share e of the target spread evenly: (1 - e) onehot + e / classes")
                        .add("class_weights", &O::class_weights, schema::at_least(0),
                             "weight of every class, as PyTorch's: means are over the weights of "
                             "the labels; [] = 1 each"))
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
           "one Dice of a class, or region, over the whole batch instead of one for each image")
      .add("squared_pred", &Dice::squared_pred,
           "squares of the probabilities in the denominator (gdla 6.3, with batch)");
}

Entry dice() {
  return EntryOf<Dice>("dice",
                       "1 - mean over classes of the Dice of softmax(logits) and labels, with the "
                       "options of MONAI's DiceLoss; of regions sigmoid(logits) and their masks",
                       with_dice(schema::Fields<Dice>{}))
      .compares(Compares::kLabelMaps, ops::label_dice)
      .compares(Compares::kRegions, ops::mask_dice)
      .entry();
}

Entry dice_ce() {
  using O = DiceCe;
  return EntryOf<O>(
             "dice_ce",
             "dice_weight dice + ce_weight cross_entropy, as MONAI and nnU-Net, of regions the "
             "binary one; class_weights, one for every class or region, weigh both",
             with_dice(schema::Fields<O>{})
                 .add("dice_weight", &O::dice_weight, schema::at_least(0), "weight of 1 - Dice")
                 .add("ce_weight", &O::ce_weight, schema::at_least(0),
                      "weight of the cross-entropy")
                 .add("label_smoothing", &O::label_smoothing,
                      schema::at_least(0) && schema::less_than(1),
                      "of the cross-entropy: share of the target spread evenly"))
      .compares(Compares::kLabelMaps,
                [](const Tensor& map, const Tensor& labels, const O& o) {
                  const Tensor ce = ops::pixel_cross_entropy(map, labels,
                                                             {.label_smoothing = o.label_smoothing,
                                                              .ignore_index = o.ignore_index,
                                                              .class_weights = o.class_weights});
                  // MONAI: one weight a class; the Dice takes those of the classes it has.
                  ops::LabelDiceOptions dice = o;
                  if (!o.background && !o.class_weights.empty())
                    dice.class_weights.erase(dice.class_weights.begin());
                  return ops::add(ops::mul(ops::label_dice(map, labels, dice), o.dice_weight),
                                  ops::mul(ce, o.ce_weight));
                })
      .compares(Compares::kRegions,
                [](const Tensor& map, const Tensor& masks, const O& o) {
                  FOVEA_CHECK(o.label_smoothing == 0, ConfigError,
                              fmt::format("loss.label_smoothing: {}; expected 0 for regions, whose "
                                          "cross-entropy is binary",
                                          o.label_smoothing));
                  const Tensor ce =
                      ops::mask_cross_entropy(map, masks, o.class_weights, o.ignore_index);
                  return ops::add(ops::mul(ops::mask_dice(map, masks, o), o.dice_weight),
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

Entry nnunet() {
  using O = NnUnet;
  return EntryOf<O>(
             "nnunet",
             "ce_weight cross-entropy - dice_weight Dice of softmax(logits) and labels, as "
             "nnU-Net has it for volumes (dformer 7.5); of regions binary cross-entropy, "
             "sigmoid(logits) and their masks",
             with_halving_maps<O>()
                 .add("smooth", &O::smooth, schema::greater_than(0),
                      "added to both sides of the Dice fraction")
                 .add("background", &O::background, "whether class 0 has a Dice")
                 .add("batch_dice", &O::batch_dice,
                      "one Dice of a class, or region, over the whole batch instead of one for "
                      "each volume")
                 .add("ce_weight", &O::ce_weight, schema::at_least(0),
                      "weight of the cross-entropy")
                 .add("dice_weight", &O::dice_weight, schema::at_least(0), "weight of the Dice"))
      .compares(Compares::kLabelMaps, ops::nnunet_loss)
      .compares(Compares::kRegions, ops::nnunet_mask_loss)
      .entry();
}

Entry paper_eq8() {
  using O = PaperEq8;
  return EntryOf<O>(
             "paper_eq8",
             "half the cross-entropy minus the Dice of all classes, of every volume, as the "
             "dformer paper prints it (dformer 7.5)",
             with_halving_maps<O>()
                 .add("bce", &O::bce,
                      "the binary cross-entropy of all classes in place of the cross-entropy")
                 .add("smooth", &O::smooth, schema::greater_than(0),
                      "added to the denominator of the Dice"))
      .compares(Compares::kLabelMaps, ops::paper_eq8)
      .entry();
}

const schema::Registry<Entry>& entries() {
  static const schema::Registry<Entry> all = {cross_entropy(), bce_dice(), dice(),     dice_ce(),
                                              boundary_dou(),  nnunet(),   paper_eq8()};
  return all;
}

const char* name_of(Compares what) {
  switch (what) {
    case Compares::kClasses:
      return "classes";
    case Compares::kMasks:
      return "masks";
    case Compares::kRegions:
      return "regions";
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
