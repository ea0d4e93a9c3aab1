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

/// What a network has an output for each: the regions' names, or without regions the classes'.
std::vector<std::string> output_names(const VolumeInfo& info);

/// What is scored: the background, and each output but that of the background.
std::vector<std::string> scored_names(const VolumeInfo& info);
/// The classes of each of them; those of no region are the background.
std::vector<std::vector<std::int64_t>> scored_labels(const VolumeInfo& info);

/// Where the probability of a region is above a half its voxels get the region's class, region
/// after region; others the first class. nnU-Net's rule. prob: (b, regions, spatial...) float32 on
/// the host -> (b, spatial...) int64. Throws ShapeError for another number of maps.
Tensor region_labels(const Tensor& prob, const std::vector<Region>& regions);

/// Probabilities (outputs, d, h, w) of a prepared volume on the grid of its file, linear between
/// voxels, and from them the class of each voxel: the most probable one, or by region_labels(); the
/// first outside of the part that was taken.
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
