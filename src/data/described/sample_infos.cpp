#include "data/described/sample_infos.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "data/described/weight_files.h"
#include "schema/fields.h"

namespace fovea::data {
namespace {

using schema::Fields;
using schema::Value;

constexpr const char* kImages = "images";
constexpr const char* kBoxes = "boxes";
constexpr const char* kVolumes = "volumes";

constexpr const char* kClassesHelp = "names of the classes";
constexpr std::int64_t kMostChannels = 4096;
constexpr std::int64_t kLongestSide = std::int64_t{1} << 16;

constexpr const char* kExifHelp = "whether pictures are turned as their EXIF orientation says";

std::vector<std::pair<std::string, Resampling>> resampling_words() {
  return {{"bilinear", Resampling::kBilinear},
          {"nearest", Resampling::kNearest},
          {"bicubic", Resampling::kBicubic},
          {"nearest_corner", Resampling::kNearestCorner},
          {"spline", Resampling::kSpline}};
}

std::vector<std::pair<std::string, Exif>> exif_words() {
  return {{"ignore", Exif::kIgnore}, {"apply", Exif::kApply}};
}

// Of a list that is empty, or has a number for each class.
template <class T, class Info>
std::string unless_one_each(const char* key, const std::vector<T>& list, const Info& info) {
  return list.empty() || list.size() == info.class_names.size()
             ? std::string()
             : fmt::format("{} has {} numbers; expected {}", key, list.size(),
                           info.class_names.size());
}

Fields<ResizeOptions> resize_fields() {
  using O = ResizeOptions;
  return Fields<O>{}
      .add_enum("how", &O::how, resampling_words(), "interpolation")
      .add("antialias", &O::antialias, "average over all pixels when shrinking")
      .add("round_once", &O::round_once, "round once, not after each axis");
}

Fields<FitOptions> fit_fields() {
  using O = FitOptions;
  return Fields<O>{}
      .add("crop_pct", &O::crop_pct, schema::in_range(kLeastCropPct, 1),
           "share of the shorter side that is kept")
      .add_object("resize", &O::resize, resize_fields(), "how pictures are resized")
      .add("keep_ratio", &O::keep_ratio, "whether pictures keep their aspect ratio");
}

const Fields<SourceInfo>& image_fields() {
  using O = SourceInfo;
  static const auto fields =
      Fields<O>{}
          .add("class_names", &O::class_names, kClassesHelp)
          .add("channels", &O::channels, schema::in_range(1, kMostChannels), "channels of an image")
          .add("channel_names", &O::channel_names,
               "of pictures with a file or a page for each channel: what these are called")
          .add("height", &O::height, schema::in_range(1, kLongestSide),
               "height that a network sees, in pixels")
          .add("width", &O::width, schema::in_range(1, kLongestSide),
               "width that a network sees, in pixels")
          .add("pixel_max", &O::pixel_max, schema::greater_than(0), "pixel value that becomes 1")
          .add("mean", &O::mean, "mean of each channel, unless dataset.mean says another")
          .add("std", &O::std, "standard deviation of each channel, unless dataset.std does")
          .add("stretch", &O::stretch, "whether images are stretched to their own range")
          .add("stretch_last", &O::stretch_last, "whether they are so after resizing")
          .add_enum("masks", &O::masks,
                    {{"none", Masks::kNone}, {"soft", Masks::kSoft}, {"labels", Masks::kLabels}},
                    "masks that samples have")
          .add_enum("image_resize", &O::image_resize, resampling_words(), "of images with masks")
          .add_enum("mask_resize", &O::mask_resize, resampling_words(), "of soft masks")
          .add("no_label", &O::no_label, "label of pixels without a class")
          .add("background", &O::background, "whether the first class is the background")
          .add("label_values", &O::label_values, "value in files for each class")
          .add("own_sizes", &O::own_sizes, "whether pictures have sizes of their own")
          .add_object("fit", &O::fit, fit_fields(), "how pictures of any size are fitted")
          .add_enum("exif", &O::exif, exif_words(), kExifHelp)
          .add("longest", &O::longest, schema::in_range(0, kLongestSide),
               "longest side of whole pictures with masks; 0: resized, or with patches their own")
          .add("patches", &O::patches, "whether networks were trained on parts of pictures")
          .check([](const O& o) {
            if (!o.channel_names.empty() && std::ssize(o.channel_names) != o.channels)
              return fmt::format("channel_names has {} names; expected {}", o.channel_names.size(),
                                 o.channels);
            return unless_one_each("label_values", o.label_values, o);
          });
  return fields;
}

const Fields<BoxInfo>& box_fields() {
  using O = BoxInfo;
  static const auto fields =
      Fields<O>{}
          .add("class_names", &O::class_names, kClassesHelp)
          .add("category_ids", &O::category_ids, "COCO's number of each class")
          .add("channels", &O::channels, schema::in_range(1, kMostChannels), "channels of an image")
          .add("has_masks", &O::has_masks, "whether objects have masks")
          .add_enum("exif", &O::exif, exif_words(), kExifHelp)
          .add("mean", &O::mean, "mean of each channel, unless dataset.mean says another")
          .add("std", &O::std, "standard deviation of each channel, unless dataset.std does")
          .check([](const O& o) { return unless_one_each("category_ids", o.category_ids, o); });
  return fields;
}

Fields<Region> region_fields() {
  using O = Region;
  return Fields<O>{}
      .add("name", &O::name, "name")
      .add("key", &O::key, "name in nnU-Net's summary.json")
      .add("classes", &O::classes, "places of its classes in class_names")
      .add("written", &O::written, "place of the class that predicted voxels get");
}

const Fields<VolumeInfo>& volume_fields() {
  using O = VolumeInfo;
  static const auto fields =
      Fields<O>{}
          .add("class_names", &O::class_names, kClassesHelp)
          .add("label_values", &O::label_values, "value in files for each class")
          .add("ignore_value", &O::ignore_value, "value in files of unlabelled voxels")
          .add("channels", &O::channels, schema::in_range(1, kMostChannels), "channels of a volume")
          .add("ct", &O::ct, "whether intensities are Hounsfield units")
          .add("declared_cases", &O::declared_cases, "cases that the data set declares")
          .add_object("regions", &O::regions, region_fields(), "outputs that are no classes")
          .check([](const O& o) {
            for (const Region& region : o.regions) {
              const bool known =
                  region.written < o.class_names.size() &&
                  std::all_of(region.classes.begin(), region.classes.end(),
                              [&](std::uint8_t c) { return c < o.class_names.size(); });
              if (!known)
                return fmt::format("region {} is of classes that are not there", region.name);
            }
            return unless_one_each("label_values", o.label_values, o);
          });
  return fields;
}

template <class Info>
Value to_value(const char* kind, const Fields<Info>& fields, const Info& info) {
  return Value::object({{kind, fields.raw(info)}});
}

template <class Info>
Info from_value(const char* kind, const Fields<Info>& fields, const Value& description) {
  try {
    return fields.parse(described_as(description, kind), kind);
  } catch (const ConfigError& error) {
    throw FileError(fmt::format("{}: {}", kDescriptionFile, error.what()));
  }
}

}  // namespace

Value description_of(const SourceInfo& info) { return to_value(kImages, image_fields(), info); }
Value description_of(const BoxInfo& info) { return to_value(kBoxes, box_fields(), info); }
Value description_of(const VolumeInfo& info) { return to_value(kVolumes, volume_fields(), info); }

SourceInfo image_info(const Value& description) {
  return from_value(kImages, image_fields(), description);
}
BoxInfo box_info(const Value& description) { return from_value(kBoxes, box_fields(), description); }
VolumeInfo volume_info(const Value& description) {
  return from_value(kVolumes, volume_fields(), description);
}

}  // namespace fovea::data
