#include "experiment/planning/proposal.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "data/registry.h"
#include "experiment/costs/training_step.h"
#include "experiment/file/experiment.h"
#include "experiment/planning/commented_json.h"
#include "experiment/run/summary.h"
#include "experiment/tables/text_table.h"
#include "metrics/statistics.h"

namespace fovea::experiment {
namespace {

using schema::Value;

constexpr double kSmaller = 0.8;          // of the memory planned for, from one try to the next
constexpr double kLeastMemoryGib = 0.01;  // at which trying ends
// Backward costs about twice what forward does.
constexpr std::int64_t kPassesOfStep = 3;
constexpr std::int64_t kCropsOfEpoch = 500;  // nnU-Net's: 250 steps of 2 crops

const data::PartSurvey& train_of(const data::Survey& survey) {
  const auto found = std::ranges::find(survey.parts, "train", &data::PartSurvey::name);
  FOVEA_CHECK(found != survey.parts.end() && found->samples > 0, ConfigError,
              "plan: no sample of train could be read");
  return *found;
}

UNetFingerprint of_volumes(const data::Survey& survey) {
  const data::PartSurvey& train = train_of(survey);
  UNetFingerprint found;
  found.cases = train.samples;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    std::vector<double> sides;
    for (const data::VolumeSides& sizes : train.prepared)
      sides.push_back(static_cast<double>(sizes[axis]));
    found.median_shape.push_back(metrics::median(std::move(sides)));
    found.spacing.push_back(survey.plan->spacing[axis]);
  }
  return found;
}

// The longer side of images for a network of small patches, in these.
constexpr std::int64_t kPatchesAcross = 4;

// Median height and width of the images of train.
std::vector<double> median_size(const data::PartSurvey& train) {
  std::vector<double> median_sides;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    std::vector<double> sides;
    for (const auto& [size, samples] : train.sizes)
      sides.insert(sides.end(), static_cast<std::size_t>(samples),
                   static_cast<double>(size.at(axis)));
    median_sides.push_back(metrics::median(std::move(sides)));
  }
  return median_sides;
}

// Images of one square size are seen whole; others are not squashed where the data set can cut
// patches.
ImagePlan image_plan(const Value& dataset, const data::PartSurvey& train) {
  const bool one_square = train.sizes.size() == 1 &&
                          train.sizes.begin()->first.at(0) == train.sizes.begin()->first.at(1);
  return one_square || dataset.find("patch_size") == nullptr ? ImagePlan::kSquares
                                                             : ImagePlan::kPatches;
}

// Millimetres of a pixel where the data set says them, else 1.
std::vector<double> pixel_spacing(const Value& dataset) {
  const Value* given = dataset.find("spacing");
  if (given == nullptr || !given->is_array() || given->size() != 2) return {1, 1};
  return {given->items()[0].as_double(), given->items()[1].as_double()};
}

// Images as squares of the area of the median image.
UNetFingerprint of_squares(const data::PartSurvey& train, std::int64_t most_side) {
  const std::vector<double> median_sides = median_size(train);
  UNetFingerprint found;
  found.cases = train.samples;
  double side = std::round(std::sqrt(median_sides[0] * median_sides[1]));
  if (most_side > 0) side = std::min(side, static_cast<double>(most_side));
  found.median_shape.assign(2, side);
  found.spacing.assign(2, 1);
  return found;
}

// Sets `longest` where images are many times larger than the patches that a small device takes.
UNetFingerprint of_patches(const Value& dataset, const data::PartSurvey& train,
                           std::int64_t most_side, std::int64_t& longest) {
  UNetFingerprint found;
  found.cases = train.samples;
  found.median_shape = median_size(train);
  found.spacing = pixel_spacing(dataset);
  const double longer = std::max(found.median_shape[0], found.median_shape[1]);
  const auto most = static_cast<double>(kPatchesAcross * most_side);
  if (most_side == 0 || longer <= most) return found;
  longest = kPatchesAcross * most_side;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    found.median_shape[axis] = std::round(found.median_shape[axis] * most / longer);
    found.spacing[axis] *= longer / most;
  }
  return found;
}

// `unet` halves both axes: further stages, which halve the longer one alone, are left out.
void keep_even_stages(UNetPlan& plan) {
  std::size_t stages = 1;
  while (stages < plan.strides.size() && plan.strides[stages][0] == plan.strides[stages][1])
    ++stages;
  plan.strides.resize(stages);
  plan.kernel_sizes.resize(stages);
  plan.features_per_stage.resize(stages);
}

Value nested(const std::vector<std::vector<std::int64_t>>& lists) {
  Value all = Value::array();
  for (const auto& list : lists) all.push_back(Value::array(list));
  return all;
}

Value settings_for_volumes(const UNetPlan& plan) {
  const Value patch = Value::array(plan.patch_size);
  return Value::object(
      {{"dataset", Value::object({{"img_size", patch}, {"samples_per_epoch", kCropsOfEpoch}})},
       {"model", Value::object({{"type", "plain_conv_unet"},
                                {"img_size", patch},
                                {"features_per_stage", Value::array(plan.features_per_stage)},
                                {"strides", nested(plan.strides)},
                                {"kernel_sizes", nested(plan.kernel_sizes)}})},
       {"train", Value::object({{"batch_size", plan.batch_size}})},
       {"eval", Value::object({{"inferer", Value::object({{"type", "nnunet_windows"},
                                                          {"roi_size", patch}})}})}});
}

Value settings_for_images(const Proposal& proposal) {
  const UNetPlan& plan = proposal.plan;
  std::vector<std::int64_t> up(plan.features_per_stage.rbegin() + 1,
                               plan.features_per_stage.rend());
  const Value patch = Value::array(plan.patch_size);
  const bool patches = proposal.images == ImagePlan::kPatches;
  Value dataset = patches ? Value::object({{"patch_size", patch}})
                          : Value::object({{"img_size", plan.patch_size[0]}});
  if (proposal.longest > 0) dataset.set("longest", proposal.longest);
  Value settings =
      Value::object({{"dataset", dataset},
                     {"model", Value::object({{"type", "unet"},
                                              {"widths", Value::array(plan.features_per_stage)},
                                              {"decoder_channels", Value::array(up)}})},
                     {"train", Value::object({{"batch_size", plan.batch_size}})}});
  if (patches)
    settings.set("eval", Value::object({{"inferer", Value::object({{"type", "nnunet_windows"},
                                                                   {"roi_size", patch}})}}));
  return settings;
}

// What a training step of the proposed network takes.
void measure(const Value& resolved, models::DataShape shape, Proposal& proposal) {
  Value trial = Value::object({{"task", resolved.at("task")}});
  Value dataset = resolved.at("dataset");
  if (dataset.find("patch_size") != nullptr) {  // images of another plan
    for (const char* key : {"img_size", "patch_size", "longest"}) dataset.erase(key);
  }
  for (const auto& member : proposal.settings.at("dataset").members())
    dataset.set(member.key, member.value);
  trial.set("dataset", dataset);
  trial.set("model", proposal.settings.at("model"));
  Value train = resolved.at("train");
  train.set("batch_size", proposal.plan.batch_size);
  trial.set("train", train);
  trial.set("optimizer", resolved.at("optimizer"));
  const Experiment e = parse(resolve(trial));
  const std::vector<std::int64_t>& patch = proposal.plan.patch_size;
  const std::size_t plane = patch.size() - 2;
  shape.depth = patch.size() == 3 ? patch[0] : 0;
  shape.height = patch[plane];
  shape.width = patch[plane + 1];
  proposal.peak_bytes = step_peak_bytes(e, shape);
  const Summary costs =
      summarise([&](const Device& device) { return make_model(e, device, shape); },
                sample_shape(e, shape), 1);
  proposal.macs = costs.macs * proposal.plan.batch_size * kPassesOfStep;
}

template <class T>
std::string times(const std::vector<T>& sides) {
  return fmt::format("{:.4g}", fmt::join(std::vector<double>(sides.begin(), sides.end()), " x "));
}

}  // namespace

Proposal propose(const Value& resolved, const data::Survey& survey, const models::DataShape& shape,
                 const ProposalRules& rules) {
  const data::Kind kind = data::kind_of(parse(resolved).dataset);
  FOVEA_CHECK(
      survey.plan || kind == data::Kind::kMaskedImages || kind == data::Kind::kLabelMaps,
      ConfigError,
      fmt::format("plan: {} have no patches to be planned; expected volumes, or images with "
                  "masks",
                  data::name_of(kind)));
  Proposal proposal;
  const Value& dataset = resolved.at("dataset");
  if (survey.plan) {
    proposal.fingerprint = of_volumes(survey);
  } else if (proposal.images = image_plan(dataset, train_of(survey));
             proposal.images == ImagePlan::kSquares) {
    proposal.fingerprint = of_squares(train_of(survey), rules.most_side);
  } else {
    proposal.fingerprint = of_patches(dataset, train_of(survey), rules.most_side, proposal.longest);
  }
  proposal.fingerprint.channels = shape.channels;
  proposal.fingerprint.classes = std::max<std::int64_t>(2, shape.num_classes);
  proposal.rules = rules.unet;
  UNetFingerprint planned = proposal.fingerprint;
  for (double& side : planned.median_shape) {
    if (!survey.plan && rules.most_side > 0)
      side = std::min(side, static_cast<double>(rules.most_side));
  }
  for (;; proposal.rules.memory_gib *= kSmaller) {
    FOVEA_CHECK(proposal.rules.memory_gib > kLeastMemoryGib, ConfigError,
                fmt::format("plan: a training step of the smallest patch needs {}; {} are there",
                            bytes_text(proposal.peak_bytes), bytes_text(rules.most_bytes)));
    proposal.plan = plan_unet(planned, proposal.rules);
    if (!survey.plan) keep_even_stages(proposal.plan);
    proposal.settings =
        survey.plan ? settings_for_volumes(proposal.plan) : settings_for_images(proposal);
    measure(resolved, shape, proposal);
    const bool fits = rules.most_bytes <= 0 || proposal.peak_bytes <= rules.most_bytes;
    if (fits && (rules.most_macs <= 0 || proposal.macs <= rules.most_macs)) return proposal;
  }
}

Value to_json(const Proposal& proposal) {
  const UNetFingerprint& of = proposal.fingerprint;
  return Value::object({{"spacing_mm", Value::array(of.spacing)},
                        {"median_shape", Value::array(of.median_shape)},
                        {"cases", of.cases},
                        {"memory_gib", proposal.rules.memory_gib},
                        {"patch_size", Value::array(proposal.plan.patch_size)},
                        {"batch_size", proposal.plan.batch_size},
                        {"features_per_stage", Value::array(proposal.plan.features_per_stage)},
                        {"strides", nested(proposal.plan.strides)},
                        {"kernel_sizes", nested(proposal.plan.kernel_sizes)},
                        {"train_peak_bytes", proposal.peak_bytes},
                        {"macs_per_step", proposal.macs},
                        {"settings", proposal.settings}});
}

std::string to_text(const Proposal& proposal) {
  const UNetFingerprint& of = proposal.fingerprint;
  const UNetPlan& plan = proposal.plan;
  const bool volumes = of.spacing.size() == 3;
  std::string text = fmt::format(
      "proposed by nnU-Net's rules for {:.3g} GiB, from {} {} of {}{}:\n",
      proposal.rules.memory_gib, of.cases, volumes ? "volumes" : "images", times(of.median_shape),
      volumes ? fmt::format(" voxels (median) of {} mm", times(of.spacing))
      : proposal.images == ImagePlan::kSquares ? std::string(" pixels")
      : of.spacing == std::vector<double>{1, 1}
          ? std::string(" pixels (median)")
          : fmt::format(" pixels (median) of {} mm", times(of.spacing)));
  const auto line = [&](const char* what, const std::string& value) {
    text += fmt::format("  {:<11} {}\n", what, value);
  };
  const bool patches = volumes || proposal.images == ImagePlan::kPatches;
  line(patches ? "patch" : "size", times(plan.patch_size));
  if (proposal.longest > 0)
    line("images", fmt::format("scaled to a longer side of {}", proposal.longest));
  line("batch", fmt::format("{}", plan.batch_size));
  line("a step", fmt::format("{} of memory, {} MACs (estimated)", bytes_text(proposal.peak_bytes),
                             count_text(proposal.macs)));
  TextTable table{{"stage", "features", "stride", "kernel", "map", "voxel"}, {}};
  if (!volumes) table.header.pop_back();
  std::vector<std::int64_t> map = plan.patch_size;
  std::vector<double> voxel = of.spacing;
  for (std::size_t stage = 0; stage < plan.strides.size(); ++stage) {
    for (std::size_t axis = 0; axis < map.size(); ++axis) {
      map[axis] /= plan.strides[stage][axis];
      voxel[axis] *= static_cast<double>(plan.strides[stage][axis]);
    }
    table.rows.push_back({fmt::format("{}", stage),
                          fmt::format("{}", plan.features_per_stage[stage]),
                          times(plan.strides[stage]), times(plan.kernel_sizes[stage]), times(map)});
    if (volumes) table.rows.back().push_back(times(voxel) + " mm");
  }
  text += "\n" + plain_table(table) + "\n";
  std::vector<CommentedKey> keys;
  for (const auto& member : proposal.settings.members())
    keys.push_back({{}, member.key, member.value});
  return text + "for the experiment file:\n" + commented_json({}, keys);
}

}  // namespace fovea::experiment
