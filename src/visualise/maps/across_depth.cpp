#include "visualise/maps/across_depth.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>
#include <utility>

#include "attention/probe.h"
#include "autograd/mode.h"
#include "base/error.h"
#include "base/file.h"
#include "tensor/host.h"
#include "visualise/drawing/heatmap.h"
#include "visualise/drawing/montage.h"
#include "visualise/maps/layer_statistics.h"
#include "visualise/plots/plot.h"

namespace fovea::visualise {
namespace {

constexpr std::int64_t kBins = 100;

// "layer2" or "stages.1": the stage that a dotted name begins with.
std::string stage_of(const std::string& name) {
  std::size_t end = name.find('.');
  if (name.starts_with("stages.")) end = name.find('.', end + 1);
  return name.substr(0, end);
}

struct Seen {
  std::vector<double> adjacent, arbitrary;
  // Scores are summed by stage and layer: sums of key norms over images would not do.
  std::map<std::string, std::vector<std::vector<double>>> scores;  // stage -> head -> map
  std::int64_t images = 0;
};

void see_keys(const attention::Probe& probe, Seen& seen) {
  for (const Tensor& keys : probe.all("keys")) {  // (b, heads, layers, head_dim)
    if (keys.size(2) < 2) continue;
    const std::vector<double> values = host_doubles(keys);
    const auto add = [&](std::vector<double>& to, KeyPairs pairs) {
      const auto found = key_cosines(values, keys.size(2), keys.size(3), pairs);
      to.insert(to.end(), found.begin(), found.end());
    };
    add(seen.adjacent, KeyPairs::kAdjacent);
    add(seen.arbitrary, KeyPairs::kArbitrary);
  }
}

using Divisors = std::map<std::string, std::vector<double>>;  // by stage

void see_scores(const attention::Probe& probe, const Divisors& divisors, Seen& seen) {
  std::map<std::string, std::vector<std::vector<double>>> norms;  // stage -> layer -> (b, heads)
  for (const auto& record : probe.records()) {
    if (record.name == "key_norm")
      norms[stage_of(record.module)].push_back(host_doubles(record.value));
  }
  for (const auto& [stage, layers] : norms) {
    const std::vector<double>& d = divisors.at(stage);
    const std::size_t heads = d.size();
    auto& maps = seen.scores[stage];
    maps.resize(heads, std::vector<double>(layers.size() * layers.size(), 0.0));
    for (std::size_t b = 0; b < layers[0].size() / heads; ++b) {
      for (std::size_t h = 0; h < heads; ++h) {
        std::vector<double> of_head;
        for (const auto& layer : layers) of_head.push_back(layer[b * heads + h]);
        const auto map = layer_scores(of_head, d[h]);
        for (std::size_t i = 0; i < map.size(); ++i) maps[h][i] += map[i];
      }
    }
  }
}

Divisors divisors_of(const models::Model& model) {
  Divisors found;
  for (const nn::NamedTensor& named : model.parameters()) {
    if (named.name.ends_with("norm_d")) found[stage_of(named.name)] = host_doubles(named.tensor);
  }
  return found;
}

void write_plots(const std::vector<LinePlot>& plots, const std::string& csv,
                 const std::filesystem::path& folder, const std::string& name,
                 std::vector<std::string>& written) {
  write_png(folder / (name + ".png"),
            render(std::span<const LinePlot>(plots), static_cast<std::int64_t>(plots.size())));
  io::write_atomic(folder / (name + ".csv"), csv);
  written.push_back(name + ".png");
  written.push_back(name + ".csv");
}

void write_keys(const Seen& seen, const std::filesystem::path& folder,
                std::vector<std::string>& written) {
  LinePlot plot;
  plot.title = "keys of layers";
  plot.x_label = "cosine";
  plot.y_label = "share of pairs";
  plot.y_low = 0;
  std::string csv = "pairs,low,high,share\n";
  for (const auto& [name, values] :
       {std::pair{"adjacent", &seen.adjacent}, std::pair{"arbitrary", &seen.arbitrary}}) {
    const auto share = histogram(*values, kBins, -1, 1);
    Series series{name, {}, share, {}};
    for (std::int64_t bin = 0; bin < kBins; ++bin) {
      const double low = -1 + 2.0 * static_cast<double>(bin) / kBins;
      series.x.push_back(low + 1.0 / kBins);
      csv += fmt::format("{},{:.2f},{:.2f},{}\n", name, low, low + 2.0 / kBins,
                         share[static_cast<std::size_t>(bin)]);
    }
    plot.series.push_back(std::move(series));
  }
  write_plots({plot}, csv, folder, "keys", written);
}

void write_decay(const models::Model& model, const std::filesystem::path& folder,
                 std::vector<std::string>& written) {
  std::map<std::string, std::pair<std::int64_t, std::vector<double>>> stages;
  for (const nn::NamedTensor& named : model.parameters()) {
    if (!named.name.ends_with("lambda_t")) continue;
    auto& [layers, values] = stages[stage_of(named.name)];
    const auto own = host_doubles(named.tensor);
    values.insert(values.end(), own.begin(), own.end());
    ++layers;
  }
  if (stages.empty()) return;
  std::vector<LinePlot> plots;
  std::string csv = "stage,distance,mean,std,abs_mean,abs_std\n";
  for (const auto& [stage, entry] : stages) {
    const auto& [layers, values] = entry;
    const auto channels = static_cast<std::int64_t>(values.size()) / layers;
    const auto beta = beta_decay(values, layers, channels);
    LinePlot plot;
    plot.title = stage;
    plot.x_label = "layers back";
    plot.y_label = "|beta|";
    plot.y_low = 0;
    Series series;
    for (std::int64_t l = 0; l < layers; ++l) {
      const std::span<const double> row(beta.data() + l * channels,
                                        static_cast<std::size_t>(channels));
      const Spread plain = spread_of(row, false), absolute = spread_of(row, true);
      series.x.push_back(static_cast<double>(l));
      series.y.push_back(absolute.mean);
      series.band.push_back(absolute.std);
      csv += fmt::format("{},{},{},{},{},{}\n", stage, l, plain.mean, plain.std, absolute.mean,
                         absolute.std);
    }
    plot.series.push_back(std::move(series));
    plots.push_back(std::move(plot));
  }
  write_plots(plots, csv, folder, "decay", written);
}

void write_scores(const Seen& seen, const Divisors& divisors, const std::filesystem::path& folder,
                  std::vector<std::string>& written) {
  Montage montage;
  montage.title = "weights of layers, mean over images";
  montage.row_labels = {"smallest D", "middle D", "largest D"};
  montage.rows.resize(3);
  montage.factor = 12;
  montage.bars.push_back({.bar = {ColourMap::kPlasma, 0, 1, "weight"}});
  std::string csv = "stage,head,divisor,layer,weighs,share\n";
  for (const auto& [stage, maps] : seen.scores) {
    montage.column_labels.push_back(stage);
    const std::vector<double>& d = divisors.at(stage);
    std::vector<std::size_t> order(maps.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return d[a] < d[b]; });
    const std::size_t panels[] = {order.front(), order[order.size() / 2], order.back()};
    const auto layers = static_cast<std::int64_t>(std::lround(std::sqrt(maps[0].size())));
    for (std::size_t h = 0; h < maps.size(); ++h) {
      for (std::int64_t t = 0; t < layers; ++t) {
        for (std::int64_t j = 0; j <= t; ++j) {
          csv += fmt::format(
              "{},{},{},{},{},{}\n", stage, h, d[h], t, j,
              maps[h][static_cast<std::size_t>(t * layers + j)] / static_cast<double>(seen.images));
        }
      }
    }
    for (std::size_t row = 0; row < 3; ++row) {
      Matrix matrix{layers, layers, maps[panels[row]]};
      for (double& value : matrix.values) value /= static_cast<double>(seen.images);
      montage.rows[row].push_back(colourise(matrix, ColourMap::kPlasma));
    }
  }
  write_png(folder / "scores.png", render(montage));
  io::write_atomic(folder / "scores.csv", csv);
  written.insert(written.end(), {"scores.png", "scores.csv"});
}

bool has_decay(const models::Model& model) {
  const auto parameters = model.parameters();
  return std::any_of(parameters.begin(), parameters.end(),
                     [](const nn::NamedTensor& named) { return named.name.ends_with("lambda_t"); });
}

// Runs the network in evaluation mode over all batches.
Seen see_all(models::Model& model, const Divisors& divisors, const NextBatch& next) {
  model.train(false);
  const autograd::NoGrad no_grad;
  Seen seen;
  for (Tensor images = next(); images.defined(); images = next()) {
    attention::Probe probe;
    model({.image = images}, &probe);
    see_keys(probe, seen);
    see_scores(probe, divisors, seen);
    seen.images += images.size(0);
  }
  return seen;
}

bool shows_something(const Seen& seen, const models::Model& model) {
  return !seen.adjacent.empty() || !seen.scores.empty() || has_decay(model);
}

}  // namespace

bool shows_across_depth(models::Model& model, const Tensor& images) {
  Tensor left = images;
  const Seen seen =
      see_all(model, divisors_of(model), [&] { return std::exchange(left, Tensor()); });
  return shows_something(seen, model);
}

std::vector<std::string> write_across_depth(models::Model& model, const NextBatch& next,
                                            const std::string& folder) {
  const Divisors divisors = divisors_of(model);
  const Seen seen = see_all(model, divisors, next);
  FOVEA_CHECK(shows_something(seen, model), ConfigError,
              "visualise-attention --across-depth: the network has neither keys of several layers, "
              "nor lambda_t, nor weights of layers; its model.layer_attention may be standard, "
              "mrla_b, mrla_l, dla_l or kcla");
  const std::filesystem::path out = folder;
  io::make_directories(out);
  std::vector<std::string> written;
  if (!seen.adjacent.empty()) write_keys(seen, out, written);
  write_decay(model, out, written);
  if (!seen.scores.empty()) write_scores(seen, divisors, out, written);
  return written;
}

}  // namespace fovea::visualise
