// The images that are looked at: samples of a split by their numbers, and files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attention/probe.h"
#include "data/images/image_dataset.h"
#include "experiment/run/runner.h"
#include "visualise/drawing/canvas.h"
#include "visualise_attention/arguments.h"

namespace fovea::apps {

/// A sample of the split or a file. Every run prepares it as its own data set does.
struct ImageInput {
  std::string name;                   // "7: cat" or the file's
  std::string file;                   // empty for a sample
  std::optional<std::int64_t> index;  // of a sample in the first run's split
  visualise::Canvas picture;
};

/// The part of a run's data that is looked at. Throws ConfigError if it holds no images.
const data::ImageDataset& images_of(experiment::Run& run, const Arguments& args);

/// The images that `args` names; `first` are those of the first run, which is called `run`. Throws
/// ConfigError, and FileError for files that cannot be read.
std::vector<ImageInput> image_inputs(const Arguments& args, const data::ImageDataset& first,
                                     const std::string& run);

/// The numbers of the samples that are shown where --input names none: one of each class, or the
/// first four where there are none. Says so where some classes are left out.
std::vector<std::string> standard_inputs(const data::Dataset& dataset);

/// An image (1, c, h, w) as the run with the data set `own` sees it. Throws ConfigError if that has
/// no such sample.
Tensor prepared(const ImageInput& input, const data::ImageDataset& own,
                const data::ImageDataset& first, const std::string& run, const Device& device);

/// The place of the pixel that --query names, the middle without it. Throws ConfigError for one
/// outside the image.
attention::Probe::Place place_of_query(const Arguments& args, const visualise::Canvas& image);

/// Where a sample of the first run's split lies in that of the run with the data set `own`. Throws
/// ConfigError if that has no such sample.
std::int64_t place_of(const ImageInput& input, const data::ImageDataset& own,
                      const data::ImageDataset& first, const std::string& run);

/// Throws ConfigError if a run sees images of another size than the first one.
void check_size(const data::ImageDataset& own, const data::ImageDataset& first,
                const std::string& run, const std::string& first_run);

/// How many times its size a picture is drawn at: --factor, or what makes its longer side 128.
std::int64_t enlargement(const Arguments& args, const visualise::Canvas& picture);

}  // namespace fovea::apps
