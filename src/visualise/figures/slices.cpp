// Segmentations of volumes, slice by slice, and a page to scroll through them. D-Former, figure 4.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "base/distinct_names.h"
#include "base/error.h"
#include "base/file.h"
#include "metrics/label_maps.h"
#include "visualise/figures/shared/shared_options.h"
#include "visualise/figures/shared/volume_inputs.h"
#include "visualise/figures/shared/volume_view.h"
#include "visualise/layouts/volume_figure.h"
#include "visualise/pages/volume_page.h"

namespace fovea::visualise {
namespace {

struct SlicesOptions : VolumeView,
                       ThicknessOption,
                       ColoursOption,
                       OverlayOption,
                       FactorOption,
                       ExplorerOption {
  SliceLook look() const {
    SliceLook look;
    look.slices = slices.value_or(look.slices);
    look.factor = factor.value_or(0);
    look.thickness = thickness;
    look.colours = sequential();
    if (overlay) look.overlay = *overlay;
    return look;
  }
};

const schema::Fields<SlicesOptions>& slices_fields() {
  static const auto fields = schema::Fields<SlicesOptions>{}
                                 .include(volume_view_fields())
                                 .include(thickness_field())
                                 .include(colours_field())
                                 .include(overlay_field())
                                 .include(factor_field())
                                 .include(explorer_field());
  return fields;
}

// `query`: of the file.
std::string stages_title(const std::vector<std::int64_t>& query) {
  if (query.empty())
    return "attention rolled out over the blocks of each stage, mean over all tokens";
  return fmt::format("attention of voxel {}, {}, {} rolled out over the blocks of each stage",
                     query[0], query[1], query[2]);
}

// Says weights, scores and files of a run once all of it is drawn.
void draw_volumes(const ShownRun& run, const FigureRequest& request, const SlicesOptions& options) {
  run.model.train(false);
  std::vector<std::string> lines = {fmt::format("{:<20} {}", run.name, run.weights)}, files;
  const auto place = [&](const std::string& file) {
    files.push_back(file);
    return request.out / file;
  };
  SliceLook look = options.look();
  VolumePage page;
  const std::vector<VolumeInput> inputs = volume_inputs(request, run);
  page.title = fmt::format("{}: slices of {}", run.name, volumes_text(run, inputs));
  page.notes = page_notes(run, inputs);
  page.colours = look.colours;
  bool attends = false;
  for (const VolumeInput& input : inputs) {
    SeenVolume seen = run.seen_volume(input);
    CaseVolume& v = seen.volume;
    v.convention = options.side();
    look.through = options.voxel_in(v);
    run.add_rollouts(seen.image, look.through, v);
    lines.push_back(fmt::format("{:<20} {:<20} {}", run.name, v.name, dice_line(v)));
    io::make_directories(request.out);
    const auto draw = [&](const char* kind, const Canvas& picture) {
      write_png(place(fmt::format("{}-{}-{}.png", kind, slug(run.name), slug(v.name))), picture);
    };
    const std::string title = run.name + ", " + v.name;
    draw("slices", slices_figure(title, v, look));
    if (!v.maps.empty()) {
      attends = true;
      draw("rollout", maps_figure(title + ": " + stages_title(options.query), v, look));
    }
    if (!options.no_explorer) page.cases.push_back(std::move(v));
  }
  if (attends && !options.no_explorer) {
    page.notes.push_back(fmt::format(
        "Stages: {}. An even share is 1, what a token would have if all were seen alike; "
        "between the middles of tokens it is blended, and where windows overlap it is "
        "the mean.",
        stages_title(options.query)));
  }
  if (!options.no_explorer)
    write_volume_page(place(fmt::format("volumes-{}.html", slug(run.name))), page);
  for (const std::string& line : lines) request.say(line);
  request.say_files(files);
}

void draw_slices(const FigureRequest& request, const SlicesOptions& options) {
  FOVEA_CHECK(request.texts.empty(), ConfigError, "--text: the runs read volumes; give --input");
  options.check();
  for (const ShownRun& run : request.runs) draw_volumes(run, request, options);
}

FigureInfo slices_info() {
  return {
      .help =
          "slices of volumes in three planes with truth, prediction, errors and the attention of "
          "every stage, and a page to scroll through them",
      .files = {"slices-<run>-<case>.png", "rollout-<run>-<case>.png", "volumes-<run>.html"},
      .fits = "segmentation of volumes",
      .misfit = [](const ShownRun& run) { return unless_reading(Reads::kVolumes, run); },
      .standard = true};
}

}  // namespace

FOVEA_FIGURE(slices, slices_info(), slices_fields(), draw_slices)

}  // namespace fovea::visualise
