// Annotations of COCO: one JSON file for all images of a part.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/mask_runs.h"

namespace fovea::data {

struct CocoImage {
  std::int64_t id = 0, height = 0, width = 0;
  std::string file_name;
};

struct CocoCategory {
  std::int64_t id = 0;
  std::string name;
};

/// Where the segmentation of an object lies in the lists of its file.
struct CocoOutline {
  enum class Form : std::uint8_t { kNone, kPolygons, kRuns, kString };
  Form form = Form::kNone;
  std::int64_t begin = 0, end = 0;     // polygons, runs, or the place of a string
  std::int64_t height = 0, width = 0;  // of runs and strings, as the file has them
};

struct CocoAnnotation {
  std::int64_t id = 0, image = 0, category = 0;  // places of image and category in their lists
  std::array<double, 4> bbox{};                  // x y width height
  double area = 0;  // pixels of the object; where the file does not say, of its box
  bool crowd = false;
  CocoOutline outline;
};

/// An instances_*.json. What objects look like is kept in a few long lists, since a training part
/// has a million of them.
struct CocoFile {
  std::vector<CocoImage> images;            // in the order of the file
  std::vector<CocoCategory> categories;     // ascending by id
  std::vector<CocoAnnotation> annotations;  // in the order of the file

  /// The pixels of an object. Throws FileError beginning with `where` for one without segmentation,
  /// for runs of another size than the image or that do not fill it, and for broken strings and
  /// polygons.
  MaskRuns mask_of(const CocoAnnotation& annotation, const std::string& where) const;

  std::vector<std::int64_t> polygon_ends;  // in corners
  std::vector<double> corners;             // x and y by turns
  std::vector<std::int64_t> runs;
  std::vector<std::string> strings;
};

/// Segmentations are only kept with `outlines`. Keys that are not needed are passed over; a file
/// without annotations has no objects. Throws FileError beginning with `name` for what is no JSON
/// (with line and column), for values of another type, missing keys, ids that are there twice or
/// lead nowhere.
CocoFile parse_coco(std::string_view json, const std::string& name, bool outlines);

}  // namespace fovea::data
