// The kcla paper's losses, metrics, recipes and pre-processing, and its segmentation networks: from
// the words of its golden cases to the toolkit's.

#include <fmt/format.h>

#include "autograd/graph.h"
#include "base/error.h"
#include "data/augment/geometry.h"
#include "data/augment/transforms.h"
#include "metrics/classification.h"
#include "metrics/segmentation.h"
#include "models/model.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/losses/loss.h"
#include "ops/shape.h"
#include "optim/registry.h"
#include "verify/dformer/dformer.h"
#include "verify/gdla/metrics.h"
#include "verify/module_case.h"
#include "verify/options.h"
#include "verify/runners.h"

namespace fovea::verify {
namespace {

using schema::Value;
using Tensors = std::map<std::string, Tensor>;

// Compares a loss and the gradients of its inputs.
void check_loss(Checker& check, const Inputs& inputs, const Tensor& loss) {
  inputs.check_all_read();
  check.compare("output/loss", loss);
  autograd::backward(loss);
  inputs.compare_gradients(check);
}

ops::BceDiceOptions bce_dice_options(const Case& c) {
  return {.bce_weight = c.number("wb", 1),
          .dice_weight = c.number("wd", 1),
          .smooth = c.number("smooth", 1)};
}

void run_bce_dice(const Case& c, Checker& check) {
  const Inputs inputs(c);
  const Tensor& prob = inputs.at("prob");
  const Tensor& target = inputs.at("target");
  const auto options = bce_dice_options(c);
  c.check_all_read();
  check.compare("output/bce", ops::bce(prob, target));
  check.compare("output/dice", ops::dice_loss(prob, target, options.smooth));
  check_loss(check, inputs, ops::bce_dice(prob, target, options));
}

void run_deep_supervision(const Case& c, Checker& check) {
  const Inputs inputs(c);
  const Tensor& target = inputs.at("target");
  std::vector<Tensor> maps{inputs.at("prob")};
  std::vector<double> weights{1};
  for (const double weight : c.config().numbers("aux_weights")) {
    maps.push_back(inputs.at(fmt::format("aux{}", maps.size() - 1)));
    weights.push_back(weight);
  }
  const auto options = bce_dice_options(c);
  c.check_all_read();
  const auto loss = [&](const Tensor& prob) { return ops::bce_dice(prob, target, options); };
  check_loss(check, inputs, ops::over_maps(maps, weights, {target.size(2), target.size(3)}, loss));
}

void run_segmentation_metrics(const Case& c, Checker& check) {
  // gdla calls its metrics of single cases by the same name.
  if (!c.has("input/prob")) return run_case_metrics(c, check);
  metrics::MaskCounts counts(static_cast<float>(c.number("threshold", 0.5)));
  c.config().only("comparison", ">=");
  c.config().only("aggregation", "one confusion matrix over all pixels of all images");
  c.config().only(metrics::kMiou.name, "foreground IoU");
  c.check_all_read();
  const Tensor& prob = c.at("input/prob");
  const Tensor& target = c.at("input/target");
  // Sample by sample, as an evaluation adds them up.
  for (std::int64_t i = 0; i < prob.size(0); ++i) {
    counts.add(prob.rows(i, i + 1).host_values<float>(),
               target.rows(i, i + 1).host_values<float>());
  }
  check.compare("output/confusion_tn_fp_fn_tp",
                std::vector<double>{static_cast<double>(counts.true_negatives()),
                                    static_cast<double>(counts.false_positives()),
                                    static_cast<double>(counts.false_negatives()),
                                    static_cast<double>(counts.true_positives())});
  check.compare("output/miou", std::vector<double>{counts.iou()});
  check.compare("output/dsc", std::vector<double>{counts.dice()});
  check.compare("output/accuracy", std::vector<double>{counts.accuracy()});
  check.compare("output/sensitivity", std::vector<double>{counts.sensitivity()});
  check.compare("output/specificity", std::vector<double>{counts.specificity()});
}

void run_topk(const Case& c, Checker& check) {
  const Tensor logits = c.on_host("input/logits");
  const Tensor labels = c.on_host("input/labels");
  for (const std::int64_t k : c.config().integers("k")) {
    const double share = static_cast<double>(metrics::top_k_correct(logits, labels, k)) /
                         static_cast<double>(logits.size(0));
    check.compare(fmt::format("output/top{}_percent", k), std::vector<double>{100 * share});
  }
}

// Steps of one parameter "w" with given gradients.
void run_optimiser(const Case& c, Checker& check, const char* type, const char* buffer,
                   std::initializer_list<const char*> keys) {
  Value options = Value::object({{"type", type}});
  for (const char* key : keys) take(c, options, {{key, key}});
  const Tensor w = ops::clone(c.at("input/w0"));
  w.set_requires_grad(true);
  const auto optimiser =
      optim::make_optimiser(resolved(optim::optimiser_choices(), options), {{"w", w}});
  std::size_t step = 0;
  const std::vector<double> rates = c.config().numbers("lrs");
  c.check_all_read();
  for (const double lr : rates) {
    w.set_grad(ops::clone(c.at(fmt::format("input/grad{}", step++))));
    optimiser->step(lr);
    check.compare(fmt::format("output/w{}", step), w);
    const std::string state = fmt::format("output/{}{}", buffer, step);
    if (c.has(state)) check.compare(state, optimiser->state().at("w.momentum_buffer"));
  }
}

void run_sgd(const Case& c, Checker& check) {
  // dformer's case of this name steps several parameters.
  if (!c.has("input/w0")) return run_sgd_of_several(c, check);
  run_optimiser(c, check, "sgd", "momentum", {"momentum", "weight_decay", "dampening", "nesterov"});
}

void run_adamw(const Case& c, Checker& check) {
  c.config().only("amsgrad", false);
  run_optimiser(c, check, "adamw", "exp_avg", {"betas", "eps", "weight_decay"});
}

// The rate of every epoch, compared with f64/output/<name>.
void check_rates(const Case& c, Checker& check, const std::string& name, double base,
                 const Value& options) {
  const std::string key = "f64/output/" + name;
  const auto epochs = c.at(key).numel();
  const optim::Schedule schedule =
      optim::make_schedule(resolved(optim::schedule_choices(), options), {base, epochs, 1});
  std::vector<double> rates;
  for (std::int64_t e = 0; e < epochs; ++e) rates.push_back(schedule(e));
  check.compare(key, rates);
}

void check_annealing(const Case& c, Checker& check) {
  const Config words = c.config().at("cosine_annealing");
  words.only("epochs", c.at("f64/output/cosine_annealing").numel());
  const Value cosine = Value::object({{"type", "cosine"},
                                      {"min_lr", words.number("eta_min")},
                                      {"period_epochs", words.integer("T_max")}});
  for (const char* name : {"cosine_annealing", "cosine_annealing_closed_form"})
    check_rates(c, check, name, words.number("base"), cosine);
}

void run_schedules(const Case& c, Checker& check) {
  check_annealing(c, check);
  const Config restarts = c.config().at("cosine_warm_restarts");
  check_rates(c, check, "cosine_warm_restarts", restarts.number("base"),
              Value::object({{"type", "cosine_restarts"},
                             {"min_lr", restarts.number("eta_min")},
                             {"cycle_epochs", restarts.integer("T_0")},
                             {"cycle_mult", restarts.value("T_mult")}}));
  const Config cifar = c.config().at("cifar_warmup_multistep");
  cifar.only("epochs", c.at("f64/output/cifar_warmup_multistep").numel());
  Value steps = Value::object({{"type", "multi_step"},
                               {"milestones", cifar.value("milestones")},
                               {"decay_rate", cifar.number("gamma")}});
  check_rates(c, check, "cifar_multistep_no_warmup", cifar.number("base"), steps);
  steps.set("warmup_epochs", cifar.integer("warmup_epochs"));
  steps.set("warmup_lr", cifar.number("warmup_start"));
  check_rates(c, check, "cifar_warmup_multistep", cifar.number("base"), steps);
  const Config imagenet = c.config().at("imagenet_step");
  imagenet.only("epochs", c.at("f64/output/imagenet_step").numel());
  check_rates(c, check, "imagenet_step", imagenet.number("base"),
              Value::object({{"type", "multi_step"},
                             {"milestones", imagenet.value("milestones")},
                             {"decay_rate", imagenet.number("gamma")},
                             {"warmup_epochs", imagenet.integer("warmup_epochs")},
                             {"warmup_floor", imagenet.number("warmup_lr")}}));
}

// Bytes (h, w) or (h, w, c) as planes in [0, 1].
Tensor planes_of(const Tensor& bytes) {
  const std::int64_t channels = bytes.rank() == 3 ? bytes.size(2) : 1;
  const std::int64_t plane = bytes.size(0) * bytes.size(1);
  std::vector<float> values(static_cast<std::size_t>(bytes.numel()));
  const auto from = bytes.host_values<std::int64_t>();
  for (std::int64_t i = 0; i < bytes.numel(); ++i) {
    const auto to = static_cast<std::size_t>(i % channels * plane + i / channels);
    values[to] = static_cast<float>(from[static_cast<std::size_t>(i)]) / 255.0f;
  }
  return Tensor::from(values, {channels, bytes.size(0), bytes.size(1)}, bytes.device());
}

data::Planes view(const Tensor& x) { return {x.size(0), x.size(1), x.size(2), x.data<float>()}; }

Tensor resampled(const Tensor& x, std::int64_t size) {
  const Tensor y = Tensor::empty({x.size(0), size, size}, DType::kFloat32, x.device());
  data::resample(view(x), view(y), data::Resampling::kBilinear);
  return y;
}

void run_segmentation_preprocessing(const Case& c, Checker& check) {
  const Tensor image = planes_of(c.on_host("input/image_u8"));
  const Tensor mask = planes_of(c.on_host("input/mask_u8"));
  // Mean and deviation of the configuration cancel out in the stretching. kcla 5.4.
  c.config().describes({"mean", "std"});
  c.config().only("order",
                  Value::array({"normalise", "hflip", "vflip",
                                "rotate nearest, no expand, fill 0, counter-clockwise degrees",
                                "bilinear resize, half-pixel centres, no antialias"}));
  const double angle = c.number("angle");
  const std::int64_t size = c.integer("size");
  c.check_all_read();
  data::stretch(view(image));
  const std::vector<double> zero(static_cast<std::size_t>(image.size(0)), 0.0);
  data::normalise(view(image), zero, std::vector<double>(zero.size(), 1.0 / 255));
  check.compare("output/normalised", image);
  check.compare("output/mask_unit", mask);
  for (const Tensor& x : {image, mask}) data::flip_horizontally(view(x));
  check.compare("output/hflip", image);
  check.compare("output/hflip_mask", mask);
  for (const Tensor& x : {image, mask}) data::flip_vertically(view(x));
  check.compare("output/hflip_vflip", image);
  for (const Tensor& x : {image, mask}) data::rotate(view(x), angle);
  check.compare("output/rotated", image);
  check.compare("output/rotated_mask", mask);
  check.compare("output/resized", resampled(image, size));
  check.compare("output/resized_mask", resampled(mask, size));
}

void run_cifar_augmentation(const Case& c, Checker& check) {
  const Tensor image = planes_of(c.on_host("input/image_u8"));
  data::shift(view(image), c.integer("pad") - c.integer("crop_top"),
              c.integer("pad") - c.integer("crop_left"));
  if (c.flag("hflip")) data::flip_horizontally(view(image));
  data::normalise(view(image), c.config().numbers("mean"), c.config().numbers("std"));
  check.compare("output/normalised", image);
}

// Image to probability: networks give logits, the cases hold what their sigmoid makes of them.
void run_network(const Case& c, const Value& options, Checker& check) {
  c.config().only("network", c.op());
  c.config().only("output", "sigmoid probabilities");
  c.config().only("input", Value::array(c.at("input/x").shape().to_vector()));
  const auto model =
      models::make_model(resolved(models::entries().choices(), options), build_for(c), {});
  const auto forward = [&](const Inputs& inputs) -> Tensors {
    return {{"prob", ops::sigmoid((*model)({.image = inputs.at("x")}).maps.front())}};
  };
  run_module(c, *model, forward, check);
}

// Options that every segmentation network has.
Value dense_options(const Case& c, const char* type) {
  const Shape& input = c.at("input/x").shape();
  return Value::object(
      {{"type", type}, {"in_chans", input[1]}, {"num_classes", c.integer("num_classes", 1)}});
}

// The layer attention of an encoder; drop path is off in golden cases.
Value attention_of(const Case& c, const std::string& type) {
  Value options = Value::object({{"type", type}, {"drop_path", 0}});
  take(c, options, {{"head_dim", "head_dim"}});
  if (type == "dla_l")
    take(c, options, {{"dsu_reduction", "reduction"}, {"dsu_state", "dsu_state"}});
  if (type == "kcla")
    take_given(c.config(), options,
               {"reset_inside_stage", "p", "clamp", "temperature_order", "sqrt_head_dim",
                "same_temperature", "use_exp", "head_attention", "cross_stage", "z_eps", "phi",
                "relu_after_bn"});
  return options;
}

void run_resnet_unet(const Case& c, Checker& check) {
  const std::string attention = c.text("attention", "plain");
  // Cases of these networks have these words whatever their attention is.
  c.config().of_others({"head_dim", "dsu_reduction"});
  c.config().nothing_dropped({"drop_path"}, c.training());
  Value encoder = Value::object({{"type", "resnet18_reduced"}});
  if (attention != "plain") encoder.set("layer_attention", attention_of(c, attention));
  take(c, encoder,
       {{"stem", "stem_width"}, {"encoder_channels", "planes"}, {"encoder_strides", "strides"}});
  encoder.set("depths",
              Value::array(std::vector<std::int64_t>(c.config().integers("encoder_channels").size(),
                                                     c.integer("blocks_per_stage", 2))));
  Value options = dense_options(c, "resnet_unet");
  options.set("backbone", encoder);
  take(c, options, {{"decoder_channels", "decoder_channels"}});
  run_network(c, options, check);
}

// The widths of the two published forms, in units of the first one's.
void run_unet(const Case& c, Checker& check) {
  const bool transposed = c.config().choice("mode", {{"convT", true}, {"old", false}}, true);
  const std::vector<std::int64_t> widths = transposed ? std::vector<std::int64_t>{1, 2, 4, 8, 16}
                                                      : std::vector<std::int64_t>{1, 2, 4, 8, 8};
  const std::vector<std::int64_t> decoder =
      transposed ? std::vector<std::int64_t>{8, 4, 2, 1} : std::vector<std::int64_t>{4, 2, 1, 1};
  const std::int64_t base = c.integer("base");
  const auto scaled = [&](const std::vector<std::int64_t>& factors) {
    Value list = Value::array();
    for (const std::int64_t factor : factors) list.push_back(factor * base);
    return list;
  };
  Value options = dense_options(c, transposed ? "unet" : "unet_bilinear");
  options.set("widths", scaled(widths));
  options.set("decoder_channels", scaled(decoder));
  run_network(c, options, check);
}

}  // namespace

Table kcla_segmentation() {
  Table table;
  table.add("bce_dice_loss") = run_bce_dice;
  table.add("gt_bce_dice_loss") = run_deep_supervision;
  table.add("segmentation_metrics") = run_segmentation_metrics;
  table.add("topk_accuracy") = run_topk;
  table.add("sgd") = run_sgd;
  table.add("adamw") = run_adamw;
  table.add("schedules") = run_schedules;
  table.add("segmentation_preprocessing") = run_segmentation_preprocessing;
  table.add("cifar_augmentation") = run_cifar_augmentation;
  table.add("resnet_unet") = run_resnet_unet;
  table.add("unet") = run_unet;
  return table;
}

}  // namespace fovea::verify
