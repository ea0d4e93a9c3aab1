#include "experiment/inference/predicted_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/file.h"
#include "experiment/reports/mask_files.h"
#include "experiment/reports/objects/drawn_objects.h"
#include "experiment/reports/predicted_volumes.h"
#include "metrics/label_maps.h"
#include "ops/conv/convolution.h"
#include "training/tasks/segmentation/segmentation_cases.h"

namespace fovea::experiment {
namespace {

namespace fs = std::filesystem;

data::Batch batch_of_one(const Tensor& image) {
  data::Batch batch;
  Shape shape{1};
  for (const std::int64_t size : image.shape()) shape.push_back(size);
  batch.set("image", image.alias(shape));
  batch.indices = {0};
  return batch;
}

void write_grey(const fs::path& file, const Tensor& map, float factor) {
  data::Image picture{map.size(-2), map.size(-1), 1, {}};
  for (const float value : map.host_values<float>())
    picture.pixels.push_back(static_cast<std::uint8_t>(value * factor + 0.5f));
  data::write_png(file, picture);
}

// What the network sees of an image in [0, 1], in memory of the run's host.
Tensor normalised(Run& run, const Tensor& image, std::span<const double> mean,
                  std::span<const double> std) {
  const auto values = image.host_values<float>();
  const Tensor result = Tensor::from(std::span<const float>(values.data(), values.size()),
                                     image.shape(), run.task().source().options().host);
  data::normalise({image.size(0), image.size(1), image.size(2), result.data<float>()}, mean, std);
  return result;
}

// Pictures are enlarged to about this many pixels, so that boxes and letters find room.
constexpr std::int64_t kDrawnSide = 480;

void draw_found(const std::filesystem::path& file, const data::Image& picture,
                const std::vector<metrics::DetectedObject>& found,
                const std::vector<std::string>& classes) {
  const visualise::Canvas canvas =
      visualise::canvas_from_bytes(picture.pixels, picture.height, picture.width, picture.channels);
  const std::int64_t longest = std::max(picture.height, picture.width);
  const std::int64_t factor = std::max<std::int64_t>(1, (kDrawnSide + longest / 2) / longest);
  visualise::write_png(file, visualise::draw_objects(canvas, drawn(found), classes, factor));
}

}  // namespace

fs::path PredictedFiles::file(const std::string& name, const std::string& ending) const {
  const fs::path path = out / (name + ending);
  if (fs::path(name).has_parent_path()) io::make_directories(path.parent_path());
  return path;
}

void predict_volume(const Ensemble& runs, const PredictInput& input, const PredictedFiles& files) {
  const Ensemble::VolumeProbabilities found = runs.probabilities_of(input.files);
  const fs::path written = files.file(input.name, ".nii.gz");
  write_prediction(written.parent_path(), fs::path(input.name).filename().string(), found.values,
                   found.place, input.files.front(), data::find_volumes(runs.samples())->info(),
                   {true, files.probabilities}, files.postprocessing);
}

void write_masks(const data::ImageDataset& images, const Tensor& prob,
                 const data::Geometry& geometry, const std::string& name,
                 const PredictedFiles& files) {
  const std::int64_t height = geometry.original_size.at(0), width = geometry.original_size.at(1);
  const fs::path file = files.file(name, ".png");
  const std::vector<int> values = images.label_values();
  const MaskFinish finish{files.postprocessing, training::pixel_spacing(geometry, {height, width})};
  data::write_png(
      file, values.empty()
                ? cut_at_half(prob, height, width, finish)
                : label_picture(images.at_original(metrics::predicted_labels(prob), height, width),
                                values, finish));
  if (!files.probabilities) return;
  const Tensor sized = ops::resize(prob, {height, width}, ops::Interpolation::kLinear);
  const auto shares = sized.host_values<float>();
  const std::vector<std::string> words = metrics::class_words(images.class_names());
  const std::int64_t pixels = height * width;
  for (std::int64_t k = 0; k < sized.size(1); ++k) {
    const std::vector<float> map(shares.begin() + k * pixels, shares.begin() + (k + 1) * pixels);
    write_grey(files.file(name, fmt::format("_{}.png", words[static_cast<std::size_t>(k)])),
               Tensor::from(map, {height, width}, sized.device()), 255.0f);
  }
}

std::vector<metrics::DetectedObject> predict_objects(Run& run, const data::BoxDataset& boxes,
                                                     const PredictInput& input,
                                                     const PredictedFiles& files) {
  const fs::path& file = input.files.front();
  const data::Sample sample = boxes.get_file(file);
  data::Batch batch = batch_of_one(normalised(run, sample.at("image"), boxes.mean(), boxes.std()));
  batch.set("image_size", sample.at("image_size").alias({1, 2}));
  batch.geometry = {sample.geometry};
  std::vector<metrics::DetectedObject> found = run.task().objects_in(batch);
  draw_found(files.file(input.name, ".png"), boxes.picture(file), found, boxes.class_names());
  return found;
}

}  // namespace fovea::experiment
