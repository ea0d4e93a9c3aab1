// Folders of pictures: ROOT/train/<class>/<file> and optionally ROOT/val, ROOT/test; or
// ROOT/<class>/<file>. Classes are the folders of train in byte order; so are the files of a class.
#include <fmt/format.h>

#include <memory>

#include "base/error.h"
#include "data/folder.h"
#include "data/registry.h"

namespace fovea::data {
namespace {

namespace fs = std::filesystem;

constexpr const char* kReader = "image_folder";
constexpr const char* kPage = "datasets/image_folder.md";

struct Options : ImageOptions {
  std::int64_t img_size = 0;
  std::int64_t in_chans = 3;
  double crop_pct = 1;
  Resampling interpolation = Resampling::kBilinear;
  bool antialias = true;
  bool exif = false;
};

class ImageFolder final : public Source {
 public:
  ImageFolder(const fs::path& train, const fs::path& part, const Options& options)
      : img_size_(options.img_size), exif_(options.exif ? Exif::kApply : Exif::kIgnore) {
    info_.class_names = class_folders(kReader, train, "<class>/<image>", kPage);
    info_.channels = options.in_chans;
    // The means over ImageNet, as is the custom for photographs; their average for grey.
    info_.mean = {0.485, 0.456, 0.406};
    info_.std = {0.229, 0.224, 0.225};
    if (info_.channels == 1) {
      info_.mean = {0.449};
      info_.std = {0.226};
    }
    LeftOut left_out;
    for (const std::string& name : class_folders(kReader, part, "<class>/<image>", kPage)) {
      const std::int64_t label = class_of(kReader, part, name, info_.class_names);
      for (fs::path& file : image_files(kReader, part / name, kPage, &left_out)) {
        files_.push_back(std::move(file));
        labels_.push_back(label);
      }
    }
    left_out.note(kReader, part, notes_);
    info_.height = info_.width = img_size_;
    info_.fit = {options.crop_pct, {options.interpolation, options.antialias}};
    info_.own_sizes = img_size_ > 0;
    if (img_size_ == 0) measure(train);
  }

  Image read(std::int64_t index) const override {
    const fs::path& file = files_[static_cast<std::size_t>(index)];
    Image image = read_file(file);
    FOVEA_CHECK(
        img_size_ > 0 || (image.height == info_.height && image.width == info_.width), FileError,
        fmt::format("{}: is {} x {}, the first image of train {} x {}; set dataset.img_size to "
                    "bring all to one size",
                    file.string(), image.height, image.width, info_.height, info_.width));
    return image;
  }
  Image read_file(const fs::path& file) const override {
    return read_image(file, info_.channels, exif_);
  }

  std::string name(std::int64_t index) const override {
    return files_[static_cast<std::size_t>(index)].string();
  }
  std::vector<fs::path> files() const override { return files_; }
  bool in_memory() const override { return false; }

 private:
  // Every split takes its size from the first image of train that can be decoded.
  void measure(const fs::path& train) {
    std::string first_error;
    for (const std::string& name : info_.class_names) {
      for (const fs::path& file : image_files(kReader, train / name, kPage)) {
        try {
          const Image image = read_file(file);
          info_.height = image.height;
          info_.width = image.width;
          return;
        } catch (const FileError& error) {  // reported when the sample itself is used
          if (first_error.empty()) first_error = error.what();
        }
      }
    }
    throw FileError(first_error);
  }

  std::int64_t img_size_;
  Exif exif_;
  std::vector<fs::path> files_;
};

std::unique_ptr<Source> open(const Place& place, const Options& options) {
  const auto part = part_folder(place.root, place.split, options.split, kPage);
  if (!part) return nullptr;
  const fs::path train = *part_folder(place.root, Split::kTrain, options.split, kPage);
  return std::make_unique<ImageFolder>(train, *part, options);
}

}  // namespace

FOVEA_DATASET(
    image_folder, open, "folders of pictures: train/<class>/<file>, test/<class>/<file>",
    "datasets/image_folder.md",
    schema::Fields<Options>{}
        .add("img_size", &Options::img_size, schema::in_range(0, 8192),
             "pixels a side of what the network sees: pictures are resized, keeping their aspect "
             "ratio, and the centre is cut out; 0: all have the size of the first")
        .add("crop_pct", &Options::crop_pct, schema::greater_than(0) && schema::at_most(1),
             "the shorter side is resized to floor(img_size / crop_pct) before the centre is cut "
             "out; 0.875: 256 for 224")
        .add_enum("interpolation", &Options::interpolation,
                  {{"bilinear", Resampling::kBilinear},
                   {"bicubic", Resampling::kBicubic},
                   {"nearest", Resampling::kNearest}},
                  "how pictures are resized, as PIL does")
        .add("antialias", &Options::antialias,
             "average over all pixels that fall into one, as PIL always does; false: as PyTorch's "
             "interpolate without antialiasing")
        .add("exif", &Options::exif,
             "turn pictures as the EXIF orientation of their JPEG files says; the loaders of "
             "torchvision and timm do not")
        .add("in_chans", &Options::in_chans, schema::in_range(1, 3),
             "1 converts to grey, 3 to colour")
        .check([](const Options& o) {
          if (o.in_chans == 2) return std::string("in_chans is 2, expected 1 or 3");
          return o.crop_pct < 1 && o.img_size == 0
                     ? std::string("crop_pct is given without img_size; set both")
                     : std::string();
        }))

}  // namespace fovea::data
