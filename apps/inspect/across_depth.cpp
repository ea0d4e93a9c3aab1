#include "inspect/across_depth.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "common/app.h"
#include "visualise/plots/plot.h"

namespace fovea::apps {
namespace {

using experiment::Cost;
using experiment::Depth;
using experiment::Growth;
using experiment::GrowthRate;
using experiment::GrowthSettings;
using visualise::LinePlot;
using visualise::Series;

// One panel: a quantity in its unit, its spread where it has one, and its rate.
struct Quantity {
  std::string title, unit;
  double (*value)(const Cost&);
  double (*spread)(const Cost&);
  GrowthRate Growth::*rate;
};

// What lines proportional to the depth and to its square look like, from the middle of the first
// points.
void add_guides(LinePlot& plot) {
  double middle = 0;
  for (const Series& series : plot.series) middle += std::log(series.y.front());
  middle = std::exp(middle / static_cast<double>(plot.series.size()));
  if (!std::isfinite(middle) || middle <= 0) return;
  const double first = plot.series[0].x.front(), last = plot.series[0].x.back();
  for (const auto& [name, power] : {std::pair{"∝ layers", 1}, std::pair{"∝ layers²", 2}}) {
    plot.series.push_back({.name = name,
                           .x = {first, last},
                           .y = {middle, middle * std::pow(last / first, power)},
                           .band = {},
                           .guide = true});
  }
}

LinePlot panel(const Quantity& quantity, const GrowthSettings& settings,
               const std::vector<Depth>& depths) {
  LinePlot plot;
  plot.title = quantity.title;
  plot.x_label = "layers";
  plot.y_label = quantity.unit;
  plot.log_x = plot.log_y = true;
  plot.width = 460;
  plot.height = 400;
  const std::vector<Growth> growth = growth_of(depths);
  for (std::size_t i = 0; i < growth.size(); ++i) {
    const double exponent = (growth[i].*quantity.rate).exponent;
    Series series;
    series.name = settings.layer_attentions[i];
    if (!std::isnan(exponent)) series.name += fmt::format(", exponent {:.2f}", exponent);
    for (const Depth& depth : depths) {
      series.x.push_back(static_cast<double>(depth.layers));
      series.y.push_back(quantity.value(depth.added[i]));
      if (quantity.spread != nullptr) series.band.push_back(quantity.spread(depth.added[i]));
    }
    plot.series.push_back(std::move(series));
  }
  if (depths.size() > 1) add_guides(plot);
  return plot;
}

void draw(const std::filesystem::path& picture, const GrowthSettings& settings,
          std::int64_t batch_size, const std::vector<Depth>& depths) {
  const auto batch = [&](const char* unit) {
    return fmt::format("{}, batch {}", unit, batch_size);
  };
  std::vector<Quantity> quantities = {
      {"added multiply-adds of a forward pass", "million a sample",
       [](const Cost& c) { return static_cast<double>(c.macs) / 1e6; }, nullptr, &Growth::macs},
      {"added peak memory of a training step", batch("MiB"),
       [](const Cost& c) { return static_cast<double>(c.peak_bytes) / (1 << 20); }, nullptr,
       &Growth::peak_bytes}};
  if (settings.steps > 0) {
    quantities.push_back({"added time of a training step", batch("ms"),
                          [](const Cost& c) { return c.ms; },
                          [](const Cost& c) { return c.ms_spread; }, &Growth::ms});
  }
  std::vector<LinePlot> plots;
  for (const Quantity& quantity : quantities) plots.push_back(panel(quantity, settings, depths));
  visualise::write_plots(picture, plots, std::ssize(plots));
}

void check(const std::vector<std::int64_t>& blocks, const std::filesystem::path& picture) {
  const auto at = std::adjacent_find(blocks.begin(), blocks.end(), std::greater_equal<>());
  FOVEA_CHECK(at == blocks.end(), ConfigError,
              fmt::format("--across-depth: {} after {}; expected ascending numbers of blocks",
                          *(at + 1), *at));
  visualise::check_plot_path(picture);
}

// The experiment's own, where none is asked for.
std::vector<std::string> names_or_own(const std::vector<std::string>& names,
                                      const experiment::Experiment& e) {
  if (!names.empty()) return names;
  const schema::Value* own = e.model.options.find("layer_attention");
  FOVEA_CHECK(own != nullptr && own->is_object(), ConfigError,
              "--across-depth: the network has no model.layer_attention; name some with "
              "--layer-attention");
  return {own->at("type").as_string()};
}

}  // namespace

void add_across_depth(Options cli, AcrossDepthArguments& args) {
  Option across =
      cli.add_option("--across-depth", args.blocks,
                     "what layer attention adds to its backbone with these numbers of blocks a "
                     "stage, and how fast that grows with the number of layers (3 of a bottleneck "
                     "block, 2 of a basic one, and 2 more: 2,4,8,12,17,22 are 20 to 200 in three "
                     "stages), as tables and as a picture")
          .commas()
          .positive()
          .value("N,...");
  cli.add_option("--layer-attention", args.layer_attentions,
                 "names to compare in --across-depth (default: model.layer_attention)")
      .commas()
      .value("NAME,...")
      .needs(across);
  cli.add_option(
         "--time", args.timed_steps,
         "timed training steps of every network of the greatest depth, more of the others; they "
         "take turns, on random inputs of train.batch_size. Time is the median; memory is "
         "the measured peak, which is otherwise counted")
      .positive()
      .value("STEPS")
      .needs(across);
  cli.add_option("--picture", args.picture,
                 "of --across-depth, .png or .svg (default: across-depth.png)")
      .value("FILE")
      .needs(across);
}

int draw_across_depth(const experiment::Variation& variation, const AcrossDepthArguments& args,
                      bool json) {
  check(args.blocks, args.picture);
  const experiment::Experiment e = variation({});
  GrowthSettings settings{args.blocks, names_or_own(args.layer_attentions, e), args.timed_steps};
  const bool watched = stderr_is_terminal();
  if (watched) {
    settings.progress = [](double share) { fmt::print(stderr, "\r{:3.0f} %", 100 * share); };
  }
  const std::vector<Depth> depths = experiment::measure_depths(variation, settings);
  if (watched) fmt::print(stderr, "\r{:5}\r", "");
  draw(args.picture, settings, e.train.batch_size, depths);
  if (json) {
    fmt::print("{}\n", experiment::to_json(e, settings, depths).dump());
  } else {
    fmt::print("{}{}\n", experiment::to_text(settings, depths), args.picture);
  }
  return 0;
}

}  // namespace fovea::apps
