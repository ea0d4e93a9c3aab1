// Folders of pictures: ROOT/train/<class>/<file> and optionally ROOT/val, ROOT/test; or
// ROOT/<class>/<file>. Classes are the folders of train in byte order; so are the files of a class.
// Lists may name the classes and say those of a flat ROOT/val, as ImageNet's do.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/suggest.h"
#include "data/augment/interpolation_names.h"
#include "data/described/sample_infos.h"
#include "data/images/picture_notes.h"
#include "data/parts/class_lists.h"
#include "data/parts/folder.h"
#include "data/parts/picture_table.h"
#include "data/registry.h"

namespace fovea::data {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFolderReader = "image_folder";
constexpr const char* kFolderPage = "datasets/image_folder.md";

struct FolderOptions : ImageOptions {
  std::int64_t img_size = 0;
  std::int64_t in_chans = 3;
  double crop_pct = 1;
  Resampling interpolation = Resampling::kBilinear;
  bool antialias = true;
  bool exif = false;
  std::string class_names;
  std::string val_labels;
  std::string table;
  std::string images;
  std::string file_column = PictureTableOptions{}.file_column;
  std::string label_column = PictureTableOptions{}.label_column;
  std::string split_column = PictureTableOptions{}.split_column;

  PictureTableOptions listed() const {
    return {table, images, file_column, label_column, split_column};
  }
  /// All but the classes, and the size where img_size is 0.
  SourceInfo info() const {
    SourceInfo info;
    info.channels = in_chans;
    info.height = info.width = img_size;
    // The means over ImageNet, as is the custom for photographs; their average for grey.
    info.mean = in_chans == 1 ? std::vector{0.449} : std::vector{0.485, 0.456, 0.406};
    info.std = in_chans == 1 ? std::vector{0.226} : std::vector{0.229, 0.224, 0.225};
    info.own_sizes = img_size > 0;
    info.fit = {crop_pct, {interpolation, antialias}};
    info.exif = exif ? Exif::kApply : Exif::kIgnore;
    return info;
  }
  std::optional<schema::Value> description() const {
    if (img_size == 0) return std::nullopt;
    return description_of(info());
  }
};

class ImageFolder final : public Source {
 public:
  /// `folders`: of the classes. `labels`: the list of a part whose pictures lie in no class
  /// folders;
  /// "": they lie in such.
  ImageFolder(const std::vector<std::string>& folders, const fs::path& part, const fs::path& labels,
              const FolderOptions& options)
      : Source(options.info()) {
    info_.class_names = options.class_names.empty()
                            ? folders
                            : listed_names(fs::path(options.root) / options.class_names, folders);
    LeftOut left_out;
    if (labels.empty()) {
      read_folders(part, folders, left_out);
    } else {
      files_ = image_files(kFolderReader, part, kFolderPage, &left_out);
      labels_ = listed_classes(labels, files_, folders);
    }
    left_out.note(kFolderReader, part, notes_);
    note_files();
  }

  /// Of pictures that a table lists. `labels`: of the classes.
  ImageFolder(const std::vector<ListedPicture>& pictures, const std::vector<std::string>& labels,
              const FolderOptions& options)
      : Source(options.info()) {
    info_.class_names = options.class_names.empty()
                            ? labels
                            : listed_names(fs::path(options.root) / options.class_names, labels);
    for (const ListedPicture& picture : pictures) {
      const auto known = std::ranges::find(labels, picture.label);
      FOVEA_CHECK(known != labels.end(), FileError,
                  fmt::format("{}: train has no class \"{}\"{}", picture.place, picture.label,
                              did_you_mean(picture.label, labels)));
      if (!picture.found)
        problems_.push_back({std::ssize(files_), fmt::format("{}: {}: not found", picture.place,
                                                             picture.file.string())});
      files_.push_back(picture.file);
      labels_.push_back(known - labels.begin());
    }
    note_files();
  }

  /// Every split takes its size from the first picture of train that can be decoded.
  void measure(const std::vector<fs::path>& train) {
    std::string first_error;
    for (const fs::path& file : train) {
      try {
        const Image image = read_file(file);
        return set_size(image.height, image.width);
      } catch (const FileError& error) {  // reported when the sample itself is used
        if (first_error.empty()) first_error = error.what();
      }
    }
    throw FileError(first_error);
  }
  void set_size(std::int64_t height, std::int64_t width) {
    info_.height = height;
    info_.width = width;
  }

  Image read(std::int64_t index) const override {
    const fs::path& file = files_[static_cast<std::size_t>(index)];
    Image image = read_file(file);
    FOVEA_CHECK(
        info_.own_sizes || (image.height == info_.height && image.width == info_.width), FileError,
        fmt::format("{}: is {} x {}, the first image of train {} x {}; set dataset.img_size to "
                    "bring all to one size{}",
                    file.string(), image.height, image.width, info_.height, info_.width,
                    exif_hint(file, info_.exif, image, info_.height, info_.width)));
    return image;
  }

  std::string name(std::int64_t index) const override {
    return files_[static_cast<std::size_t>(index)].string();
  }
  std::vector<fs::path> files() const override { return files_; }
  bool in_memory() const override { return false; }

 private:
  void note_files() {
    note_pictures(files_,
                  {kFolderReader, info_.exif, false,
                   "give dataset.mean and dataset.std of what they hold, or convert the pictures"},
                  notes_);
  }
  void read_folders(const fs::path& part, const std::vector<std::string>& folders,
                    LeftOut& left_out) {
    for (const std::string& name :
         class_folders(kFolderReader, part, "<class>/<image>", kFolderPage)) {
      const std::int64_t label = class_of(kFolderReader, part, name, folders);
      for (fs::path& file : image_files(kFolderReader, part / name, kFolderPage, &left_out)) {
        files_.push_back(std::move(file));
        labels_.push_back(label);
      }
    }
  }

  std::vector<fs::path> files_;
};

bool holds_folders(const fs::path& folder) {
  const auto entries = sorted_entries(kFolderReader, folder);
  return std::any_of(entries.begin(), entries.end(), [](const auto& entry) {
    return type_of(kFolderReader, entry) == fs::file_type::directory;
  });
}

std::unique_ptr<Source> open_table(const Place& place, const FolderOptions& options) {
  const auto part = listed_pictures(place.root, place.split, options.listed());
  if (!part) return nullptr;
  // Weights are asked before train, which need not be there.
  const bool known = !place.class_names.empty() && options.class_names.empty();
  const bool measures = options.img_size == 0 && place.height == 0;
  std::vector<ListedPicture> train;
  if (!known || measures) train = *listed_pictures(place.root, Split::kTrain, options.listed());
  auto source =
      std::make_unique<ImageFolder>(*part, known ? place.class_names : labels_in(train), options);
  if (measures) {
    std::vector<fs::path> files;
    for (const ListedPicture& picture : train) {
      if (picture.found) files.push_back(picture.file);
    }
    FOVEA_CHECK(!files.empty(), FileError,
                fmt::format("{}: {}: not found", train.front().place, train.front().file.string()));
    source->measure(files);
  } else if (options.img_size == 0) {
    source->set_size(place.height, place.width);
  }
  return source;
}

std::unique_ptr<Source> open_image_folder(const Place& place, const FolderOptions& options) {
  if (!options.table.empty()) return open_table(place, options);
  const auto part = part_folder(place.root, place.split, options.split, kFolderPage);
  if (!part) return nullptr;
  // Weights are asked before train, which need not be there.
  const bool known = !place.class_names.empty() && options.class_names.empty();
  const fs::path train =
      known ? fs::path() : *part_folder(place.root, Split::kTrain, options.split, kFolderPage);
  const std::vector<std::string> folders =
      known ? place.class_names
            : class_folders(kFolderReader, train, "<class>/<image>", kFolderPage);
  const bool listed = !options.val_labels.empty();
  // Kaggle's ImageNet has a test folder whose classes nobody knows.
  if (listed && place.split == Split::kTest && !holds_folders(*part)) return nullptr;
  const bool by_list = listed && place.split == Split::kVal;
  auto source = std::make_unique<ImageFolder>(
      folders, *part, by_list ? place.root / options.val_labels : fs::path(), options);
  if (options.img_size == 0) {
    std::vector<fs::path> files;
    for (const std::string& name : known ? std::vector<std::string>() : folders) {
      for (fs::path& file : image_files(kFolderReader, train / name, kFolderPage))
        files.push_back(std::move(file));
    }
    known ? source->set_size(place.height, place.width) : source->measure(files);
  }
  return source;
}

std::vector<fs::path> folder_lists(const schema::Value& options) {
  std::vector<std::string> names;
  for (const char* key : {"class_names", "val_labels"}) {
    if (!options.at(key).as_string().empty()) names.push_back(options.at(key).as_string());
  }
  for (std::string& name : table_names(options.at("table").as_string()))
    names.push_back(std::move(name));
  if (names.empty()) return {};
  return lists_below(options.at("root").as_string(), names);
}

}  // namespace

FOVEA_DATASET(
    image_folder, open_image_folder,
    "folders of pictures: train/<class>/<file>, test/<class>/<file>", "datasets/image_folder.md",
    schema::Fields<FolderOptions>{}
        .add("img_size", &FolderOptions::img_size, schema::in_range(0, 8192),
             "side in pixels of what the network sees: pictures are resized, keeping their aspect "
             "ratio, and the centre is cut out; 0: all have the size of the first")
        .add("crop_pct", &FolderOptions::crop_pct, schema::in_range(kLeastCropPct, 1),
             "the shorter side is resized to floor(img_size / crop_pct) before the centre is cut "
             "out; 0.875: 256 for 224")
        .add_enum("interpolation", &FolderOptions::interpolation, interpolation_names(),
                  "how pictures are resized, as PIL does")
        .add("antialias", &FolderOptions::antialias,
             "when shrinking, average over all pixels that fall into one, as PIL always does; "
             "false: as PyTorch's interpolate without antialiasing")
        .add("exif", &FolderOptions::exif,
             "turn pictures as the EXIF orientation of their JPEG files says; the loaders of "
             "torchvision and timm do not")
        .add("in_chans", &FolderOptions::in_chans, schema::in_range(1, 3),
             "1 converts to grey, 3 to colour")
        .add("class_names", &FolderOptions::class_names,
             "file below root of lines \"<class folder> <name>\"; empty: classes are named after "
             "their folders")
        .add("val_labels", &FolderOptions::val_labels,
             "file below root with the classes of the pictures in val, which then lie in no class "
             "folders; a test folder without class folders is not used")
        .add("table", &FolderOptions::table,
             "table below root, .csv or .tsv, of the file and the class of every picture, which "
             "then need not lie in class folders; its first line names the columns; "
             "\"{split}.csv\": "
             "train.csv, val.csv, test.csv; empty: folders are the classes")
        .names_files(folder_lists)
        .add("images", &FolderOptions::images,
             "of a table: folder below root that its files are in; empty: root")
        .add("file_column", &FolderOptions::file_column,
             "of a table: column of the file, with or without its ending")
        .add("label_column", &FolderOptions::label_column, "of a table: column of the class")
        .add("split_column", &FolderOptions::split_column,
             "of a table: column of the part, train, val or test; a \"split\" need not be there")
        .check([](const FolderOptions& o) {
          if (o.in_chans == 2) return std::string("in_chans is 2, expected 1 or 3");
          if (o.table.empty() && !(o.listed() == PictureTableOptions{}))
            return std::string(
                "images, file_column, label_column and split_column are of a table; set table");
          if (!o.table.empty() && !o.val_labels.empty())
            return std::string("val_labels is given with a table, which has all classes");
          return o.crop_pct < 1 && o.img_size == 0
                     ? std::string("crop_pct is given without img_size; set both")
                     : std::string();
        }))

}  // namespace fovea::data
