// Attention of networks whose blocks work on grids of several sizes: where a pixel looks.
#include "visualise/maps/rollouts/grid_rollout.h"

#include <fmt/format.h>

#include "base/csv_field.h"
#include "base/distinct_names.h"
#include "base/file.h"
#include "tensor/safetensors.h"
#include "visualise/figures/shared/image_inputs.h"
#include "visualise/figures/shared/shared_options.h"

namespace fovea::visualise {
namespace {

using attention::Probe;

// There is no explorer.html; scripts may give --no-explorer to runs of every kind.
struct GridRolloutOptions : HeatLook, HeadsOption, QueryOption, ExplorerOption {
  bool whole_maps = false;
};

const schema::Fields<GridRolloutOptions>& grid_rollout_fields() {
  static const auto fields =
      schema::Fields<GridRolloutOptions>{}
          .include(heat_look_fields())
          .include(heads_field())
          .include(query_field())
          .add("whole_maps", &GridRolloutOptions::whole_maps,
               "all rows of every map in maps.safetensors, not the query's alone; 75 MiB for each "
               "head at 56 x 56 tokens")
          .include(explorer_field());
  return fields;
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

std::string token_lines(const std::vector<GridRollout>& rollouts, const std::string& run,
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

void note_missing(const FigureRequest& request, const std::string& run,
                  const std::vector<GridRollout>& rollouts) {
  for (const GridRollout& rollout : rollouts) {
    if (!rollout.weights.empty()) continue;
    request.note(
        fmt::format("{}: no rollout of {} to {}, which needs whole maps of {} x {} "
                    "tokens; --whole-maps makes them",
                    run, rollout.first, rollout.last, rollout.grid_h, rollout.grid_w));
  }
}

// What is written of all runs.
struct GridResults {
  TensorFile maps;
  std::string csv = "run,input,first_block,last_block,row,column,weight\n";
  std::vector<std::string> files;
};

void draw_run(const ShownRun& run, const std::vector<ImageInput>& inputs,
              const FigureRequest& request, const GridRolloutOptions& options,
              GridResults& results) {
  const auto write = [&](const std::string& name, const Canvas& picture) {
    io::make_directories(request.out);
    write_png(request.out / name, picture);
    results.files.push_back(name);
  };
  results.maps.metadata.emplace(slug(run.name), run.weights);
  GridRolloutFigure figure;
  figure.title = run.name + ": attention of the framed place, rolled out over blocks of one grid";
  figure.scale = options.heat_scale();
  figure.sequential = options.sequential();
  figure.smooth = options.smooth;
  figure.factor = options.enlargement(inputs[0].picture);
  for (const ImageInput& input : inputs) {
    const Probe::Place place = options.place_in(input.picture);
    const std::optional<Probe::Place> only =
        options.whole_maps ? std::nullopt : std::optional(place);
    const std::vector<GridAttention> blocks =
        observe_grids(run.model, prepared(input, run, request), only, kWholeMaps);
    figure.names.push_back(input.name);
    figure.inputs.push_back(input.picture);
    figure.places.push_back(place);
    std::vector<GridRollout>& rollouts = figure.rollouts.emplace_back(grid_rollouts(blocks, place));
    if (auto joined = joined_rollout(blocks)) rollouts.push_back(std::move(*joined));
    results.csv += token_lines(rollouts, run.name, input.name);
    add_maps(blocks, only, slug(run.name) + "/" + slug(input.name), run.host, results.maps);
    if (!options.heads) continue;
    write(fmt::format("heads-{}-{}.png", slug(run.name), slug(input.name)),
          grid_heads(blocks, place, input.picture, run.name + ", " + input.name,
                     options.head_look()));
  }
  write(fmt::format("rollout-{}.png", slug(run.name)), render(figure));
  figure.overlay = options.share_of_image();
  if (figure.overlay > 0) write(fmt::format("overlay-{}.png", slug(run.name)), render(figure));
  request.say(fmt::format("{:<20} {}", run.name, run.weights));
  note_missing(request, run.name, figure.rollouts.front());
}

void draw_grid_rollout(const FigureRequest& request, const GridRolloutOptions& options) {
  const std::vector<ImageInput> inputs = image_inputs(request);
  GridResults results;
  for (const ShownRun& run : request.runs) {
    check_size(run, request);
    draw_run(run, inputs, request, options, results);
  }
  write_safetensors(request.out / "maps.safetensors", results.maps);
  io::write_atomic(request.out / "weights.csv", results.csv);
  results.files.insert(results.files.end(), {"maps.safetensors", "weights.csv"});
  if (!options.whole_maps) {
    request.note(
        "of maps of all tokens to all tokens only the query's row was made; --whole-maps makes all "
        "rows, --query chooses another pixel");
  }
  request.say_files(results.files);
}

FigureInfo grid_rollout_info() {
  return {.help =
              "where the pixel at --query looks in networks whose blocks work on grids of several "
              "sizes, a column for each sequence of blocks on one grid",
          .files = {"rollout-<run>.png", "overlay-<run>.png", "heads-<run>-<input>.png",
                    "weights.csv", "maps.safetensors"},
          .fits = "a network of images with attention on grids of several sizes",
          .misfit = [](const ShownRun& run) -> std::string {
            if (reads_of(run) == Reads::kOneGrid) return "has one grid for all of its blocks";
            return unless_images(run);
          },
          .network =
              [](const ShownRun& run) {
                return can([&] {
                  observe_grids(run.model, first_sample(run), Probe::Place{0.5, 0.5});
                });
              },
          .standard = true};
}

}  // namespace

FOVEA_FIGURE(grid_rollout, grid_rollout_info(), grid_rollout_fields(), draw_grid_rollout)

}  // namespace fovea::visualise
