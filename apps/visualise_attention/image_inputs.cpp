#include "visualise_attention/image_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/distinct_names.h"
#include "base/error.h"
#include "base/file.h"
#include "visualise/layouts/shown_samples.h"
#include "visualise/maps/attention_maps.h"
#include "visualise_attention/subject.h"

namespace fovea::apps {
namespace {

// A sample's place in its files, wherever these lie.
std::string file_of(const data::ImageDataset& dataset, std::int64_t i) {
  const std::string name = dataset.name(i);
  const std::string& root = dataset.root();
  return name.rfind(root, 0) == 0 ? name.substr(root.size()) : name;
}

// The sample of `own` that is sample `i` of `first`; runs may be limited to different ones.
std::int64_t same_sample(const data::ImageDataset& own, const data::ImageDataset& first,
                         std::int64_t i, const std::string& run) {
  const std::string file = file_of(first, i);
  if (i < own.size() && file_of(own, i) == file) return i;
  for (std::int64_t k = 0; k < own.size(); ++k) {
    if (file_of(own, k) == file) return k;
  }
  throw ConfigError(fmt::format("--input {}: {} has no {} in its split; give the name of a file", i,
                                run, first.name(i)));
}

// (c, h, w) in [0, 1].
std::vector<float> values_of(const ImageInput& input, const data::ImageDataset& own,
                             const data::ImageDataset& first, const std::string& run) {
  const data::Sample sample =
      input.index ? own.get(same_sample(own, first, *input.index, run)) : own.get_file(input.file);
  const auto values = sample.at("image").values<float>();
  return {values.begin(), values.end()};
}

// "7: cat", or where samples have masks instead of classes the name of the file, if there is one.
std::string sample_name(const data::ImageDataset& dataset, std::int64_t i) {
  if (dataset.has("label")) {
    const auto label = static_cast<std::size_t>(dataset.label(i));
    return fmt::format("{}: {}", i, dataset.class_names()[label]);
  }
  if (dataset.files().empty()) return fmt::format("{}", i);
  return fmt::format("{}: {}", i, io::fs::path(dataset.name(i)).stem().string());
}

std::vector<ImageInput> named_inputs(const std::vector<std::string>& wanted,
                                     const data::ImageDataset& first) {
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

std::vector<std::string> standard_inputs(const data::Dataset& dataset) {
  std::vector<std::string> numbers;
  if (!dataset.has("label")) {
    for (std::int64_t i = 0; i < std::min<std::int64_t>(4, dataset.size()); ++i)
      numbers.push_back(std::to_string(i));
    return numbers;
  }
  std::vector<std::int64_t> labels;
  for (std::int64_t i = 0; i < dataset.size(); ++i) labels.push_back(dataset.label(i));
  const visualise::ShownSamples shown = visualise::one_of_each_class(labels);
  for (const std::int64_t i : shown.samples) numbers.push_back(std::to_string(i));
  if (std::ssize(shown.samples) < shown.classes) {
    fmt::print(stderr, "note: shown is a sample of each of {} of {} classes; --input chooses\n",
               shown.samples.size(), shown.classes);
  }
  return numbers;
}

const data::ImageDataset& images_of(experiment::Run& run, const Arguments& args) {
  return data::images_of(run.task().source().at(split_of(args, run)));
}

std::vector<ImageInput> image_inputs(const Arguments& args, const data::ImageDataset& first,
                                     const std::string& run) {
  FOVEA_CHECK(args.texts.empty(), ConfigError,
              fmt::format("--text: {} reads images; give --input", run));
  std::vector<std::string> wanted = args.inputs;
  if (wanted.empty()) wanted = standard_inputs(first);
  std::vector<ImageInput> inputs = named_inputs(wanted, first);
  for (ImageInput& input : inputs) {
    input.picture = visualise::picture_of(values_of(input, first, first, run), first.channels(),
                                          first.height(), first.width());
  }
  return inputs;
}

Tensor prepared(const ImageInput& input, const data::ImageDataset& own,
                const data::ImageDataset& first, const std::string& run, const Device& device) {
  std::vector<float> values = values_of(input, own, first, run);
  const data::Planes planes{own.channels(), own.height(), own.width(), values.data()};
  data::normalise(planes, own.mean(), own.std());
  return Tensor::from(values, {1, planes.channels, planes.height, planes.width}, device);
}

std::int64_t place_of(const ImageInput& input, const data::ImageDataset& own,
                      const data::ImageDataset& first, const std::string& run) {
  return same_sample(own, first, *input.index, run);
}

void check_size(const data::ImageDataset& own, const data::ImageDataset& first,
                const std::string& run, const std::string& first_run) {
  FOVEA_CHECK(own.fields()[0].shape == first.fields()[0].shape, ConfigError,
              fmt::format("{}: sees images of another size than {}", run, first_run));
}

attention::Probe::Place place_of_query(const Arguments& args, const visualise::Canvas& image) {
  if (args.query.empty()) return {0.5, 0.5};
  FOVEA_CHECK(args.query.size() == 2 && args.query[0] >= 0 && args.query[1] >= 0 &&
                  args.query[0] < image.height && args.query[1] < image.width,
              ConfigError,
              fmt::format("--query: expected row and column of a pixel of {} x {}, from 0",
                          image.height, image.width));
  // The middle of the pixel, so that no rounding moves it to the next token.
  const auto share = [](std::int64_t pixel, std::int64_t size) {
    return (static_cast<double>(pixel) + 0.5) / static_cast<double>(size);
  };
  return {share(args.query[0], image.height), share(args.query[1], image.width)};
}

std::int64_t enlargement(const Arguments& args, const visualise::Canvas& picture) {
  if (args.factor > 0) return args.factor;
  return std::max<std::int64_t>(1, 128 / std::max(picture.height, picture.width));
}

}  // namespace fovea::apps
