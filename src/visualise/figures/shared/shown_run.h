// A run as figures see it. Those who open runs make it (experiment/pictures/shown_run.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "models/model.h"
#include "visualise/pages/case_volume.h"

namespace fovea::visualise {

/// Classes of the pixels of a sample, (h, w) int64 on the host; of soft masks 1 is foreground.
struct PixelClasses {
  Tensor truth, predicted;
};

/// A volume that is looked at: a sample of the split, or files of one's own.
struct VolumeInput {
  std::string name;
  std::optional<std::int64_t> index = {};         // of the sample
  std::vector<std::filesystem::path> files = {};  // one a channel, or one with all channels
};

/// A volume as a run prepares it.
struct SeenVolume {
  CaseVolume volume;  // without maps
  Tensor image;       // what the network sees, (1, c, d, h, w)
};

/// A step in which an image is made from noise, as the network sees it: x is what it reads, x_start
/// what it takes for the image without noise, (1, c, h, w) in its own range, on the host.
struct DenoisingStep {
  std::int64_t step = 0, steps = 0;  // from 1
  std::int64_t timestep = 0;         // of the network's chain
  Tensor x, x_start;
};

/// Runs of one configuration differ by what was drawn alone: their seed, and the fold of their
/// data.
struct Configuration {
  std::string name;      // of the experiment; of a row of a sweep without the sweep's name
  std::string settings;  // all that results depend on, but for the draw
  std::string draw;      // seed and fold
};

/// What it refers to outlives it.
struct ShownRun {
  std::string name;     // of its folder or file
  std::string title;    // of its experiment; as `name`, another one for every run of a figure
  std::string weights;  // which they are, and what of them is random
  data::Split split = data::Split::kTest;  // the part of the data that is looked at
  models::Model& model;
  const data::Dataset& samples;  // of that part
  Device device, host;           // of the network; of samples
  /// Whether weights of its attention over tokens may be negative; nothing for a network without
  /// one (model.attention).
  std::optional<bool> signed_maps;

  /// Of sample i of a segmentation of images.
  std::function<PixelClasses(std::int64_t i)> pixel_classes;
  /// Of an image as the network sees it, (1, c, h, w), of a segmentation of images: (h, w) int64 on
  /// the host.
  std::function<Tensor(const Tensor& image)> predicted_classes;
  /// A volume of a segmentation of volumes, as it is prepared. Throws FileError.
  std::function<SeenVolume(const VolumeInput&)> seen_volume;
  /// The same on the grid of its file, with the values of the file. Throws FileError.
  std::function<CaseVolume(const VolumeInput&)> volume_on_file;
  /// Adds the attention of every stage over the image of a volume, from the windows that
  /// predictions are made of: how much all tokens see of a place, or what the token of a voxel
  /// sees.
  std::function<void(const Tensor& image, const std::optional<Sides3>& voxel, CaseVolume& to)>
      add_rollouts;
  /// `count` steps of making an image of a class by the run's own sampler, spread from the second
  /// to the last.
  std::function<std::vector<DenoisingStep>(std::int64_t label, std::int64_t count,
                                           std::uint64_t seed)>
      denoising = {};
  /// The same network with weights as its initialiser draws them from a seed, on its device.
  std::function<std::unique_ptr<models::Model>(std::int64_t seed)> fresh = {};
  Configuration configuration = {};
};

/// What a network reads, and on how many grids its blocks work.
enum class Reads {
  kTexts,
  kStreams,  // texts that go on without end, as language models read them
  kRecordings,
  kNoise,  // images that are all noise, with a class
  kVolumes,
  kOneGrid,       // images, all blocks on one grid of patches
  kSeveralGrids,  // images, blocks on grids of several sizes, or none on a grid of tokens
};
Reads reads_of(const ShownRun& run);
/// "texts", "volumes", "recordings", "images", "images on grids of several sizes", ...
const char* name_of(Reads reads);

}  // namespace fovea::visualise
