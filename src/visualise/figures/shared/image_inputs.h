// The images that are looked at: samples of a split by their numbers, and files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/images/image_dataset.h"
#include "visualise/drawing/canvas.h"
#include "visualise/figures/figure.h"

namespace fovea::visualise {

/// A sample of the split or a file. Every run prepares it as its own data set does.
struct ImageInput {
  std::string name;                   // "7: cat" or the file's
  std::string file;                   // empty for a sample
  std::optional<std::int64_t> index;  // of a sample in the first run's split
  Canvas picture;  // of a detector with the zeros that fill up its batches, which are black
  std::int64_t height = 0, width = 0;  // of the picture without these
};

/// The images that are asked for, as the first run sees them. Throws ConfigError, and FileError for
/// files that cannot be read.
std::vector<ImageInput> image_inputs(const FigureRequest& request);

/// The numbers of the samples that are shown where none are asked for: one of each class, or the
/// first four where there are none. Notes where some classes are left out.
std::vector<std::string> standard_inputs(const FigureRequest& request);

/// An image (1, c, h, w) as a run sees it. Throws ConfigError if it has no such sample.
Tensor prepared(const ImageInput& input, const ShownRun& run, const FigureRequest& request);

/// Where a sample of the first run's split lies in that of another. Throws ConfigError if that has
/// no such sample.
std::int64_t place_of(const ImageInput& input, const ShownRun& run, const FigureRequest& request);

/// The sample of `own` that is sample `i` of `first`, by its files; runs may be limited to
/// different ones. Throws ConfigError, which names `run`, if there is none.
std::int64_t same_sample(const data::Dataset& own, const data::Dataset& first, std::int64_t i,
                         const std::string& run);

/// Throws ConfigError if a run sees images of another size than the first one.
void check_size(const ShownRun& run, const FigureRequest& request);

/// Whether an input is the number of a sample; that number. Throws ConfigError where a split of
/// `size` samples has no such.
bool is_index(const std::string& text);
std::int64_t sample_index(const std::string& text, std::int64_t size);

}  // namespace fovea::visualise
