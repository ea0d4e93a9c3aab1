#include "visualise/layouts/stage_figure.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "visualise/drawing/heatmap.h"
#include "visualise/drawing/montage.h"

namespace fovea::visualise {
namespace {

constexpr ColourMap kShares = ColourMap::kViridis16;

const DecoderStage& stage_of(const StagedNetwork& network, std::int64_t number) {
  return network.stages[static_cast<std::size_t>(number - 1)];
}

void check_stages(const StageFigure& f) {
  FOVEA_CHECK(!f.networks.empty() && !f.stages.empty(), ShapeError,
              "stage figure: no networks or no stages");
  for (const StagedNetwork& network : f.networks) {
    for (const std::int64_t number : f.stages) {
      FOVEA_CHECK(number >= 1 && number <= std::ssize(network.stages), ConfigError,
                  fmt::format("stage {}: {} has stages 1 (the coarsest) to {}", number,
                              network.name, network.stages.size()));
      const DecoderStage& own = stage_of(network, number);
      const DecoderStage& first = stage_of(f.networks.front(), number);
      FOVEA_CHECK(own.grid_h == first.grid_h && own.grid_w == first.grid_w, ConfigError,
                  fmt::format("stage {}: {} x {} tokens in {}, {} x {} in {}; draw them apart",
                              number, own.grid_h, own.grid_w, network.name, first.grid_h,
                              first.grid_w, f.networks.front().name));
    }
  }
}

Matrix norms_of(const DecoderStage& stage, const Matrix& tokens) {
  return token_norms(tokens, stage.grid_h, stage.grid_w);
}

Canvas difference_picture(const Matrix& difference) {
  return colourise(scale_between(difference, -1, 1), ColourMap::kBlueRed);
}

// Input and truth: below each other where there are rows for both.
void add_image(const StageFigure& f, Montage& montage) {
  const bool truth = f.truth.width > 0;
  montage.rows.assign(f.stages.size(), std::vector<Canvas>(1));
  montage.rows[0][0] = f.input;
  montage.column_labels = {"input"};
  if (!truth) return;
  if (f.stages.size() > 1) {
    montage.rows[1][0] = f.truth;
    montage.column_labels = {"input, truth below"};
  } else {
    montage.rows[0].push_back(f.truth);
    montage.column_labels.emplace_back("truth");
  }
}

}  // namespace

Canvas render_maps(const StageFigure& f, const MapKinds& kinds) {
  check_stages(f);
  Montage montage;
  montage.title = f.title;
  montage.factor = f.factor;
  add_image(f, montage);
  const std::int64_t maps = std::ssize(montage.column_labels);
  for (const StagedNetwork& network : f.networks) {
    if (kinds.norms) montage.column_labels.push_back("‖input‖ " + network.name);
    if (kinds.updates) montage.column_labels.push_back("‖Δattn‖ " + network.name);
  }
  const std::int64_t differences = std::ssize(montage.column_labels);
  const std::size_t compared = kinds.compare.value_or(f.networks.size());
  for (std::size_t k = 0; kinds.compare && k < f.networks.size(); ++k) {
    if (k == compared) continue;
    montage.column_labels.push_back(
        fmt::format("‖Δattn‖ {} − {}", f.networks[compared].name, f.networks[k].name));
  }
  const std::int64_t h = f.input.height, w = f.input.width;
  for (std::size_t row = 0; row < f.stages.size(); ++row) {
    std::vector<Canvas>& pictures = montage.rows[row];
    const std::int64_t number = f.stages[row];
    montage.row_labels.push_back(title_of(stage_of(f.networks[0], number), number));
    for (const StagedNetwork& network : f.networks) {
      const DecoderStage& stage = stage_of(network, number);
      const auto add = [&](const Matrix& tokens) {
        pictures.push_back(colourise(shown_map(norms_of(stage, tokens), h, w), kShares));
      };
      if (kinds.norms) add(stage.input);
      if (kinds.updates) add(stage.update);
    }
    for (std::size_t k = 0; kinds.compare && k < f.networks.size(); ++k) {
      if (k == compared) continue;
      const DecoderStage& one = stage_of(f.networks[compared], number);
      const DecoderStage& other = stage_of(f.networks[k], number);
      pictures.push_back(difference_picture(
          shown_difference(norms_of(one, one.update), norms_of(other, other.update), h, w)));
    }
  }
  const std::int64_t columns = std::ssize(montage.column_labels);
  montage.bars.push_back(
      bar_below({kShares, 0, 1, "least to largest of each map"}, maps, differences - maps));
  if (columns > differences) {
    montage.bars.push_back(bar_below({ColourMap::kBlueRed, -1, 1, "difference of these shares"},
                                     differences, columns - differences));
  }
  return render(montage);
}

Canvas render_saliency(const StageFigure& f) {
  check_stages(f);
  constexpr std::int64_t kHeight = 36, kTokens = 784, kChannels = 392;  // of strips
  Montage montage;
  montage.title = f.title;
  montage.factor = 1;  // strips have a size of their own
  montage.column_labels = {"input", "tokens on the image", "tokens in their order", "channels"};
  for (const std::int64_t number : f.stages) {
    for (const StagedNetwork& network : f.networks) {
      const DecoderStage& stage = stage_of(network, number);
      const std::vector<double> tokens = token_saliency(stage.output);
      montage.row_labels.push_back(fmt::format("{}, {}: first token {:.2f} × mean", network.name,
                                               title_of(stage, number), first_token_ratio(tokens)));
      const Canvas on_image = colourise(
          shown_map(as_grid(tokens, stage.grid_h, stage.grid_w), f.input.height, f.input.width),
          kShares);
      const bool first = montage.rows.empty();
      montage.rows.push_back({first ? enlarge(f.input, f.factor) : Canvas(),
                              enlarge(on_image, f.factor), strip_of(tokens, kTokens, kHeight),
                              strip_of(channel_saliency(stage.output), kChannels, kHeight)});
    }
  }
  montage.bars.push_back(
      bar_below({kShares, 0, 1, "root mean square, least to largest of each picture"}, 2, 1));
  return render(montage);
}

Canvas strip_of(const std::vector<double>& values, std::int64_t width, std::int64_t height) {
  const std::int64_t n = std::ssize(values);
  const Matrix shares = scale_minmax({1, n, values});
  Canvas strip(width, height);
  for (std::int64_t x = 0; x < width; ++x) {
    const std::int64_t first = x * n / width;
    const std::int64_t end = std::max(first + 1, (x + 1) * n / width);
    double largest = shares.at(0, first);
    for (std::int64_t i = first; i < end; ++i) largest = std::max(largest, shares.at(0, i));
    strip.fill_rectangle(x, 0, 1, height, colour_of(kShares, largest));
  }
  return strip;
}

std::string title_of(const DecoderStage& stage, std::int64_t number) {
  return fmt::format("S{} {}, {} × {}", number, stage.name, stage.grid_h, stage.grid_w);
}

}  // namespace fovea::visualise
