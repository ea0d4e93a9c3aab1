// Regions of a data set of volumes (VolumeInfo::regions): from a network's maps, one a region, to
// labels, and what regions are, for people and for files.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/volumes/volume_plan.h"
#include "schema/json/value.h"
#include "tensor/tensor.h"

namespace fovea::data {

inline constexpr const char* kRegionsFile = "regions.json";

/// The names of a network's outputs: the regions, or without regions the classes.
std::vector<std::string> output_names(const VolumeInfo& info);

/// What is scored: the background, then each output but the background.
std::vector<std::string> scored_names(const VolumeInfo& info);
/// The classes of each; classes in no region belong to the background.
std::vector<std::vector<std::int64_t>> scored_labels(const VolumeInfo& info);

/// Voxels where the probability of a region is above 1/2 get the region's class, region after
/// region; other voxels the first class. nnU-Net's rule. prob: (b, regions, spatial...) float32 on
/// the host -> (b, spatial...) int64. Throws ShapeError for another number of maps.
Tensor region_labels(const Tensor& prob, const std::vector<Region>& regions);

/// Probabilities (outputs, d, h, w) of a prepared volume on the grid of its file, linear between
/// voxels, and from them the class of each voxel: the most probable one, or by region_labels(); the
/// first class outside of the cropped part.
std::vector<std::uint8_t> labels_on_file(std::span<const float> prob, const VolumeInfo& info,
                                         const VolumeSides& size, const VolumePlace& place);

/// {"whole_tumor": {"labels": [1, 2, 3], "written": 1}, ...} by the values that files have; null
/// without regions.
schema::Value regions_json(const VolumeInfo& info);
/// "whole_tumor 1+2+3 (written as 1), core 2+3 (written as 2)"; "none" of null.
std::string regions_text(const schema::Value& regions);
/// Throws FileError, which begins with `name`, unless the text of kRegionsFile says the same labels
/// of the same regions.
void check_regions(const std::string& text, const VolumeInfo& info, const std::string& name);

}  // namespace fovea::data
