#include "experiment/inference/prediction.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "autograd/mode.h"
#include "base/csv_field.h"
#include "base/error.h"
#include "base/file.h"
#include "data/audio/speech_dataset.h"
#include "data/boxes/box_dataset.h"
#include "data/files/sound_file.h"
#include "data/images/image_dataset.h"
#include "data/parts/folder.h"
#include "data/volumes/volume_dataset.h"
#include "experiment/reports/mask_files.h"
#include "experiment/reports/objects/coco_files.h"
#include "experiment/reports/objects/detection_table.h"
#include "experiment/reports/objects/drawn_objects.h"
#include "experiment/reports/predicted_volumes.h"
#include "experiment/reports/prediction_table.h"
#include "metrics/label_maps.h"
#include "ops/conv/convolution.h"

namespace fovea::experiment {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPredict = "predict";

// All parts are prepared alike.
const data::Dataset& samples_of(Run& run) { return run.task().source().any(); }

// What a folder holds besides inputs.
struct LeftOutFiles {
  std::size_t files = 0;
  std::map<std::string, std::size_t> endings;
  std::vector<std::string> folders;

  void add(const fs::path& entry) {
    std::error_code code;
    if (fs::is_directory(entry, code)) {
      folders.push_back(entry.filename().string());
    } else {
      ++endings[entry.extension().empty() ? "without ending" : entry.extension().string()];
      ++files;
    }
  }
  /// "18 of 150 files are left out: .tif 10, .txt 8", and sub-folders; of each one, if any.
  std::vector<std::string> notes(const std::string& folder, std::size_t inputs) const {
    std::vector<std::string> notes, counts;
    for (const auto& [ending, count] : endings)
      counts.push_back(fmt::format("{} {}", ending, count));
    if (files > 0)
      notes.push_back(fmt::format("{}: {} of {} files are left out: {}", folder, files,
                                  files + inputs, fmt::join(counts, ", ")));
    if (!folders.empty())
      notes.push_back(fmt::format("{}: sub-folders are not searched: {}; give them as inputs too",
                                  folder, fmt::join(folders, ", ")));
    return notes;
  }
};

// What the inputs of a run are.
struct Inputs {
  bool (*fits)(const fs::path& file);
  const char* what;
};
Inputs inputs_of(const data::Dataset& samples) {
  if (data::find_volumes(samples) != nullptr)
    return {[](const fs::path& file) { return data::has_nifti_extension(file); },
            ".nii or .nii.gz file"};
  if (data::find_speech(samples) != nullptr)
    return {data::has_sound_extension, "recording (.wav, .flac, .ogg, .aiff, .aif, .au)"};
  return {[](const fs::path& file) { return data::has_image_extension(file); },
          "picture (.png, .jpg, .jpeg, .bmp, .pgm, .ppm, .pnm)"};
}

std::vector<fs::path> files_of(const std::vector<fs::path>& given, const Inputs& kind,
                               std::vector<std::string>& notes) {
  std::vector<fs::path> files;
  std::error_code code;
  for (const fs::path& path : given) {
    FOVEA_CHECK(fs::exists(path, code), FileError, fmt::format("{}: not found", path.string()));
    if (!fs::is_directory(path, code)) {
      files.push_back(path);
      continue;
    }
    const std::size_t before = files.size();
    LeftOutFiles left_out;
    for (const auto& entry : data::sorted_entries(kPredict, path)) {
      if (kind.fits(entry.path()) && !fs::is_directory(entry.path(), code)) {
        files.push_back(entry.path());
      } else {
        left_out.add(entry.path());
      }
    }
    const auto found = left_out.notes(path.string(), files.size() - before);
    notes.insert(notes.end(), found.begin(), found.end());
    FOVEA_CHECK(
        files.size() > before, FileError,
        fmt::format("{}: holds no {}{}", path.string(), kind.what,
                    left_out.folders.empty() ? ""
                                             : fmt::format("; its sub-folders are not searched: {}",
                                                           fmt::join(left_out.folders, ", "))));
  }
  return files;
}

// As they are; a later one that is taken gets " (2)", " (3)", ...
std::vector<std::string> kept_names(std::vector<std::string> names) {
  std::set<std::string> taken;
  for (std::string& name : names) {
    const std::string first = name;
    for (int number = 2; !taken.insert(name).second; ++number)
      name = fmt::format("{} ({})", first, number);
  }
  return names;
}

std::string without_nifti(const fs::path& file) {
  const std::string name = file.string();
  for (const std::string_view ending : {".nii.gz", ".nii"}) {
    if (name.ends_with(ending)) return name.substr(0, name.size() - ending.size());
  }
  return name;
}

// "a_0002" is channel 2 of "a"; nothing is a channel of one that has a single one.
std::string case_of(const fs::path& file, std::int64_t channels) {
  const std::string stem = without_nifti(file);
  const bool numbered =
      stem.size() > 5 && stem[stem.size() - 5] == '_' &&
      std::all_of(stem.end() - 4, stem.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
  return numbered && (channels > 1 || stem.ends_with("_0000")) ? stem.substr(0, stem.size() - 5)
                                                               : stem;
}

data::Batch batch_of_one(const Tensor& image) {
  data::Batch batch;
  Shape shape{1};
  for (const std::int64_t size : image.shape()) shape.push_back(size);
  batch.set("image", image.alias(shape));
  batch.indices = {0};
  return batch;
}

void predict_volume(Run& run, const data::VolumeDataset& volumes, const PredictInput& input,
                    const PredictRequest& request) {
  const data::VolumeInfo& info = volumes.info();
  const data::PreparedVolume volume =
      data::prepare_volume(data::read_volume({input.files, {}, input.name}, info), volumes.plan(),
                           info.class_names.size(), info.regions);
  const Tensor image =
      Tensor::from(volume.values, {volume.channels, volume.size[0], volume.size[1], volume.size[2]},
                   run.task().source().options().host);
  const Tensor prob = run.task().probabilities_of(batch_of_one(image));
  write_prediction(request.out, input.name, prob.alias(prob.shape().part(1, 5)), volume.place,
                   input.files.front(), info, {true, request.probabilities});
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

Prediction predict_objects(Run& run, const data::BoxDataset& boxes, const PredictInput& input,
                           const PredictRequest& request) {
  const std::filesystem::path& file = input.files.front();
  const data::Sample sample = boxes.get_file(file);
  data::Batch batch = batch_of_one(normalised(run, sample.at("image"), boxes.mean(), boxes.std()));
  batch.set("image_size", sample.at("image_size").alias({1, 2}));
  batch.geometry = {sample.geometry};
  const std::vector<metrics::DetectedObject> found = run.task().objects_in(batch);
  const std::vector<std::string>& classes = boxes.class_names();
  draw_found(request.out / (input.name + ".png"), boxes.picture(file), found, classes);
  return {detection_lines(input.name, file.string(), found, classes, makes_masks(run.model())),
          found, input.index};
}

// (1, k, h, w) at the size of the file.
void predict_masks(const data::ImageDataset& images, const Tensor& prob,
                   const data::Geometry& geometry, const PredictInput& input,
                   const PredictRequest& request) {
  const std::int64_t height = geometry.original_size.at(0), width = geometry.original_size.at(1);
  const fs::path file = request.out / (input.name + ".png");
  const std::vector<int> values = images.label_values();
  data::write_png(
      file, values.empty()
                ? cut_at_half(prob, height, width)
                : label_picture(images.at_original(metrics::predicted_labels(prob), height, width),
                                values));
  if (!request.probabilities) return;
  const Tensor sized = ops::resize(prob, {height, width}, ops::Interpolation::kLinear);
  const auto shares = sized.host_values<float>();
  const std::vector<std::string> words = metrics::class_words(images.class_names());
  const std::int64_t pixels = height * width;
  for (std::int64_t k = 0; k < sized.size(1); ++k) {
    const std::vector<float> map(shares.begin() + k * pixels, shares.begin() + (k + 1) * pixels);
    write_grey(
        request.out / fmt::format("{}_{}.png", input.name, words[static_cast<std::size_t>(k)]),
        Tensor::from(map, {height, width}, sized.device()), 255.0f);
  }
}

}  // namespace

PredictInputs predict_inputs(Run& run, const std::vector<fs::path>& given) {
  const data::Dataset& samples = samples_of(run);
  FOVEA_CHECK(samples.has("image") || data::find_speech(samples) != nullptr, ConfigError,
              "the run reads texts; pictures, volumes and recordings are predicted so far");
  const data::VolumeDataset* volumes = data::find_volumes(samples);
  PredictInputs result;
  std::vector<PredictInput>& inputs = result.inputs;
  const std::vector<fs::path> files = files_of(given, inputs_of(samples), result.notes);
  std::vector<std::string> cases;
  for (const fs::path& file : files) {
    const std::string name =
        volumes == nullptr ? file.string() : case_of(file, volumes->info().channels);
    if (volumes != nullptr && volumes->info().channels > 1 && !cases.empty() &&
        cases.back() == name) {
      inputs.back().files.push_back(file);
      continue;
    }
    inputs.push_back({{file}, "", 0});
    cases.push_back(volumes == nullptr ? file.stem().string() : name);
  }
  std::vector<std::string> names;
  for (const std::string& one : cases) names.push_back(fs::path(one).filename().string());
  names = kept_names(std::move(names));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    inputs[i].name = names[i];
    inputs[i].index = static_cast<std::int64_t>(i);
  }
  return result;
}

namespace {

// Of every kind of run.
std::string heads_of(Run& run) {
  const data::Dataset& samples = samples_of(run);
  if (data::find_boxes(samples) != nullptr) return detection_heads(makes_masks(run.model()));
  if (data::find_speech(samples) != nullptr) return "name,file,text";
  if (run.model().interface() != models::Interface::kImageClassifier) return "name,file";
  return prediction_heads(samples.class_names());
}

}  // namespace

void write_predictions(Run& run, const std::vector<Prediction>& predictions,
                       const PredictRequest& request) {
  std::string table = heads_of(run) + "\n";
  for (const Prediction& prediction : predictions) table += prediction.lines;
  io::write_atomic(request.out / "predictions.csv", table);
  const data::BoxDataset* boxes = data::find_boxes(samples_of(run));
  if (boxes == nullptr) return;
  CocoSamples samples{{}, boxes->class_names(), category_ids(*boxes)};
  std::vector<training::DetectedImage> images;
  for (const Prediction& prediction : predictions) {
    samples.images.push_back({prediction.input + 1, ""});
    images.push_back({0, 0, {}, prediction.objects});
  }
  std::set<std::string> wanted = {"boxes.json"};
  if (makes_masks(run.model())) wanted.insert("masks.json");
  write_coco(request.out, wanted, images, samples);
}

Prediction predict(Run& run, const PredictInput& input, const PredictRequest& request) {
  const autograd::NoGrad no_grad;
  const data::Dataset& samples = samples_of(run);
  const std::string file = input.files.front().string();
  const std::string line = fmt::format("{},{}\n", csv_field(input.name), csv_field(file));
  if (const auto* volumes = data::find_volumes(samples)) {
    predict_volume(run, *volumes, input, request);
    return {line};
  }
  if (const auto* boxes = data::find_boxes(samples))
    return predict_objects(run, *boxes, input, request);
  if (const auto* speech = data::find_speech(samples)) {
    const std::string text = run.task().text_of(speech->batch_of_file(input.files.front()));
    return {fmt::format("{},{},{}\n", csv_field(input.name), csv_field(file), csv_field(text))};
  }
  const data::ImageDataset& images = data::images_of(samples);
  const data::Sample sample = images.get_file(input.files.front());
  const Tensor prob = run.task().probabilities_of(
      batch_of_one(normalised(run, sample.at("image"), images.mean(), images.std())));
  if (run.model().interface() == models::Interface::kDenseNetwork) {
    predict_masks(images, prob, sample.geometry, input, request);
    return {line};
  }
  const auto values = prob.host_values<float>();
  const auto best = std::max_element(values.begin(), values.end());
  return {prediction_line({input.name,
                           file,
                           {},
                           best - values.begin(),
                           {values.begin(), values.end()},
                           input.index},
                          images.class_names()) +
          "\n"};
}

}  // namespace fovea::experiment
