// Volumes, and images with masks: as nnU-Net plans.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/cores.h"
#include "experiment/planning/proposal.h"
#include "experiment/planning/starting_draft.h"
#include "experiment/run/summary.h"

namespace fovea::experiment {

namespace {

using schema::Value;

void of_volumes(Draft& draft, const Proposal& proposal) {
  const std::int64_t batch = proposal.plan.batch_size;
  const std::int64_t steps = draft.processor ? 50 : 250;  // of an epoch
  const std::int64_t epochs = draft.processor ? 20 : 200;
  draft.found.dataset.set("samples_per_epoch", steps * batch);
  draft.about_data = {
      fmt::format("Volumes are resampled to {:.4g} mm (depth, height, width), the median of "
                  "train; the network "
                  "is trained on crops of img_size, {} an epoch.",
                  fmt::join(proposal.fingerprint.spacing, " x "), steps * batch)};
  draft.loss = Value::object({{"type", "nnunet"}});
  draft.about_recipe = {
      draft.processor
          ? "A short training, so AdamW; nnU-Net itself takes 1000 epochs of 250 steps with "
            "{\"type\": \"sgd\", \"lr\": 0.01, \"momentum\": 0.99, \"nesterov\": true, "
            "\"weight_decay\": 3e-5}."
          : "nnU-Net's recipe, but for 200 epochs instead of 1000."};
  draft.optimiser = draft.processor ? adamw(1e-3, 0.01)
                                    : Value::object({{"type", "sgd"},
                                                     {"lr", 0.01},
                                                     {"momentum", 0.99},
                                                     {"nesterov", true},
                                                     {"weight_decay", 3e-5}});
  draft.schedule = Value::object({{"type", "polynomial"}, {"power", 0.9}});
  draft.train.set("epochs", epochs);
  draft.train.set("clip_grad", 12.0);
  draft.train.set("eval_every", epochs / 4);
  Value eval = proposal.settings.at("eval");
  eval.set("metrics", Value::array({"case_dice", "hd95_mm"}));
  draft.eval = eval;
  draft.about_eval = {
      "Whole volumes by overlapping windows; \"mirror_axes\": [0, 1, 2] in the inferer takes the "
      "mean over mirrorings as nnU-Net does, 8 times slower."};
}

void of_images(Draft& draft, bool labels, std::int64_t samples, const Proposal& proposal) {
  const std::int64_t batch = proposal.plan.batch_size;
  draft.found.dataset.set("augment",
                          Value::array({"horizontal_flip", "random_brightness_contrast"}));
  const std::string size = fmt::format("{}", fmt::join(proposal.plan.patch_size, " x "));
  const std::string augment =
      "augment is for train alone (\"vertical_flip\", \"rotate\" where up and down mean "
      "nothing).";
  if (proposal.images == ImagePlan::kSquares) {
    draft.about_data = {fmt::format("Images and masks are brought to {}; {}", size, augment)};
  } else {
    draft.about_data = {
        fmt::format("Images differ in size: the network is trained on patches of {} of them, {}.",
                    size,
                    proposal.longest > 0 ? fmt::format("scaled to a longer side of {} for this "
                                                       "device (longest)",
                                                       proposal.longest)
                                         : "at their own size"),
        "A pixel's millimetres, \"spacing\": [height, width], make distances in mm possible; " +
            augment};
    draft.eval = proposal.settings.at("eval");
    draft.about_eval = {"Whole images by overlapping windows."};
  }
  draft.loss = Value::object({{"type", labels ? "dice_ce" : "bce_dice"}});
  draft.optimiser = adamw(1e-3, 0.01);
  draft.schedule = Value::object({{"type", "cosine"}, {"warmup_steps", 50}});
  draft.train.set("epochs", epochs_for(samples, batch, 2000, 10, 100));
}

}  // namespace

// Volumes, and images with masks.
void draft_maps(Draft& draft) {
  const bool volumes = draft.found.dataset.at("type").as_string() == "nnunet";
  const data::Splits splits =
      volumes ? opened(draft, Value::object({{"img_size", Value::array({32, 32, 32})}}),
                       Value::object({{"type", "unet3d"}}))
              : opened(draft, Value::object({{"img_size", 64}}), Value::object({{"type", "unet"}}));
  const data::Dataset& train = train_of(splits);
  const data::Survey survey = data::survey(splits, usable_cores(), draft.options.progress);
  ProposalRules rules;
  rules.most_bytes = memory_of(draft);
  if (draft.processor) {
    rules.unet.base_features = kFeaturesOfProcessors;
    rules.most_macs = kStepOfProcessors;
    rules.most_side = kSideOfProcessors;
  }
  const Proposal proposal = propose(draft.trial, survey, shape_of(train), rules);
  const UNetPlan& plan = proposal.plan;
  for (const auto& member : proposal.settings.at("dataset").members())
    draft.found.dataset.set(member.key, member.value);
  draft.model = proposal.settings.at("model");
  draft.about_model = {fmt::format(
      "Patch, batch, stages, strides and kernels by nnU-Net's rules, as large as {} should take: "
      "fovea inspect dataset FILE --plan shows how, and what a larger device would get.",
      draft.processor ? "a processor" : "this machine's device")};
  const std::int64_t batch = plan.batch_size;
  draft.train = Value::object({{"epochs", 0}, {"batch_size", batch}, {"select", "best"}});
  if (volumes) {
    of_volumes(draft, proposal);
  } else {
    of_images(draft, splits.train->shape().label_maps, train.size(), proposal);
  }
  draft.summary = fmt::format(
      "{} {} to train on, {} of {} stages and {} features at {}", train.size(),
      volumes ? "volumes" : "images", draft.model.at("type").as_string(), plan.strides.size(),
      plan.features_per_stage.front(), fmt::format("{}", fmt::join(plan.patch_size, " x ")));
}

}  // namespace fovea::experiment
