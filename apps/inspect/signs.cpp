#include "inspect/signs.h"

#include <fmt/format.h>

#include <algorithm>

#include "autograd/mode.h"
#include "base/error.h"
#include "experiment/run/open_run.h"
#include "experiment/tables/text_table.h"
#include "ops/elementwise.h"
#include "training/selection.h"
#include "visualise/maps/map_signs.h"

namespace fovea::apps {
namespace {

using visualise::LayerSigns;

Tensor image_at(const data::Dataset& dataset, std::int64_t index, experiment::Run& run) {
  data::Collator collator(dataset.fields(), 1, run.task().source().options().host);
  data::Sample sample;
  collator.next(sample);
  dataset.prepare(index, {}, sample);
  collator.add(sample);
  return ops::to(collator.finish().at("image"), run.device());
}

std::vector<LayerSigns> signs_of(experiment::Run& run, const data::Dataset& dataset,
                                 std::int64_t samples) {
  const autograd::NoGrad no_grad;
  models::Model& model = run.model();
  model.train(false);
  std::vector<LayerSigns> layers;
  for (std::int64_t i = 0; i < samples; ++i) {
    attention::Probe probe;
    model(models::only_input(model.interface(), image_at(dataset, i, run)), &probe);
    visualise::add_signs(probe, layers);
  }
  return layers;
}

schema::Value to_json(const LayerSigns& signs) {
  return schema::Value::object({{"layer", signs.layer},
                                {"weights", signs.weights},
                                {"negative", signs.negative},
                                {"zero", signs.zero},
                                {"least", signs.least}});
}

}  // namespace

Options add_signs(Options cli, SignsArguments& args) {
  Options signs = cli.add_subcommand(
      "signs", "share of negative weights in each attention layer of a run on its own images");
  signs.add_option("RUN", args.run, "folder of a run made by train").required().value("FOLDER");
  signs.add_option("--checkpoint", args.checkpoint, "default: the weights that the run reports")
      .value("best|last|step-...");
  signs.add_option("--split", args.split, "default: what the run reports, test where there is one")
      .value("train|val|test");
  signs.add_option("--samples", args.samples, "images from the first on (default: 8)").positive();
  return signs;
}

int print_signs(const SignsArguments& args, bool json) {
  const experiment::Opened opened =
      experiment::open_run({.folder = args.run,
                            .checkpoint = args.checkpoint,
                            .samples = experiment::WantedSamples::of(args.split)});
  experiment::Run& run = *opened.run;
  const auto& reads = models::info_of(run.model().interface()).reads.front();
  FOVEA_CHECK(reads.name == "image", ConfigError,
              fmt::format("{}: reads no images; expected a network of images", args.run));
  const data::Split split = args.split.empty()
                                ? training::reported_part(run.task().source().parts())
                                : data::split_from_name(args.split);
  const data::Dataset& dataset = run.task().source().at(split);
  const std::int64_t samples = std::min(args.samples, dataset.size());
  std::vector<LayerSigns> layers = signs_of(run, dataset, samples);
  FOVEA_CHECK(!layers.empty(), ConfigError,
              fmt::format("{}: has no attention map over tokens", args.run));
  layers.push_back(visualise::total_of(layers));
  if (json) {
    schema::Value list = schema::Value::array();
    for (const LayerSigns& layer : layers) list.push_back(to_json(layer));
    schema::Value object = schema::Value::object({{"run", args.run},
                                                  {"split", data::name_of(split)},
                                                  {"samples", samples},
                                                  {"layers", list}});
    opened.weights.describe(object);
    fmt::print("{}\n", object.dump());
    return 0;
  }
  experiment::TextTable table{{"layer", "weights", "negative (%)", "zero (%)", "least"}, {}};
  for (const LayerSigns& layer : layers) {
    table.rows.push_back({layer.layer, fmt::format("{}", layer.weights),
                          fmt::format("{:.2f}", layer.negative_share()),
                          fmt::format("{:.2f}", layer.zero_share()),
                          fmt::format("{:.3g}", layer.least)});
  }
  fmt::print("{}{} images of {}; {}\n", experiment::plain_table(table), samples,
             data::name_of(split), opened.weights.text());
  return 0;
}

}  // namespace fovea::apps
