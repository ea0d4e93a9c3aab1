#include "data/sets/paired_options.h"

#include <fmt/format.h>

#include <set>

#include "data/images/mask_values.h"
#include "data/parts/folder.h"
#include "data/parts/image_pairs.h"

namespace fovea::data {
namespace {

// What is wrong with the keys of sizes, or "".
std::string size_complaint(const PairsOptions& o) {
  if (!o.spacing.empty() && o.spacing.size() != 2)
    return fmt::format("spacing has {} numbers; expected 2 (height, width), or none",
                       o.spacing.size());
  if (o.patch_size.empty()) {
    return o.longest == 0 ? ""
                          : "longest is given without patch_size; pictures that are not cut into "
                            "patches are resized to img_size";
  }
  if (o.patch_size.size() != 2)
    return fmt::format("patch_size has {} numbers; expected 2 (height, width), or none",
                       o.patch_size.size());
  if (o.img_size > 0)
    return "img_size and patch_size are both given; pictures are resized to the one, or patches of "
           "the other are cut from them";
  return "";
}

// What is wrong with the keys of masks, or "".
std::string complaint(const PairsOptions& o) {
  if (std::string wrong = MaskRule::complaint(o.mask_threshold, o.mask_values); !wrong.empty())
    return wrong;
  if (o.mask_type == MaskType::kForeground) {
    return o.classes.empty() && !o.ignore_value && o.background
               ? ""
               : "classes, background and ignore_value belong to maps of labels; set mask_type to "
                 "\"labels\"";
  }
  if (o.mask_threshold) return "mask_threshold is given, but maps of labels have no grey values";
  if (o.mask_resize != Resampling::kNearest)
    return "mask_resize is bilinear, but there is nothing between two labels; expected nearest";
  if (o.mask_values.is_string())
    return "mask_values is \"nonzero\"; of maps of labels expected the values of the classes";
  const std::vector<int> values = o.label_values();
  std::set<int> distinct(values.begin(), values.end());
  if (!values.empty() && (distinct.size() < 2 || distinct.size() < values.size()))
    return "maps of labels need two classes or more, each with a value of its own";
  if (!o.classes.empty() && o.classes.size() != values.size())
    return fmt::format("{} classes, but mask_values has {}", o.classes.size(), values.size());
  if (o.ignore_value && distinct.count(static_cast<int>(*o.ignore_value)) > 0)
    return fmt::format("ignore_value is {}, which is also the value of a class", *o.ignore_value);
  return "";
}

}  // namespace

Kind PairsOptions::kind_of(const schema::Value& options) {
  return kind_by_mask_type(options, MaskType::kForeground);
}

bool PairsOptions::lists_test() const {
  const std::filesystem::path lists = std::filesystem::path(root) / splits;
  return !splits.empty() && has_list(lists, Split::kTrain) && has_list(lists, Split::kTest);
}

std::vector<int> PairsOptions::label_values() const {
  std::vector<int> values;
  if (mask_values.is_null()) {
    for (std::size_t c = 0; c < classes.size(); ++c) values.push_back(static_cast<int>(c));
    return values;
  }
  for (const schema::Value& value : mask_values.items())
    values.push_back(static_cast<int>(value.as_int()));
  return values;
}

std::optional<SampleShape> PairsOptions::sample_shape() const {
  const bool labels = mask_type == MaskType::kLabels;
  const std::int64_t count = labels ? std::ssize(label_values()) : 1;
  const bool patches = !patch_size.empty();
  if ((img_size == 0 && !patches) || count == 0) return std::nullopt;
  return SampleShape{.channels = channel_count(),
                     .height = patches ? patch_size[0] : img_size,
                     .width = patches ? patch_size[1] : img_size,
                     .classes = count,
                     .label_maps = labels};
}

schema::Fields<PairsOptions> paired_folder_fields() {
  using O = PairsOptions;
  return schema::Fields<O>{}
      .add_enum("layout", &O::layout,
                {{"shared", PairLayout::kShared},
                 {"by_split", PairLayout::kBySplit},
                 {"isic2017", PairLayout::kIsic2017},
                 {"isic2018", PairLayout::kIsic2018}},
                "shared: images/ and masks/, as Kvasir-SEG; by_split: train/images, train/masks, "
                "val/..., test/...; isic2017, isic2018: the folders of the challenges")
      .add("images", &O::images, "folder of the images in the first two layouts")
      .add("masks", &O::masks, "folder of the masks in the first two layouts")
      .add("mask_suffix", &O::mask_suffix,
           "what the name of a mask has after that of its image, e.g. \"_segmentation\"; the "
           "endings may differ")
      .add(
          "splits", &O::splits,
          "folder of train.txt and optionally val.txt (valid.txt, validation.txt) and test.txt "
          "below root, one name a line; "
          "they choose from all images, in the isic layouts from those of the training part, and a "
          "test.txt comes before split.test")
      .names_files([](const schema::Value& o) -> std::vector<std::filesystem::path> {
        const std::string folder = o.at("splits").as_string();
        if (folder.empty()) return {};
        return lists_below(o.at("root").as_string(), part_names(folder, ".txt"));
      })
      .add("img_size", &O::img_size, schema::in_range(0, 8192),
           "image and mask are resized to this square after augmentation; 0: all have the size of "
           "the first, or patches are cut from them")
      .add("patch_size", &O::patch_size, schema::in_range(8, 8192),
           "height and width of random parts of images on which networks are trained; images keep "
           "their own sizes, and evaluations see them whole (eval.inferer); []: none")
      .add("foreground", &O::foreground, schema::in_range(0, 1),
           "of patches: share of those of each batch, its last samples, that lie around a pixel of "
           "a random class")
      .add("longest", &O::longest, schema::in_range(0, 8192),
           "of patches: images are resized so that their longer side is this, their aspect ratio "
           "is kept; 0: they keep their sizes")
      .add("spacing", &O::spacing, schema::greater_than(0),
           "height and width of the pixels of all images in millimetres, for distances in "
           "millimetres; []: unknown")
      .add("in_chans", &O::in_chans, schema::in_range(1, 3), "1 converts to grey, 3 to colour")
      .add("channels", &O::channels,
           "names of the channels of images that have a grey file for each, NAME_0000.png, "
           "NAME_0001.png, ... (as in nnU-Net), or a TIFF with a page for each, in this order; "
           "in_chans does not count then; []: an image is one file, grey or in colour")
      .add_enum(kMaskTypeKey, &O::mask_type, mask_type_words(),
                "foreground: one class, by the next two keys; labels: every value is a class")
      .add("mask_threshold", &O::mask_threshold, schema::in_range(0, 255),
           "grey values (0 to 255) from this one on are foreground; 0: soft masks, value / 255; "
           "null: recognised from the masks of train, if mask_values is null too")
      .add_any("mask_values", &O::mask_values,
               "instead of a threshold: the values that are foreground, e.g. [1, 2], or "
               "\"nonzero\"; for PNG files with a colour palette the indices of its entries. For "
               "labels: the value of each class, in order; null: 0, 1, ... where classes are "
               "named, else all values in train")
      .add("classes", &O::classes, "for labels: names of the classes; empty: their values")
      .add("background", &O::background,
           "for labels: the first class is the background, which means over classes and colours "
           "leave out; false: it is one like the others, as of scenes")
      .add("ignore_value", &O::ignore_value, schema::in_range(0, 65535),
           "for labels: the value of ignored pixels, often 255; null: none")
      .add_enum("mask_resize", &O::mask_resize,
                {{"nearest", Resampling::kNearest}, {"bilinear", Resampling::kBilinear}},
                "how masks are resized; bilinear makes their borders soft (kcla 5.4) and is not "
                "for labels")
      .add_enum("intensity", &O::intensity,
                {{"unit", PairIntensity::kUnit}, {"min_max_255", PairIntensity::kMinMax255}},
                "unit: value / 255, then mean and std; min_max_255: every image (of channels "
                "each) is stretched to 0..255 by its own extremes, as the network of kcla 5.4 "
                "sees it")
      .add("exif", &O::exif,
           "turn images as the EXIF orientation of their JPEG files says; masks stay")
      .check([](const O& o) {
        if (o.in_chans == 2 && o.channels.empty())
          return std::string(
              "in_chans is 2, expected 1 or 3; channels names those in files of "
              "their own");
        const bool challenge =
            o.layout == PairLayout::kIsic2017 || o.layout == PairLayout::kIsic2018;
        if (!o.channels.empty() && challenge)
          return std::string("channels are given, but images of the isic layouts are in colour");
        if (std::string wrong = size_complaint(o); !wrong.empty()) return wrong;
        return complaint(o);
      });
}

}  // namespace fovea::data
