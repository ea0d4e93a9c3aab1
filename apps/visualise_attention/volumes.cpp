#include "visualise_attention/volumes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "autograd/mode.h"
#include "base/distinct_names.h"
#include "base/error.h"
#include "base/file.h"
#include "data/volumes/volume_dataset.h"
#include "experiment/run/volume_case.h"
#include "metrics/label_maps.h"
#include "ops/shape.h"
#include "training/inference/inferer.h"
#include "visualise/layouts/volume_figure.h"
#include "visualise/maps/volume_rollout.h"
#include "visualise/pages/volume_page.h"
#include "visualise_attention/subject.h"

namespace fovea::apps {
namespace {

using visualise::CaseVolume;
using visualise::Sides3;

void check_settings(const Arguments& args) {
  FOVEA_CHECK(
      args.sign.empty() && args.normalise.empty() && args.fusion == "mean" && args.discard == 0 &&
          args.alpha == 0.5 && args.start_layer == 0 && args.scale.empty() && !args.heads &&
          !args.smooth && !args.whole_maps,
      ConfigError,
      "--sign, --normalise, --fusion, --discard, --alpha, --start-layer, --scale, --heads, "
      "--smooth, --whole-maps: are of networks of images and texts; volumes have the rollout "
      "of docs/visualising.md");
  FOVEA_CHECK(args.texts.empty(), ConfigError, "--text: the runs read volumes; give --input");
  check_word("--convention", args.convention, {"radiological", "neurological"});
}

// The samples that --input names, the first four without it.
std::vector<std::int64_t> cases_of(const Arguments& args, const data::VolumeDataset& volumes) {
  std::vector<std::int64_t> cases;
  for (const std::string& text : args.inputs) {
    FOVEA_CHECK(is_index(text), ConfigError,
                fmt::format("--input {}: expected the number of a case of the split; fovea predict "
                            "reads files",
                            text));
    cases.push_back(sample_index(text, volumes.size()));
  }
  for (std::int64_t i = 0; args.inputs.empty() && i < std::min<std::int64_t>(4, volumes.size());
       ++i)
    cases.push_back(i);
  return cases;
}

// --query names a voxel of the file; here it is that of the volume that the network sees.
std::optional<Sides3> query_of(const Arguments& args, const CaseVolume& v) {
  if (args.query.empty()) return std::nullopt;
  const Sides3 size = visualise::file_size(v);
  bool inside = args.query.size() == 3;
  for (std::size_t axis = 0; inside && axis < 3; ++axis)
    inside = args.query[axis] >= 0 && args.query[axis] < size[axis];
  FOVEA_CHECK(inside, ConfigError,
              fmt::format("--query {}: expected slice, row and column of a voxel of the file, from "
                          "0; {} has {} x {} x {}",
                          fmt::join(args.query, ","), v.name, size[0], size[1], size[2]));
  const std::optional<Sides3> voxel =
      visualise::voxel_of_file(v, {args.query[0], args.query[1], args.query[2]});
  if (!voxel) {
    const Sides3 a = visualise::file_voxel_of(v, {0, 0, 0});
    const Sides3 b = visualise::file_voxel_of(v, {v.size[0] - 1, v.size[1] - 1, v.size[2] - 1});
    const auto range = [&](std::size_t k) {
      return fmt::format("{} to {}", std::min(a[k], b[k]), std::max(a[k], b[k]));
    };
    throw ConfigError(fmt::format(
        "--query {}: lies outside the part of {} that the network sees (its border of zeros is cut "
        "off): expected slices {}, rows {}, columns {}",
        fmt::join(args.query, ","), v.name, range(0), range(1), range(2)));
  }
  return voxel;
}

template <class To, class From>
std::vector<To> copied(const Tensor& tensor) {
  const auto values = tensor.host_values<From>();
  std::vector<To> result;
  result.reserve(values.size());
  for (const From value : values) result.push_back(static_cast<To>(value));
  return result;
}

// From a volume to the window around a voxel: what is cut off or, where it is smaller, added.
std::vector<std::pair<std::int64_t, std::int64_t>> window_around(
    const Sides3& voxel, const Sides3& size, const std::vector<std::int64_t>& window) {
  std::vector<std::pair<std::int64_t, std::int64_t>> amounts(2);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::int64_t more = window[axis] - size[axis];
    const std::int64_t start =
        more >= 0 ? -(more / 2)
                  : std::clamp<std::int64_t>(voxel[axis] - window[axis] / 2, 0, -more);
    amounts.emplace_back(-start, start + more);
  }
  return amounts;
}

// Attention of every stage, over the windows that predictions are made from, or of the voxel's.
void add_rollouts(experiment::Run& run, const Tensor& image, const std::optional<Sides3>& query,
                  CaseVolume& v) {
  const std::vector<std::int64_t> window = training::make_inferer(run.experiment().eval.inferer)
                                               ->window_of({v.size.begin(), v.size.end()});
  visualise::StageRollouts seen;
  Tensor maps;
  if (query) {
    auto amounts = window_around(*query, v.size, window);
    Sides3 inside;
    for (std::size_t axis = 0; axis < 3; ++axis)
      inside[axis] = (*query)[axis] + amounts[axis + 2].first;
    seen = visualise::stage_rollouts(run.model(), ops::pad(image, amounts), inside);
    for (auto& [before, after] : amounts) {
      before = -before;
      after = -after;
    }
    if (!seen.stages.empty()) maps = ops::pad(seen.maps, amounts);
  } else {
    // Windows lie over each other by half and count less towards their borders.
    const auto windows = training::make_sliding_window(
        {.roi_size = window, .overlap = 0.5, .mode = training::WindowMode::kGaussian});
    const std::vector<Tensor> made = (*windows)(image, [&](const Tensor& part) {
      seen = visualise::stage_rollouts(run.model(), part);
      return seen.stages.empty() ? std::vector<Tensor>() : std::vector<Tensor>{seen.maps};
    });
    if (!made.empty()) maps = made.front();
  }
  // Without a query it is places that are seen more or less than others that tell something.
  const float less = query ? 0.0f : 1.0f;
  for (std::size_t s = 0; s < seen.stages.size(); ++s) {
    const auto& [d, h, w] = seen.grids[s];
    const auto place = static_cast<std::int64_t>(s);
    auto values = copied<float, float>(maps.alias(maps.shape().part(1, 5)).rows(place, place + 1));
    for (float& value : values) value -= less;
    v.maps.push_back(
        {seen.stages[s], fmt::format("{} x {} x {} tokens", d, h, w), std::move(values)});
  }
  v.quantity = query ? visualise::Quantity{false, "rollout, in even shares"}
                     : visualise::Quantity{true, "rollout less an even share"};
}

// `query`: of the file.
std::string rollout_title(const std::vector<std::int64_t>& query) {
  if (query.empty())
    return "attention rolled out over the blocks of each stage, mean over all tokens";
  return fmt::format("attention of voxel {}, {}, {} rolled out over the blocks of each stage",
                     query[0], query[1], query[2]);
}

std::string dice_line(const CaseVolume& v) {
  std::string line =
      fmt::format("Dice {:.2f} %", 100 * metrics::class_mean(v.dice, 1, metrics::Empty::kOne));
  const std::vector<std::string>& names = visualise::scored_names(v);
  for (std::size_t k = 1; v.dice.size() > 2 && k < v.dice.size(); ++k)
    line += std::isnan(v.dice[k]) ? fmt::format(", {} in neither", names[k])
                                  : fmt::format(", {} {:.2f} %", names[k], 100 * v.dice[k]);
  return line;
}

std::vector<std::string> notes_of(const experiment::Opened& opened, const std::string& split,
                                  const data::VolumeDataset& volumes) {
  std::vector<std::string> notes = {
      fmt::format("Weights: {}. Cases of the {} split.", weights_text(opened.weights), split),
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

visualise::SliceLook look_of(const Arguments& args) {
  visualise::SliceLook look;
  look.slices = args.slices;
  look.factor = args.factor;
  look.thickness = args.thickness;
  look.colours = colours_of(args);
  if (args.overlay >= 0) look.overlay = args.overlay;
  return look;
}

// Returns what there is to say: weights, scores, and the files.
std::vector<std::string> draw_run(const experiment::Opened& opened, const std::string& name,
                                  const Arguments& args) {
  experiment::Run& run = *opened.run;
  run.model().train(false);
  const std::string split = split_of(args, run);
  const data::VolumeDataset& volumes = *data::find_volumes(run.task().source().at(split));
  const io::fs::path out = args.out;
  std::vector<std::string> lines = {fmt::format("{:<20} {}", name, weights_text(opened.weights))};
  std::vector<std::string> files;
  const auto place = [&](const std::string& file) {
    files.push_back((out / file).string());
    return out / file;
  };
  visualise::SliceLook look = look_of(args);
  visualise::VolumePage page;
  page.title = name + ": slices of " + split;
  page.notes = notes_of(opened, split, volumes);
  page.colours = look.colours;
  bool attends = false;
  for (const std::int64_t i : cases_of(args, volumes)) {
    CaseVolume v = experiment::volume_case(run, split, volumes, i);
    v.convention = args.convention == "neurological" ? visualise::Convention::kNeurological
                                                     : visualise::Convention::kRadiological;
    look.through = query_of(args, v);
    add_rollouts(run, run.task().source().one(split, i).at("image"), look.through, v);
    lines.push_back(fmt::format("{:<20} {:<20} {}", name, v.name, dice_line(v)));
    io::make_directories(out);
    const auto draw = [&](const char* kind, const visualise::Canvas& picture) {
      visualise::write_png(place(fmt::format("{}-{}-{}.png", kind, slug(name), slug(v.name))),
                           picture);
    };
    const std::string title = name + ", " + v.name;
    draw("slices", visualise::slices_figure(title, v, look));
    if (!v.maps.empty()) {
      attends = true;
      draw("rollout", visualise::maps_figure(title + ": " + rollout_title(args.query), v, look));
    }
    if (!args.no_explorer) page.cases.push_back(std::move(v));
  }
  if (attends && !args.no_explorer) {
    page.notes.push_back(fmt::format(
        "Stages: {}. An even share is 1, what a token would have if all were seen alike; "
        "between the middles of tokens it is blended, and where windows overlap it is "
        "the mean.",
        rollout_title(args.query)));
  }
  if (!args.no_explorer)
    visualise::write_volume_page(place(fmt::format("volumes-{}.html", slug(name))), page);
  lines.insert(lines.end(), files.begin(), files.end());
  return lines;
}

}  // namespace

void draw_volumes(std::vector<experiment::Opened>& runs, const Arguments& args,
                  const Common& common) {
  check_settings(args);
  const std::vector<std::string> names = folder_names(args);
  for (std::size_t r = 0; r < runs.size(); ++r) {
    for (const std::string& line : draw_run(runs[r], names[r], args)) {
      if (!common.quiet) fmt::print("{}\n", line);
    }
  }
}

}  // namespace fovea::apps
