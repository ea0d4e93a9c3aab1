// Inputs that belong to no data set as samples of one, so that the loader makes batches of them:
// prepared as the samples of a run are, without label and mask.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "data/images/image_dataset.h"
#include "data/texts/text_dataset.h"
#include "data/volumes/volume_dataset.h"

namespace fovea::data {

/// Samples with the "image" of each picture file and its geometry, as `like` prepares its own;
/// `like` outlives them. Files that cannot be read are left out of their batch (Loader::skipped()).
std::shared_ptr<const Dataset> given_pictures(const ImageDataset& like,
                                              std::vector<std::filesystem::path> files);

/// Samples with the "tokens" of each text, in the order of the texts whatever their length; one
/// without words is one unknown word. `like` outlives them.
std::shared_ptr<const Dataset> given_texts(const TextDataset& like, std::vector<std::string> texts);

/// A volume in memory of `host`, as `like` prepares its own.
struct GivenVolume {
  Tensor image;       // (1, channels, d, h, w)
  VolumePlace place;  // where it lies in its file
};
/// Throws FileError.
GivenVolume given_volume(const VolumeDataset& like,
                         const std::vector<std::filesystem::path>& images, const Device& host);

}  // namespace fovea::data
