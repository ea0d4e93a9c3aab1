#include "experiment/planning/starting_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <cmath>

#include "base/cores.h"
#include "base/error.h"
#include "data/registry.h"
#include "data/texts/text_dataset.h"
#include "experiment/costs/machine_memory.h"
#include "experiment/file/experiment.h"
#include "experiment/file/usual_settings.h"
#include "experiment/planning/commented_json.h"
#include "experiment/planning/proposal.h"
#include "experiment/run/preflight.h"
#include "experiment/run/summary.h"

namespace fovea::experiment {
namespace {

namespace fs = std::filesystem;
using schema::Value;

// Processors get networks of which a training step takes about a second on a few cores.
constexpr std::int64_t kStepOfProcessors = 60'000'000'000;  // multiply-adds
constexpr std::int64_t kFeaturesOfProcessors = 16;
constexpr std::int64_t kSideOfProcessors = 128;

// Lower-case letters, digits, - and _: for a file, a folder and tables.
std::string name_from(const fs::path& folder) {
  const fs::path plain = fs::absolute(folder).lexically_normal();
  std::string name;
  for (const char c : (plain.has_filename() ? plain : plain.parent_path()).stem().string()) {
    const auto byte = static_cast<unsigned char>(c);
    name += std::isalnum(byte) != 0 ? static_cast<char>(std::tolower(byte)) : c == '-' ? '-' : '_';
  }
  return name.empty() ? "experiment" : name;
}

// A power of two near a tenth of train, so that an epoch has ten steps.
std::int64_t batch_for(std::int64_t samples, std::int64_t most) {
  const auto tenth = static_cast<std::uint64_t>(std::max<std::int64_t>(2, samples / 10));
  return std::min(most, static_cast<std::int64_t>(std::bit_floor(tenth)));
}

std::int64_t epochs_for(std::int64_t samples, std::int64_t batch, std::int64_t steps,
                        std::int64_t least, std::int64_t most) {
  const std::int64_t of_epoch = (samples + batch - 1) / batch;
  return std::clamp((steps + of_epoch / 2) / of_epoch, least, most);
}

Value adamw(double lr, double weight_decay) {
  return Value::object({{"type", "adamw"}, {"lr", lr}, {"weight_decay", weight_decay}});
}

schema::Component component(const Value& dataset) {
  return {dataset.at("type").as_string(), dataset};
}

std::string task_of(const Value& dataset) {
  return with_usual_settings(Value::object({{"dataset", dataset}})).at("task").as_string();
}

// The file while it is made.
class Start {
 public:
  Start(const FoundData& found, const StartOptions& options)
      : found_(found), options_(options), processor_(options.device == "cpu") {}

  StartingFile make(const std::string& name, const StartKind& kind, const fs::path& folder) {
    const data::Kind data = data::kind_of(component(found_.dataset));
    if (data == data::Kind::kTexts) {
      texts();
    } else if (data == data::Kind::kImages) {
      images();
    } else {
      maps();
    }
    train_.set("device", options_.device);
    fit_memory();
    StartingFile file;
    file.name = name;
    file.resolved = resolve(value(name));
    file.text = commented_json(
        {fmt::format("Written by fovea init {} {}.", kind.name, folder.string()),
         "Every key may be changed; fovea inspect config FILE prints all, with their defaults."},
        keys(name));
    file.summary = summary_;
    file.example = found_.example;
    return file;
  }

 private:
  // The data set opened for a look, with options that its keys need until they are known.
  data::Splits opened(const Value& more, const Value& model) {
    Value dataset = found_.dataset;
    for (const auto& member : more.members()) dataset.set(member.key, member.value);
    trial_ = resolve(
        Value::object({{"task", task_of(found_.dataset)}, {"dataset", dataset}, {"model", model}}));
    return data::make_splits(parse(trial_).dataset, {.survey = true});
  }

  static const data::Dataset& train_of(const data::Splits& splits) {
    FOVEA_CHECK(splits.train && splits.train->size() > 0, ConfigError,
                "no sample of train can be read");
    return *splits.train;
  }

  // Of pictures some are looked at: their sizes, and whether they have colours.
  void images() {
    constexpr std::int64_t kLookedAt = 200;
    constexpr std::int64_t kSmall = 48;
    const data::Splits splits =
        opened(Value::object({{"img_size", 32}}), Value::object({{"type", "resnet20"}}));
    const data::Dataset& train = train_of(splits);
    std::vector<std::int64_t> sides;
    bool grey = true;
    const std::int64_t looked_at = std::min(train.size(), kLookedAt);
    for (std::int64_t k = 0; k < looked_at; ++k) {
      const data::Sample sample = train.get(k * train.size() / looked_at);
      const auto& size = sample.geometry.original_size;
      sides.push_back(*std::ranges::min_element(size));
      const auto pixels = sample.at("image").values<float>();
      const std::size_t plane = pixels.size() / 3;
      for (std::size_t p = 0; grey && p < plane; ++p)
        grey = pixels[p] == pixels[plane + p] && pixels[p] == pixels[2 * plane + p];
    }
    std::ranges::sort(sides);
    const std::int64_t side = sides[sides.size() / 2];
    const bool small = side <= kSmall;
    const std::int64_t most = processor_ ? kSideOfProcessors : 224;
    const std::int64_t size = small ? 32 : std::clamp(side / 32 * 32, std::int64_t{64}, most);
    found_.dataset.set("img_size", size);
    if (grey) found_.dataset.set("in_chans", 1);
    found_.dataset.set("augment", small ? Value::array({"crop_flip"})
                                        : Value::array({"random_resized_crop", "horizontal_flip"}));
    about_data_ = {
        fmt::format("Pictures are brought to {} x {} (the shorter side of half of them "
                    "is {} or less); augment is for train alone.",
                    size, size, side)};
    model_ = Value::object({{"type", small ? "resnet20" : "resnet18"}});
    about_model_ = {
        small ? "A ResNet for small pictures. Attention across its depth: \"layer_attention\": "
                "\"kcla\"; a Transformer: {\"type\": \"vit\", \"patch_size\": 4, \"embed_dim\": "
                "128, \"depth\": 6}."
              : "A ResNet. Attention across its depth: \"layer_attention\": \"kcla\"; a "
                "Transformer (slower to learn from few pictures): \"deit_tiny\"."};
    const std::int64_t batch = batch_for(train.size(), small ? 128 : 32);
    optimiser_ = adamw(1e-3, 0.05);
    schedule_ = Value::object({{"type", "cosine"}, {"warmup_steps", 50}});
    train_ = Value::object({{"epochs", epochs_for(train.size(), batch, 6000, 5, 60)},
                            {"batch_size", batch},
                            {"select", "best"}});
    summary_ = fmt::format("{} pictures of {} classes to train on, {} at {} x {}", train.size(),
                           train.num_classes(), model_.at("type").as_string(), size, size);
  }

  // Volumes, and images with masks.
  void maps() {
    const bool volumes = found_.dataset.at("type").as_string() == "nnunet";
    const data::Splits splits =
        volumes ? opened(Value::object({{"img_size", Value::array({32, 32, 32})}}),
                         Value::object({{"type", "unet3d"}}))
                : opened(Value::object({{"img_size", 64}}), Value::object({{"type", "unet"}}));
    const data::Dataset& train = train_of(splits);
    const data::Survey survey = data::survey(splits, usable_cores(), options_.progress);
    ProposalRules rules;
    rules.most_bytes = memory();
    if (processor_) {
      rules.unet.base_features = kFeaturesOfProcessors;
      rules.most_macs = kStepOfProcessors;
      rules.most_side = kSideOfProcessors;
    }
    const Proposal proposal = propose(trial_, survey, shape_of(train), rules);
    const UNetPlan& plan = proposal.plan;
    for (const auto& member : proposal.settings.at("dataset").members())
      found_.dataset.set(member.key, member.value);
    model_ = proposal.settings.at("model");
    about_model_ = {fmt::format(
        "Patch, batch, stages, strides and kernels by nnU-Net's rules, as large as {} should take: "
        "fovea inspect dataset FILE --plan shows how, and what a larger device would get.",
        processor_ ? "a processor" : "this machine's device")};
    const std::int64_t batch = plan.batch_size;
    train_ = Value::object({{"epochs", 0}, {"batch_size", batch}, {"select", "best"}});
    if (volumes) {
      of_volumes(proposal);
    } else {
      of_images(splits.train->shape().label_maps, train.size(), batch);
    }
    summary_ = fmt::format("{} {} to train on, {} of {} stages and {} features at {}", train.size(),
                           volumes ? "volumes" : "images", model_.at("type").as_string(),
                           plan.strides.size(), plan.features_per_stage.front(),
                           fmt::format("{}", fmt::join(plan.patch_size, " x ")));
  }

  void of_volumes(const Proposal& proposal) {
    const std::int64_t batch = proposal.plan.batch_size;
    const std::int64_t steps = processor_ ? 50 : 250;  // of an epoch
    const std::int64_t epochs = processor_ ? 20 : 200;
    found_.dataset.set("samples_per_epoch", steps * batch);
    about_data_ = {
        fmt::format("Volumes are resampled to {:.4g} mm (depth, height, width), the median of "
                    "train; the network "
                    "is trained on crops of img_size, {} an epoch.",
                    fmt::join(proposal.fingerprint.spacing, " x "), steps * batch)};
    loss_ = Value::object({{"type", "nnunet"}});
    about_recipe_ = {
        processor_
            ? "A short training, so AdamW; nnU-Net itself takes 1000 epochs of 250 steps with "
              "{\"type\": \"sgd\", \"lr\": 0.01, \"momentum\": 0.99, \"nesterov\": true, "
              "\"weight_decay\": 3e-5}."
            : "nnU-Net's recipe, but for 200 epochs instead of 1000."};
    optimiser_ = processor_ ? adamw(1e-3, 0.01)
                            : Value::object({{"type", "sgd"},
                                             {"lr", 0.01},
                                             {"momentum", 0.99},
                                             {"nesterov", true},
                                             {"weight_decay", 3e-5}});
    schedule_ = Value::object({{"type", "polynomial"}, {"power", 0.9}});
    train_.set("epochs", epochs);
    train_.set("clip_grad", 12.0);
    train_.set("eval_every", epochs / 4);
    Value eval = proposal.settings.at("eval");
    eval.set("metrics", Value::array({"case_dice", "hd95_mm"}));
    eval_ = eval;
    about_eval_ = {
        "Whole volumes by overlapping windows; \"mirror_axes\": [0, 1, 2] in the inferer takes the "
        "mean over mirrorings as nnU-Net does, 8 times slower."};
  }

  void of_images(bool labels, std::int64_t samples, std::int64_t batch) {
    const std::int64_t size = found_.dataset.at("img_size").as_int();
    found_.dataset.set("augment", Value::array({"horizontal_flip", "random_brightness_contrast"}));
    about_data_ = {fmt::format(
        "Images and masks are brought to {} x {}; augment is for train alone (\"vertical_flip\", "
        "\"rotate\" where up and down mean nothing).",
        size, size)};
    loss_ = Value::object({{"type", labels ? "dice_ce" : "bce_dice"}});
    optimiser_ = adamw(1e-3, 0.01);
    schedule_ = Value::object({{"type", "cosine"}, {"warmup_steps", 50}});
    train_.set("epochs", epochs_for(samples, batch, 2000, 10, 100));
  }

  void texts() {
    constexpr std::int64_t kLongest = 256;
    constexpr std::int64_t kMany = 20000;
    const data::Splits splits = opened(Value::object(), Value::object({{"type", "transformer"}}));
    const data::Dataset& train = train_of(splits);
    std::vector<std::int64_t> lengths;
    for (std::int64_t i = 0; i < train.size(); ++i) lengths.push_back(train.length(i));
    std::ranges::sort(lengths);
    const std::int64_t usual = lengths[lengths.size() * 95 / 100];
    const std::int64_t longest = std::clamp((usual + 15) / 16 * 16, std::int64_t{16}, kLongest);
    found_.dataset.set("max_len", longest);
    about_data_ = {
        fmt::format("95 % of the texts have {} words or less; longer ones are cut at "
                    "max_len.",
                    usual)};
    const bool many = train.size() >= kMany && !processor_;
    model_ = Value::object({{"type", "transformer"},
                            {"embed_dim", many ? 256 : 64},
                            {"depth", many ? 6 : 2},
                            {"drop_rate", 0.1},
                            {"attention", Value::object({{"num_heads", many ? 8 : 4}})}});
    about_model_ = {
        "A small Transformer. \"dgt\" and \"diff_transformer\" take the same keys: other "
        "attention."};
    const std::int64_t batch = batch_for(train.size(), 32);
    optimiser_ = adamw(1e-3, 0.01);
    schedule_ = Value::object({{"type", "linear"}, {"unit", "step"}, {"warmup_steps", 50}});
    train_ = Value::object({{"epochs", epochs_for(train.size(), batch, 3000, 3, 30)},
                            {"batch_size", batch},
                            {"clip_grad", 1.0},
                            {"select", "best"}});
    summary_ = fmt::format("{} texts of {} classes to train on, a Transformer of {} blocks",
                           train.size(), train.num_classes(), model_.at("depth").as_int());
  }

  std::int64_t memory() const { return processor_ ? machine_memory() : 0; }

  void fit_memory() {
    OpenData data;
    for (;;) {
      const Preflight look = look_ahead(resolve(value("")), data);
      const std::int64_t batch = train_.at("batch_size").as_int();
      if (memory_problem(look, memory()).empty() || batch < 2) return;
      train_.set("batch_size", batch / 2);
    }
  }

  std::vector<CommentedKey> keys(const std::string& name) const {
    std::vector<std::string> about_data = found_.remarks;
    about_data.insert(about_data.end(), about_data_.begin(), about_data_.end());
    std::vector<CommentedKey> keys = {{{}, "name", name},
                                      {{}, "task", task_of(found_.dataset)},
                                      {{}, "seed", 0},
                                      {about_data, "dataset", found_.dataset},
                                      {about_model_, "model", model_}};
    if (!loss_.is_null()) keys.push_back({{}, "loss", loss_});
    keys.push_back({about_recipe_, "optimizer", optimiser_});
    keys.push_back({{}, "schedule", schedule_});
    keys.push_back({{}, "train", train_});
    if (!eval_.is_null()) keys.push_back({about_eval_, "eval", eval_});
    return keys;
  }

  Value value(const std::string& name) const {
    Value all = Value::object();
    for (const CommentedKey& one : keys(name)) all.set(one.key, one.value);
    return all;
  }

  FoundData found_;
  const StartOptions& options_;
  bool processor_;
  Value trial_;
  Value model_, loss_, optimiser_, schedule_, train_, eval_;
  std::vector<std::string> about_data_, about_model_, about_recipe_, about_eval_;
  std::string summary_;
};

}  // namespace

const std::vector<StartKind>& start_kinds() {
  static const std::vector<StartKind> all = {
      {"images",
       "pictures in folders of classes: FOLDER/train/CLASS/FILE (val and test beside it, if there "
       "are any) or FOLDER/CLASS/FILE",
       find_images},
      {"masks",
       "images with masks of the same names: FOLDER/images and FOLDER/masks, or "
       "FOLDER/train/images and FOLDER/train/masks (val and test beside it)",
       find_masks},
      {"nnunet",
       "volumes in nnU-Net's folders: FOLDER/dataset.json, FOLDER/imagesTr/NAME_0000.nii.gz, "
       "FOLDER/labelsTr/NAME.nii.gz",
       find_volumes},
      {"texts",
       "texts with classes: a table FILE.csv or FILE.tsv, FOLDER/train.csv (val.csv, test.csv), or "
       "FOLDER/CLASS/FILE with a text a file",
       find_texts}};
  return all;
}

StartingFile starting_file(const StartKind& kind, const fs::path& folder,
                           const StartOptions& options) {
  return Start(kind.find(folder), options)
      .make(options.name.empty() ? name_from(folder) : options.name, kind, folder);
}

}  // namespace fovea::experiment
