// Segmentations of volumes, slice by slice, and a page to scroll through them. D-Former, figure 4.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "base/distinct_names.h"
#include "base/error.h"
#include "base/file.h"
#include "data/volumes/volume_dataset.h"
#include "metrics/label_maps.h"
#include "visualise/figures/shared/image_inputs.h"
#include "visualise/figures/shared/shared_options.h"
#include "visualise/layouts/volume_figure.h"
#include "visualise/pages/volume_page.h"

namespace fovea::visualise {
namespace {

struct SlicesOptions : ThicknessOption, ColoursOption, OverlayOption, FactorOption, ExplorerOption {
  std::int64_t slices = 3;
  std::vector<std::int64_t> query;
  std::string convention = "radiological";

  SliceLook look() const {
    SliceLook look;
    look.slices = slices;
    look.factor = factor.value_or(0);
    look.thickness = thickness;
    look.colours = sequential();
    if (overlay) look.overlay = *overlay;
    return look;
  }
};

const std::vector<std::string>& conventions() {
  static const std::vector<std::string> words = {"radiological", "neurological"};
  return words;
}

const schema::Fields<SlicesOptions>& slices_fields() {
  static const auto fields =
      schema::Fields<SlicesOptions>{}
          .add("slices", &SlicesOptions::slices, schema::greater_than(0),
               "how many in each plane (default: 3)")
          .add("query", &SlicesOptions::query,
               "slice, row and column of a voxel of the file, from 0 (default: the mean of all)")
          .add("convention", &SlicesOptions::convention, words(conventions()),
               "the patient's right at the left of axial and coronal slices, as if seen from the "
               "feet and the front (radiological, the default), or at the right")
          .include(thickness_field())
          .include(colours_field())
          .include(overlay_field())
          .include(factor_field())
          .include(explorer_field());
  return fields;
}

// The samples that --input names, the first four without it.
std::vector<std::int64_t> cases_of(const FigureRequest& request,
                                   const data::VolumeDataset& volumes) {
  std::vector<std::int64_t> cases;
  for (const std::string& text : request.inputs) {
    FOVEA_CHECK(is_index(text), ConfigError,
                fmt::format("--input {}: expected the number of a case of the split; fovea predict "
                            "reads files",
                            text));
    cases.push_back(sample_index(text, volumes.size()));
  }
  for (std::int64_t i = 0; request.inputs.empty() && i < std::min<std::int64_t>(4, volumes.size());
       ++i)
    cases.push_back(i);
  return cases;
}

// --query names a voxel of the file; here it is that of the volume that the network sees.
std::optional<Sides3> voxel_of_query(const std::vector<std::int64_t>& query, const CaseVolume& v) {
  if (query.empty()) return std::nullopt;
  const Sides3 size = file_size(v);
  bool inside = query.size() == 3;
  for (std::size_t axis = 0; inside && axis < 3; ++axis)
    inside = query[axis] >= 0 && query[axis] < size[axis];
  FOVEA_CHECK(inside, ConfigError,
              fmt::format("--query {}: expected slice, row and column of a voxel of the file, from "
                          "0; {} has {} x {} x {}",
                          fmt::join(query, ","), v.name, size[0], size[1], size[2]));
  const std::optional<Sides3> voxel = voxel_of_file(v, {query[0], query[1], query[2]});
  if (!voxel) {
    const Sides3 a = file_voxel_of(v, {0, 0, 0});
    const Sides3 b = file_voxel_of(v, {v.size[0] - 1, v.size[1] - 1, v.size[2] - 1});
    const auto range = [&](std::size_t k) {
      return fmt::format("{} to {}", std::min(a[k], b[k]), std::max(a[k], b[k]));
    };
    throw ConfigError(fmt::format(
        "--query {}: lies outside the part of {} that the network sees (its border of zeros is cut "
        "off): expected slices {}, rows {}, columns {}",
        fmt::join(query, ","), v.name, range(0), range(1), range(2)));
  }
  return voxel;
}

// `query`: of the file.
std::string stages_title(const std::vector<std::int64_t>& query) {
  if (query.empty())
    return "attention rolled out over the blocks of each stage, mean over all tokens";
  return fmt::format("attention of voxel {}, {}, {} rolled out over the blocks of each stage",
                     query[0], query[1], query[2]);
}

std::string dice_line(const CaseVolume& v) {
  std::string line =
      fmt::format("Dice {:.2f} %", 100 * metrics::class_mean(v.dice, 1, metrics::Empty::kOne));
  const std::vector<std::string>& names = scored_names(v);
  for (std::size_t k = 1; v.dice.size() > 2 && k < v.dice.size(); ++k)
    line += std::isnan(v.dice[k]) ? fmt::format(", {} in neither", names[k])
                                  : fmt::format(", {} {:.2f} %", names[k], 100 * v.dice[k]);
  return line;
}

std::vector<std::string> page_notes(const ShownRun& run, const data::VolumeDataset& volumes) {
  std::vector<std::string> notes = {
      fmt::format("Weights: {}. Cases of the {} split.", run.weights, data::name_of(run.split)),
      "Voxels, truth and prediction are those of the prepared volume that the network sees; Dice "
      "is of the voxels of the file, as eval counts."};
  if (volumes.plan().canonical)
    notes.push_back(
        "The volumes were turned to RAS+ for the network (dataset.canonical); numbers of slices "
        "and voxels are those of the file as it is.");
  if (!volumes.info().regions.empty())
    notes.push_back(
        "Dice is of the regions that the network learns; colours are those of their labels.");
  if (volumes.info().channels > 1)
    notes.push_back(fmt::format("The first of {} channels is shown.", volumes.info().channels));
  return notes;
}

// Says weights, scores and files of a run once all of it is drawn.
void draw_volumes(const ShownRun& run, const FigureRequest& request, const SlicesOptions& options) {
  run.model.train(false);
  const data::VolumeDataset& volumes = *data::find_volumes(run.samples);
  std::vector<std::string> lines = {fmt::format("{:<20} {}", run.name, run.weights)}, files;
  const auto place = [&](const std::string& file) {
    files.push_back(file);
    return request.out / file;
  };
  SliceLook look = options.look();
  VolumePage page;
  page.title = fmt::format("{}: slices of {}", run.name, data::name_of(run.split));
  page.notes = page_notes(run, volumes);
  page.colours = look.colours;
  bool attends = false;
  for (const std::int64_t i : cases_of(request, volumes)) {
    CaseVolume v = run.volume_case(i);
    v.convention = options.convention == "neurological" ? Convention::kNeurological
                                                        : Convention::kRadiological;
    look.through = voxel_of_query(options.query, v);
    run.add_rollouts(i, look.through, v);
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
  check_word("--convention", options.convention, conventions());
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
