// A page for the browser in which one scrolls through the slices of the cases of a run, in three
// planes, with truth, prediction, errors and attention over them. The page is one file, reaches for
// nothing outside it and needs a browser of 2023 or later.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "visualise/drawing/colour_map.h"
#include "visualise/pages/case_volume.h"

namespace fovea::visualise {

struct VolumePage {
  std::string title = "Slices";
  std::vector<std::string> notes;  // a line each, of all cases
  std::vector<CaseVolume> cases;
  ColourMap colours = ColourMap::kReds;  // of maps without sign
  std::string maps = "Attention";        // what the maps of cases are
  bool begins_with_maps = false;         // the page shows the first map, and no prediction over it
  std::int64_t case_bytes = 15'000'000;  // of the page that a case may take
};

/// Every how manieth voxel of each axis is kept: number i step + step / 2 for i = 0, 1, ...
std::int64_t sampled_count(std::int64_t size, std::int64_t step);

/// A case as the page holds it: a zlib stream in base64 of bytes for each voxel that is kept: its
/// value in steps from the least (0) to the largest of the range (a byte, or two where there are
/// more than 255 steps: all low bytes, then all high ones), truth (if the case has one) and
/// prediction, then each map:
/// 255 v / m for a value v and m its map_limit(), or 128 + 127 v / m where values have a sign.
struct PackedCase {
  Sides3 step{1, 1, 1};            // of voxels
  std::int64_t steps = 255;        // of values: of Hounsfield units one for each, at least 255
  Sides3 map_step{1, 1, 1};        // of maps, whose numbers are means over boxes of so many voxels
  std::vector<double> map_limits;  // m of each, after that
  std::string base64;
};
/// Where the case takes more than `bytes`, the step of the axis with the finest voxels grows until
/// it does not. Throws as check().
PackedCase pack_case(const CaseVolume& volume, std::int64_t bytes);

/// Throws ShapeError if there is no case, and as check().
std::string volume_page(const VolumePage& page);
/// Writes the page in one rename. Throws FileError.
void write_volume_page(const std::filesystem::path& path, const VolumePage& page);

}  // namespace fovea::visualise
