// What detectors find beside the truth, and where they look at the places of detections. mala 4.5,
// kcla 3.4.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/csv_field.h"
#include "base/distinct_names.h"
#include "base/error.h"
#include "base/file.h"
#include "tensor/safetensors.h"
#include "visualise/drawing/heatmap.h"
#include "visualise/figures/shared/seen_detections.h"
#include "visualise/layouts/detections_figure.h"

namespace fovea::visualise {
namespace {

const schema::Fields<DetectionsOptions>& detections_fields() {
  static const auto fields =
      schema::Fields<DetectionsOptions>{}
          .add("least_score", &DetectionsOptions::least_score, schema::in_range(0, 1),
               "detections with a lower one are left out (default: 0.3)")
          .add("best", &DetectionsOptions::best, schema::at_least(0),
               "so many detections of an image have their map drawn (default: 3)")
          .add("detection", &DetectionsOptions::detection, schema::at_least(0),
               "numbers of the detections whose maps are drawn instead, from 0, the best: 0,4")
          .include(layer_field("the last of the stage whose level of the pyramid found the "
                               "detection; of layer attention a stage"))
          .include(colours_field())
          .include(smooth_field())
          .include(overlay_field())
          .include(factor_field())
          .include(explorer_field());
  return fields;
}

// The layers that --layer names, or the one whose number is given.
template <class Part>
std::vector<std::size_t> layers_of(const std::vector<Part>& parts, std::string Part::*name,
                                   std::size_t standard, const LayerOption& options,
                                   const std::string& run) {
  if (options.layer.empty()) return {standard};
  std::vector<std::string> names;
  for (const Part& part : parts) names.push_back(part.*name);
  std::vector<std::size_t> places;
  for (const std::string& wanted : options.layer) places.push_back(layer_place(names, wanted, run));
  return places;
}

// "layers.2.blocks.1, 15 × 20".
std::string layer_text(const std::string& name, std::int64_t h, std::int64_t w) {
  return fmt::format("{}, {} × {}", short_block(name), h, w);
}

// What is written of all runs.
struct DetectionResults {
  TensorFile maps;
  std::string csv = "run,input,detection,class,score,x1,y1,x2,y2,stride,layer\n";
  std::vector<std::string> files;
  Explorer explorer;
};

// What one run says of one image.
struct SeenBy {
  const ShownRun& run;
  const ImageInput& input;
  const SeenImage& seen;

  std::string key() const { return slug(run.name) + "/" + slug(input.name); }
  std::int64_t stride(std::size_t detection) const { return seen.detections.strides[detection]; }
};

DetectionLook look_at(const SeenBy& by, std::size_t detection) {
  const DrawnObject& object = by.seen.found[detection];
  return {
      .object = object,
      .name = fmt::format("{}: {}", detection, object_text(object, by.run.samples.class_names())),
      .place = by.seen.place(detection)};
}

// Attention over tokens, a look for each block. Adds the maps to the file, and the names of their
// blocks to `layers`.
void add_token_looks(const SeenBy& by, std::size_t detection, const DetectionsOptions& options,
                     TensorFile& maps, std::vector<DetectionLook>& looks,
                     std::vector<std::string>& layers) {
  const std::vector<PlaceAttention>& blocks = by.seen.blocks.at(detection);
  for (const std::size_t k : layers_of(blocks, &PlaceAttention::block, by.seen.block_of(detection),
                                       options, by.run.name)) {
    const PlaceAttention& block = blocks[k];
    DetectionLook look = look_at(by, detection);
    look.layer = layer_text(block.block, block.keys_h, block.keys_w);
    look.weights = as_grid(block.mean(), block.keys_h, block.keys_w);
    look.quantity = attention_quantity(block.is_signed);
    look.even = even_share(look.quantity, block.keys());
    look.own = block.own_key();
    maps.tensors.emplace(
        fmt::format("{}/{}/{}", by.key(), detection, block.block),
        Tensor::from(block.weights, {block.heads, block.keys_h, block.keys_w}, by.run.host));
    layers.push_back(block.block);
    looks.push_back(std::move(look));
  }
}

// The same for weights of layers.
void add_layer_looks(const SeenBy& by, std::size_t detection, const DetectionsOptions& options,
                     TensorFile& maps, std::vector<DetectionLook>& looks,
                     std::vector<std::string>& layers) {
  for (const std::size_t k : layers_of(by.seen.layers, &LayerWeights::stage,
                                       by.seen.stage_of(detection), options, by.run.name)) {
    const LayerWeights& stage = by.seen.layers[k];
    DetectionLook look = look_at(by, detection);
    look.layer = layer_text(stage.stage, stage.grid_h, stage.grid_w);
    look.layers = stage.mean();
    look.carried = stage.carried;
    maps.tensors.emplace(fmt::format("{}/{}/{}", by.key(), detection, stage.stage),
                         Tensor::from(stage.weights, {stage.heads, stage.layers}, by.run.host));
    layers.push_back(stage.stage);
    looks.push_back(std::move(look));
  }
}

// The lines of all detections; `layers`: of those whose maps are drawn.
std::string detection_rows(const SeenBy& by, const std::vector<std::vector<std::string>>& layers) {
  std::string csv;
  for (std::size_t i = 0; i < by.seen.found.size(); ++i) {
    const DrawnObject& object = by.seen.found[i];
    csv += fmt::format(
        "{},{},{},{},{},{},{},{},{},{},{}\n", csv_field(by.run.name), csv_field(by.input.name), i,
        csv_field(by.run.samples.class_names()[static_cast<std::size_t>(object.label)]),
        *object.score, object.box[0], object.box[1], object.box[2], object.box[3], by.stride(i),
        fmt::join(layers[i], " "));
  }
  return csv;
}

DetectionsRow row_of(const SeenBy& by, const DetectionsOptions& options,
                     DetectionResults& results) {
  DetectionsRow row{.name = by.input.name,
                    .image = by.input.picture,
                    .height = by.input.height,
                    .width = by.input.width};
  row.has_truth = by.input.index.has_value();
  row.found = by.seen.found;
  std::vector<std::vector<std::string>> layers(row.found.size());
  for (const std::size_t detection : chosen_of(by.seen, options)) {
    if (by.seen.blocks.contains(detection)) {
      add_token_looks(by, detection, options, results.maps, row.looks, layers[detection]);
    } else if (!by.seen.layers.empty()) {
      add_layer_looks(by, detection, options, results.maps, row.looks, layers[detection]);
    }
  }
  results.csv += detection_rows(by, layers);
  return row;
}

void note_maps(const ShownRun& run, bool any, bool over_layers, const FigureRequest& request) {
  if (!any) {
    request.note(fmt::format(
        "{}: its network has no attention over tokens and no weights of layers; no maps are drawn",
        run.name));
  } else if (over_layers) {
    request.note(
        fmt::format("{}: weights of layers hold for the whole image; drawn are those of the stage "
                    "whose level of the pyramid found the detection",
                    run.name));
  }
}

void note_missing_numbers(const SeenBy& by, const DetectionsOptions& options,
                          const FigureRequest& request) {
  for (const std::int64_t number : options.detection) {
    if (number < std::ssize(by.seen.found)) continue;
    request.note(fmt::format("--detection {}: in {} {} found {}, counted from 0", number,
                             by.input.name, by.run.name, by.seen.found.size()));
  }
}

void draw_detector(const ShownRun& run, const std::vector<ImageInput>& inputs,
                   const FigureRequest& request, const DetectionsOptions& options,
                   DetectionResults& results) {
  results.maps.metadata.emplace(slug(run.name), run.weights);
  // Said when nothing can go wrong any more.
  std::vector<std::string> lines = {fmt::format("{:<20} {}", run.name, run.weights)};
  DetectionsFigure figure{.title = run.name + ": detections, and what their places attend to",
                          .classes = run.samples.class_names(),
                          .rows = {},
                          .sequential = options.sequential(),
                          .smooth = options.smooth,
                          .overlay = options.overlay.value_or(0.5),
                          .factor = options.enlargement(inputs[0].picture, 300)};
  bool any = false, any_found = false, over_layers = false;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const SeenImage seen = seen_image(inputs[i], run, request, options);
    const SeenBy by{run, inputs[i], seen};
    DetectionsRow& row = figure.rows.emplace_back(row_of(by, options, results));
    note_missing_numbers(by, options, request);
    ExplorerSample& sample = results.explorer.samples[i];
    std::string truth;
    if (inputs[i].index) {
      row.truth = true_objects(place_of(inputs[i], run, request), run);
      truth = fmt::format(", {} true", row.truth.size());
    }
    if (sample.models.empty()) {
      for (const DrawnObject& object : row.truth)
        sample.truth.push_back({figure.classes[static_cast<std::size_t>(object.label)], object.box,
                                object_colour(object.label)});
    }
    if (!options.no_explorer) sample.models.push_back(explorer_model(seen, run));
    lines.push_back(
        fmt::format("{:<20} {:<20} {} found{}", run.name, row.name, row.found.size(), truth));
    any = any || seen.shows_maps();
    any_found = any_found || !seen.found.empty();
    over_layers = over_layers || !seen.layers.empty();
  }
  note_maps(run, any || !any_found, over_layers, request);
  io::make_directories(request.out);
  results.files.push_back(fmt::format("detections-{}.png", slug(run.name)));
  write_png(request.out / results.files.back(), render(figure));
  for (const std::string& line : lines) request.say(line);
}

void draw_detections(const FigureRequest& request, const DetectionsOptions& options) {
  const std::vector<ImageInput> inputs = image_inputs(request);
  DetectionResults results;
  results.explorer.title = "Detection explorer";
  results.explorer.sequential = options.sequential();
  for (const ImageInput& input : inputs)
    results.explorer.samples.push_back({input.name, input.picture, {}});
  for (const ShownRun& run : request.runs) {
    check_size(run, request);
    draw_detector(run, inputs, request, options, results);
  }
  io::write_atomic(request.out / "detections.csv", results.csv);
  write_safetensors(request.out / "maps.safetensors", results.maps);
  results.files.insert(results.files.end(), {"detections.csv", "maps.safetensors"});
  if (!options.no_explorer) {
    write_explorer(request.out / "explorer.html", results.explorer);
    results.files.emplace_back("explorer.html");
  }
  request.say_files(results.files);
}

FigureInfo detections_info() {
  return {
      .help =
          "what a detector finds beside the truth, boxes, scores and masks, and for the best "
          "detections of an image the attention of the stage whose level of the pyramid found "
          "them: from the token in the middle of the box, or over the layers of a ResNet; and a "
          "page for the browser with the maps of all of them",
      .files = {"detections-<run>.png", "detections.csv", "maps.safetensors", "explorer.html"},
      .fits = "detectors",
      .misfit = [](const ShownRun& run) -> std::string {
        if (run.model.interface() == models::Interface::kDetector) return "";
        return "is " + models::info_of(run.model.interface()).name;
      },
      .standard = true};
}

}  // namespace

FOVEA_FIGURE(detections, detections_info(), detections_fields(), draw_detections)

}  // namespace fovea::visualise
