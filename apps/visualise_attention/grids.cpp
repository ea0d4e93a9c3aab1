#include "visualise_attention/grids.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/csv_field.h"
#include "base/distinct_names.h"
#include "base/error.h"
#include "base/file.h"
#include "tensor/safetensors.h"
#include "visualise/maps/grid_rollout.h"
#include "visualise/maps/heat_scale.h"
#include "visualise_attention/image_inputs.h"
#include "visualise_attention/subject.h"

namespace fovea::apps {
namespace {

using attention::Probe;
using visualise::GridAttention;
using visualise::GridRollout;

void check_settings(const Arguments& args) {
  FOVEA_CHECK(args.sign.empty() && args.normalise.empty() && args.fusion == "mean" &&
                  args.discard == 0 && args.alpha == 0.5 && args.start_layer == 0,
              ConfigError,
              "--sign, --normalise, --fusion, --discard, --alpha, --start-layer: are of networks "
              "with one grid; others have the rollout of docs/visualising.md");
}

// Grids of more tokens have whole maps only with --whole-maps: 6 MiB a head.
constexpr std::int64_t kWholeMaps = 900;

// Of maps of all tokens to all tokens only the row of the query at `place`, where there is one.
void add_maps(const std::vector<GridAttention>& blocks, const std::optional<Probe::Place>& place,
              const std::string& key, const Device& host, TensorFile& file) {
  for (const GridAttention& block : blocks) {
    const std::int64_t keys = block.map.size(2);
    std::int64_t first = 0, rows = block.map.size(1);
    if (place && keys == rows && rows == block.grid_h * block.grid_w) {
      Probe probe;
      probe.only(*place);
      first = probe.rows(0, block.grid_h, block.grid_w).first;
      rows = 1;
    }
    const auto add = [&](const char* name, const Tensor& map) {
      if (!map.defined()) return;
      const auto values = map.host_values<double>();
      std::vector<double> kept;
      for (std::int64_t head = 0; head < map.size(0); ++head) {
        const auto begin = values.begin() + (head * map.size(1) + first) * keys;
        kept.insert(kept.end(), begin, begin + rows * keys);
      }
      file.tensors.emplace(fmt::format("{}/{}/{}", key, block.block, name),
                           Tensor::from(kept, {map.size(0), rows, keys}, host));
    };
    add("attn", block.map);
    add("attn1", block.map1);
    add("attn2", block.map2);
  }
}

std::string weights_lines(const std::vector<GridRollout>& rollouts, const std::string& run,
                          const std::string& input) {
  std::string csv;
  for (const GridRollout& rollout : rollouts) {
    for (std::size_t i = 0; i < rollout.weights.size(); ++i) {
      const auto token = static_cast<std::int64_t>(i);
      csv += fmt::format("{},{},{},{},{},{},{}\n", csv_field(run), csv_field(input), rollout.first,
                         rollout.last, token / rollout.grid_w, token % rollout.grid_w,
                         rollout.weights[i]);
    }
  }
  return csv;
}

}  // namespace

void draw_grids(std::vector<experiment::Opened>& runs, const Arguments& args,
                const Common& common) {
  check_settings(args);
  const std::vector<std::string> names = folder_names(args);
  const data::ImageDataset& first = images_of(*runs[0].run, args);
  const std::vector<ImageInput> inputs = image_inputs(args, first, names[0]);
  const io::fs::path out = args.out;
  TensorFile maps;
  std::vector<std::string> files;
  std::string csv = "run,input,first_block,last_block,row,column,weight\n";
  const auto write = [&](const std::string& name, const visualise::Canvas& picture) {
    io::make_directories(out);
    visualise::write_png(out / name, picture);
    files.push_back(name);
  };
  for (std::size_t r = 0; r < runs.size(); ++r) {
    experiment::Run& run = *runs[r].run;
    const data::ImageDataset& own = images_of(run, args);
    check_size(own, first, names[r], names[0]);
    maps.metadata.emplace(slug(names[r]), weights_text(runs[r].weights));
    visualise::GridRolloutFigure figure;
    figure.title = names[r] + ": attention of the framed place, rolled out over blocks of one grid";
    figure.scale = scale_of(args);
    figure.sequential = colours_of(args);
    figure.smooth = args.smooth;
    figure.factor = enlargement(args, inputs[0].picture);
    for (const ImageInput& input : inputs) {
      const Probe::Place place = place_of_query(args, input.picture);
      const Tensor x = prepared(input, own, first, names[r], run.device());
      const std::optional<Probe::Place> only =
          args.whole_maps ? std::nullopt : std::optional(place);
      const std::vector<GridAttention> blocks =
          visualise::observe_grids(run.model(), x, only, kWholeMaps);
      figure.names.push_back(input.name);
      figure.inputs.push_back(input.picture);
      figure.places.push_back(place);
      std::vector<GridRollout>& rollouts =
          figure.rollouts.emplace_back(visualise::grid_rollouts(blocks, place));
      if (auto joined = visualise::joined_rollout(blocks)) rollouts.push_back(std::move(*joined));
      csv += weights_lines(figure.rollouts.back(), names[r], input.name);
      add_maps(blocks, only, slug(names[r]) + "/" + slug(input.name),
               run.task().source().options().host, maps);
      if (!args.heads) continue;
      write(fmt::format("heads-{}-{}.png", slug(names[r]), slug(input.name)),
            visualise::grid_heads(blocks, place, input.picture, names[r] + ", " + input.name,
                                  head_look_of(args)));
    }
    write(fmt::format("rollout-{}.png", slug(names[r])), visualise::render(figure));
    figure.overlay = overlay_of(args);
    if (figure.overlay > 0)
      write(fmt::format("overlay-{}.png", slug(names[r])), visualise::render(figure));
    if (common.quiet) continue;
    fmt::print("{:<20} {}\n", names[r], weights_text(runs[r].weights));
    for (const GridRollout& rollout : figure.rollouts.front()) {
      if (!rollout.weights.empty()) continue;
      fmt::print(stderr,
                 "note: {}: no rollout of {} to {}, which needs whole maps of {} x {} tokens; "
                 "--whole-maps makes them\n",
                 names[r], rollout.first, rollout.last, rollout.grid_h, rollout.grid_w);
    }
  }
  write_safetensors(out / "maps.safetensors", maps);
  io::write_atomic(out / "weights.csv", csv);
  files.insert(files.end(), {"maps.safetensors", "weights.csv"});
  if (common.quiet) return;
  if (!args.whole_maps) {
    fmt::print(stderr,
               "note: of maps of all tokens to all tokens only the query's row was made; "
               "--whole-maps makes all rows, --query chooses another pixel\n");
  }
  for (const std::string& file : files) fmt::print("{}\n", (out / file).string());
}

}  // namespace fovea::apps
