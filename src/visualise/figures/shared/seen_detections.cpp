#include "visualise/figures/shared/seen_detections.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "base/error.h"
#include "data/boxes/box_dataset.h"
#include "ops/detection/masks.h"

namespace fovea::visualise {
namespace {

std::vector<DrawnObject> drawn_objects(const models::Detections& found, const ImageInput& input,
                                       const ShownRun& run, double least) {
  const auto boxes = found.boxes.host_values<float>();
  const auto scores = found.scores.host_values<float>();
  const auto labels = found.labels.host_values<std::int64_t>();
  const std::int64_t classes = run.samples.num_classes();
  std::vector<DrawnObject> objects;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (static_cast<double>(scores[i]) < least) break;  // the highest score comes first
    FOVEA_CHECK(labels[i] < classes, ConfigError,
                fmt::format("{}: its network found class {}, but its data set has {}", run.name,
                            labels[i], classes));
    DrawnObject& object = objects.emplace_back();
    std::copy_n(boxes.begin() + static_cast<std::ptrdiff_t>(4 * i), 4, object.box.begin());
    object.label = labels[i];
    object.score = static_cast<double>(scores[i]);
    if (!found.masks.defined()) continue;
    const auto row = static_cast<std::int64_t>(i);
    const Tensor soft = ops::paste_masks(found.masks.rows(row, row + 1),
                                         found.boxes.rows(row, row + 1), input.height, input.width);
    for (const float share : soft.host_values<float>())
      object.mask.push_back(share >= 0.5f ? 1 : 0);
  }
  return objects;
}

// The maps of all objects of a model, by map, head and object; `of` gives one object's (heads, n).
void add_weights(ExplorerObjectMap& map, std::size_t objects,
                 const std::function<const std::vector<double>&(std::size_t)>& of) {
  for (std::int64_t head = 0; head < map.heads; ++head) {
    for (std::size_t i = 0; i < objects; ++i) {
      const std::vector<double>& weights = of(i);
      const std::int64_t n = std::ssize(weights) / map.heads;
      map.weights.insert(map.weights.end(), weights.begin() + head * n,
                         weights.begin() + (head + 1) * n);
    }
  }
}

void add_token_maps(const SeenImage& seen, ExplorerModel& model) {
  const std::vector<PlaceAttention>& first = seen.blocks.begin()->second;
  for (std::size_t k = 0; k < first.size(); ++k) {
    ExplorerObjectMap& map = model.object_maps.emplace_back();
    map.name = short_block(first[k].block);
    map.heads = first[k].heads;
    map.rows = first[k].keys_h;
    map.cols = first[k].keys_w;
    map.quantity = attention_quantity(first[k].is_signed);
    map.even = even_share(map.quantity, first[k].keys());
    add_weights(
        map, model.objects.size(), [&](std::size_t i) -> const auto& {
          return seen.blocks.at(i)[k].weights;
        });
  }
}

void add_layer_maps(const SeenImage& seen, ExplorerModel& model) {
  for (const LayerWeights& stage : seen.layers) {
    ExplorerObjectMap& map = model.object_maps.emplace_back();
    map.name = short_block(stage.stage);
    map.heads = stage.heads;
    map.cols = stage.layers;
    map.quantity = {false, "weight of a layer"};
    map.even = 1 / static_cast<double>(stage.layers);
    map.carried = stage.carried;
    add_weights(
        map, model.objects.size(), [&](std::size_t) -> const auto& { return stage.weights; });
  }
}

}  // namespace

std::string object_text(const DrawnObject& object, const std::vector<std::string>& classes) {
  return fmt::format("{} {:.2f}", classes[static_cast<std::size_t>(object.label)],
                     object.score.value_or(1));
}

std::string short_block(const std::string& name) {
  constexpr std::string_view kBackbone = "backbone.";
  return name.starts_with(kBackbone) ? name.substr(kBackbone.size()) : name;
}

std::vector<std::size_t> chosen_of(const SeenImage& seen, const DetectionsOptions& options) {
  std::vector<std::size_t> chosen;
  if (options.detection.empty()) {
    chosen.resize(std::min(seen.found.size(), static_cast<std::size_t>(options.best)));
    std::iota(chosen.begin(), chosen.end(), std::size_t{0});
  }
  for (const std::int64_t number : options.detection) {
    if (number < std::ssize(seen.found)) chosen.push_back(static_cast<std::size_t>(number));
  }
  return chosen;
}

SeenImage seen_image(const ImageInput& input, const ShownRun& run, const FigureRequest& request,
                     const DetectionsOptions& options) {
  SeenImage seen;
  seen.image = prepared(input, run, request);
  FOVEA_CHECK(
      seen.image.size(2) == input.picture.height && seen.image.size(3) == input.picture.width,
      ConfigError,
      fmt::format("{}: sees {} as {} x {} pixels, {} as {} x {}; draw them apart", run.name,
                  input.name, seen.image.size(2), seen.image.size(3), request.runs.front().name,
                  input.picture.height, input.picture.width));
  seen.detections = detections_in(dynamic_cast<models::Detector&>(run.model), seen.image,
                                  {input.height, input.width});
  seen.found = drawn_objects(seen.detections, input, run, options.least_score);
  seen.layers = layer_weights(run.model, seen.image);
  if (!seen.layers.empty()) return seen;
  std::vector<std::size_t> shown = chosen_of(seen, options);
  if (!options.no_explorer) {
    for (std::size_t i = 0; i < std::min(seen.found.size(), kMostExplored); ++i) shown.push_back(i);
  }
  for (const std::size_t detection : shown) {
    if (seen.blocks.contains(detection)) continue;
    std::vector<PlaceAttention> blocks = attention_at(run.model, seen.image, seen.place(detection));
    if (blocks.empty()) break;
    seen.blocks.emplace(detection, std::move(blocks));
  }
  return seen;
}

std::vector<DrawnObject> true_objects(std::int64_t index, const ShownRun& run) {
  const data::Sample sample = run.samples.get(index);
  const auto boxes = sample.at("boxes").host_values<float>();
  const auto labels = sample.at("labels").host_values<std::int64_t>();
  const Tensor* masks = sample.find("masks");
  std::vector<DrawnObject> objects(labels.size());
  for (std::size_t i = 0; i < objects.size(); ++i) {
    std::copy_n(boxes.begin() + static_cast<std::ptrdiff_t>(4 * i), 4, objects[i].box.begin());
    objects[i].label = labels[i];
    if (masks == nullptr) continue;
    const auto row = static_cast<std::int64_t>(i);
    const auto pixels = masks->rows(row, row + 1).host_values<std::uint8_t>();
    objects[i].mask.assign(pixels.begin(), pixels.end());
  }
  return objects;
}

ExplorerModel explorer_model(const SeenImage& seen, const ShownRun& run) {
  ExplorerModel model;
  model.name = run.name;
  model.note = fmt::format("{} found", seen.found.size());
  if (seen.found.size() > kMostExplored)
    model.note += fmt::format(", the best {} shown", kMostExplored);
  model.is_detector = true;
  for (std::size_t i = 0; i < std::min(seen.found.size(), kMostExplored); ++i) {
    const DrawnObject& object = seen.found[i];
    ExplorerObject& shown = model.objects.emplace_back(ExplorerObject{
        object_text(object, run.samples.class_names()), object.box, object_colour(object.label)});
    if (!seen.shows_maps()) continue;
    shown.map =
        static_cast<std::int64_t>(seen.layers.empty() ? seen.block_of(i) : seen.stage_of(i));
  }
  if (model.objects.empty() || !seen.shows_maps()) return model;
  if (seen.layers.empty()) {
    add_token_maps(seen, model);
  } else {
    add_layer_maps(seen, model);
  }
  return model;
}

}  // namespace fovea::visualise
