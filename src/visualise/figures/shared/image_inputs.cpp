#include "visualise/figures/shared/image_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/distinct_names.h"
#include "base/error.h"
#include "base/file.h"
#include "data/boxes/box_dataset.h"
#include "visualise/layouts/shown_samples.h"
#include "visualise/maps/attention_maps.h"

namespace fovea::visualise {
namespace {

const data::Dataset& first_samples(const FigureRequest& request) {
  return request.runs.front().samples;
}

// A sample's place in its files, wherever these lie.
std::string file_of(const data::Dataset& dataset, std::int64_t i) {
  const std::string name = dataset.name(i);
  const std::string& root = dataset.root();
  return name.rfind(root, 0) == 0 ? name.substr(root.size()) : name;
}

data::Sample file_sample(const data::Dataset& samples, const std::string& file) {
  const data::BoxDataset* boxes = data::find_boxes(samples);
  return boxes != nullptr ? boxes->get_file(file) : data::images_of(samples).get_file(file);
}

// (c, h, w) in [0, 1], of memory that nothing else uses.
Tensor image_of(const ImageInput& input, const ShownRun& run, const data::Dataset& first) {
  const data::Dataset& own = run.samples;
  const data::Sample sample = input.index ? own.get(same_sample(own, first, *input.index, run.name))
                                          : file_sample(own, input.file);
  return sample.at("image");
}

// Images that differ in size with the zeros by which batches fill them up: the tokens of a network
// lie on these too.
Tensor filled_up(const Tensor& image, const ShownRun& run) {
  const std::vector<data::Field> fields = {run.samples.fields().front()};
  if (fields.front().rule != data::Collate::kGrow) return image;
  data::Collator collator(fields, 1, run.host);
  data::Sample alone;
  alone.set(fields.front().name, image);
  collator.add(alone);
  const Tensor batch = collator.finish().at(fields.front().name);
  return batch.alias(batch.shape().part(1, 4));
}

// In place, as training has it.
void normalise(const ShownRun& run, const data::Planes& image) {
  if (const data::BoxDataset* boxes = data::find_boxes(run.samples)) {
    data::normalise(image, boxes->mean(), boxes->std());
    return;
  }
  const data::ImageDataset& images = data::images_of(run.samples);
  data::normalise(image, images.mean(), images.std());
}

// "7: cat", or where samples have masks instead of classes the name of the file, if there is one.
std::string sample_name(const data::Dataset& dataset, std::int64_t i) {
  if (dataset.has("label")) {
    const auto label = static_cast<std::size_t>(dataset.label(i));
    return fmt::format("{}: {}", i, dataset.class_names()[label]);
  }
  if (dataset.files().empty()) return fmt::format("{}", i);
  return fmt::format("{}: {}", i, io::fs::path(dataset.name(i)).stem().string());
}

// Of what pictures show a part alone.
void note_channels(const data::Dataset& samples, const FigureRequest& request) {
  const auto* images = dynamic_cast<const data::ImageDataset*>(&samples);
  if (images == nullptr || images->channels() == 1 || images->channels() == 3) return;
  const std::vector<std::string>& names = images->channel_names();
  request.note(fmt::format("pictures show the first of {} channels{}", images->channels(),
                           names.empty() ? "" : ", " + names.front()));
}

std::vector<ImageInput> named_inputs(const std::vector<std::string>& wanted,
                                     const data::Dataset& first) {
  std::vector<std::string> files;
  std::copy_if(wanted.begin(), wanted.end(), std::back_inserter(files),
               [](const std::string& text) { return !is_index(text); });
  const std::vector<std::string> short_names = file_names(files);
  std::vector<std::string> names;
  std::vector<ImageInput> inputs(wanted.size());
  std::size_t file = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (is_index(wanted[i])) {
      const std::int64_t index = sample_index(wanted[i], first.size());
      inputs[i].index = index;
      names.push_back(sample_name(first, index));
    } else {
      inputs[i].file = wanted[i];
      names.push_back(short_names[file++]);
    }
  }
  names = distinct(std::move(names));
  for (std::size_t i = 0; i < wanted.size(); ++i) inputs[i].name = names[i];
  return inputs;
}

}  // namespace

std::int64_t same_sample(const data::Dataset& own, const data::Dataset& first, std::int64_t i,
                         const std::string& run) {
  const std::string file = file_of(first, i);
  if (i < own.size() && file_of(own, i) == file) return i;
  for (std::int64_t k = 0; k < own.size(); ++k) {
    if (file_of(own, k) == file) return k;
  }
  throw ConfigError(fmt::format("--input {}: {} has no {} in its split; give the name of a file", i,
                                run, first.name(i)));
}

std::vector<std::string> standard_inputs(const FigureRequest& request) {
  const data::Dataset& dataset = request.runs.front().samples;
  std::vector<std::string> numbers;
  if (!dataset.has("label")) {
    for (std::int64_t i = 0; i < std::min<std::int64_t>(4, dataset.size()); ++i)
      numbers.push_back(std::to_string(i));
    return numbers;
  }
  std::vector<std::int64_t> labels;
  for (std::int64_t i = 0; i < dataset.size(); ++i) labels.push_back(dataset.label(i));
  const ShownSamples shown = one_of_each_class(labels);
  for (const std::int64_t i : shown.samples) numbers.push_back(std::to_string(i));
  if (std::ssize(shown.samples) < shown.classes) {
    request.note(fmt::format("shown is a sample of each of {} of {} classes; --input chooses",
                             shown.samples.size(), shown.classes));
  }
  return numbers;
}

std::vector<ImageInput> image_inputs(const FigureRequest& request) {
  const std::string& run = request.runs.front().name;
  FOVEA_CHECK(request.texts.empty(), ConfigError,
              fmt::format("--text: {} reads images; give --input", run));
  const data::Dataset& first = first_samples(request);
  note_channels(first, request);
  std::vector<ImageInput> inputs =
      named_inputs(request.inputs.empty() ? standard_inputs(request) : request.inputs, first);
  for (ImageInput& input : inputs) {
    const Tensor alone = image_of(input, request.runs.front(), first);
    input.height = alone.size(1);
    input.width = alone.size(2);
    const Tensor image = filled_up(alone, request.runs.front());
    const auto values = image.values<float>();
    input.picture =
        picture_of({values.begin(), values.end()}, image.size(0), image.size(1), image.size(2));
  }
  return inputs;
}

Tensor prepared(const ImageInput& input, const ShownRun& run, const FigureRequest& request) {
  const Tensor image = image_of(input, run, first_samples(request));
  const data::Planes planes{image.size(0), image.size(1), image.size(2), image.data<float>()};
  normalise(run, planes);
  const Tensor seen = filled_up(image, run);
  const auto values = seen.values<float>();
  return Tensor::from(std::vector<float>(values.begin(), values.end()),
                      {1, seen.size(0), seen.size(1), seen.size(2)}, run.device);
}

std::int64_t place_of(const ImageInput& input, const ShownRun& run, const FigureRequest& request) {
  return same_sample(run.samples, first_samples(request), *input.index, run.name);
}

void check_size(const ShownRun& run, const FigureRequest& request) {
  FOVEA_CHECK(
      run.samples.fields()[0].shape == first_samples(request).fields()[0].shape, ConfigError,
      fmt::format("{}: sees images of another size than {}", run.name, request.runs.front().name));
}

bool is_index(const std::string& text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::int64_t sample_index(const std::string& text, std::int64_t size) {
  const std::int64_t index = std::stoll(text.substr(0, 18));
  FOVEA_CHECK(index < size, ConfigError,
              fmt::format("--input {}: the split has {} samples, counted from 0", text, size));
  return index;
}

}  // namespace fovea::visualise
