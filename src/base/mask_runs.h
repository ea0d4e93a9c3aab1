// Binary masks as COCO stores them: the lengths of runs of pixels outside and inside, down the
// columns of the picture from left to right. The numbers are those of pycocotools' mask module.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fovea {

/// A mask of `height` x `width` pixels. `runs` has the lengths of runs that are by turns outside
/// and inside, outside first; only the first run may have no pixels, and their sum is height x
/// width. The functions below make it so.
struct MaskRuns {
  std::int64_t height = 0, width = 0;
  std::vector<std::uint32_t> runs;

  bool operator==(const MaskRuns&) const = default;
};

/// Columns x ... x + width - 1, rows y ... y + height - 1; no columns and rows for an empty mask.
struct MaskBox {
  std::int64_t x = 0, y = 0, width = 0, height = 0;

  bool operator==(const MaskBox&) const = default;
};

// Each of the following throws FileError that begins with `where` (a file and the object in it) for
// a picture without pixels or with 2^32 and more, and for what else is said there.

/// pixels: (height, width) row-major, inside where they are not 0. Throws ShapeError for another
/// number of pixels.
MaskRuns encode_mask(std::span<const std::uint8_t> pixels, std::int64_t height, std::int64_t width,
                     std::string_view where = "mask");
/// From lengths of runs as in a file ("counts" as a list). Runs without pixels vanish. Throws
/// FileError for a negative length, and for runs that do not fill the picture.
MaskRuns mask_from_runs(std::span<const std::int64_t> runs, std::int64_t height, std::int64_t width,
                        std::string_view where = "mask");
/// From COCO's compressed string ("counts" as a text). Throws FileError for characters that cannot
/// stand there, a number that is cut short, and as mask_from_runs().
MaskRuns mask_from_string(std::string_view text, std::int64_t height, std::int64_t width,
                          std::string_view where = "mask");
/// The union of polygons, each a list x0 y0 x1 y1 ... of corners in pixels, where (0, 0) is the
/// upper left corner of the picture; what lies outside the picture is cut off. Throws FileError for
/// fewer than three corners, an odd number of coordinates, and coordinates that are no numbers or
/// beyond a million.
MaskRuns mask_from_polygons(std::span<const std::vector<double>> polygons, std::int64_t height,
                            std::int64_t width, std::string_view where = "mask");

/// (height, width) row-major, 1 inside and 0 outside.
std::vector<std::uint8_t> decode_mask(const MaskRuns& mask);
/// COCO's compressed string: the lengths of runs, from the fourth on their difference to the run
/// before the last, five bits a character.
std::string mask_string(const MaskRuns& mask);

/// Pixels inside.
std::int64_t mask_area(const MaskRuns& mask);
MaskBox mask_box(const MaskRuns& mask);
/// The pixels inside at least one of the masks. Throws ShapeError where sizes differ or no mask is
/// given.
MaskRuns mask_union(std::span<const MaskRuns> masks);
/// Intersection over union; 0 for masks without a common pixel, two empty ones too. For a crowd, of
/// which a detection may cover a part, intersection over the area of the detection. Throws
/// ShapeError where sizes differ.
double mask_iou(const MaskRuns& detection, const MaskRuns& truth, bool crowd = false);

}  // namespace fovea
