// CIFAR-10 and CIFAR-100 (A. Krizhevsky, 2009) in the official binary layout: records of one label
// byte (CIFAR-100: coarse, then fine) and 3 x 32 x 32 pixels, channels outermost.
#include <fmt/format.h>

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "data/described/sample_infos.h"
#include "data/files/packed_file.h"
#include "data/registry.h"

namespace fovea::data {
namespace {

constexpr std::int64_t kCifarSide = 32;
constexpr std::int64_t kCifarPixels = kCifarSide * kCifarSide;
constexpr std::int64_t kMaxRecords = 1 << 17;

constexpr std::string_view kNames10 = "airplane automobile bird cat deer dog frog horse ship truck";
constexpr std::string_view kNames20 =
    "aquatic_mammals fish flowers food_containers fruit_and_vegetables "
    "household_electrical_devices "
    "household_furniture insects large_carnivores large_man-made_outdoor_things "
    "large_natural_outdoor_scenes large_omnivores_and_herbivores medium_mammals "
    "non-insect_invertebrates people reptiles small_mammals trees vehicles_1 vehicles_2";
constexpr std::string_view kNames100 =
    "apple aquarium_fish baby bear beaver bed bee beetle bicycle bottle bowl boy bridge bus "
    "butterfly "
    "camel can castle caterpillar cattle chair chimpanzee clock cloud cockroach couch crab "
    "crocodile "
    "cup dinosaur dolphin elephant flatfish forest fox girl hamster house kangaroo keyboard lamp "
    "lawn_mower leopard lion lizard lobster man maple_tree motorcycle mountain mouse mushroom "
    "oak_tree orange orchid otter palm_tree pear pickup_truck pine_tree plain plate poppy "
    "porcupine "
    "possum rabbit raccoon ray road rocket rose sea seal shark shrew skunk skyscraper snail snake "
    "spider squirrel streetcar sunflower sweet_pepper table tank telephone television tiger "
    "tractor "
    "train trout tulip turtle wardrobe whale willow_tree wolf woman worm";

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> result;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    result.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

// How the two members of the family differ.
struct CifarLayout {
  std::string_view folder;  // that the official archive unpacks to
  std::string_view page;
  std::vector<std::string> train_files;
  std::vector<std::string> test_files;
  std::int64_t label_bytes = 1;
  std::int64_t label_at = 0;
};

class Cifar final : public Source {
 public:
  Cifar(const Place& place, const CifarLayout& layout, SourceInfo source_info)
      : Source(std::move(source_info)),
        record_(layout.label_bytes + 3 * kCifarPixels),
        layout_(layout) {
    std::error_code code;
    const auto nested = place.root / layout.folder;
    const auto root = std::filesystem::is_directory(nested, code) ? nested : place.root;
    const bool test = place.split == Split::kTest;
    for (const std::string& file : test ? layout.test_files : layout.train_files) {
      load(find_data_file(root / file, layout.page));
    }
  }

  Image read(std::int64_t index) const override {
    const auto [file, record] = find(index);
    const std::byte* planes = file->content.data() + record * record_ + layout_.label_bytes;
    Image image{kCifarSide, kCifarSide, 3, {}};
    image.pixels.resize(static_cast<std::size_t>(3 * kCifarPixels));
    for (std::int64_t c = 0; c < 3; ++c) {
      for (std::int64_t p = 0; p < kCifarPixels; ++p) {
        image.pixels[static_cast<std::size_t>(p * 3 + c)] =
            std::to_integer<std::uint8_t>(planes[c * kCifarPixels + p]);
      }
    }
    return image;
  }

  std::string name(std::int64_t index) const override {
    const auto [file, record] = find(index);
    return fmt::format("{}: record {}", file->path.string(), record);
  }

  std::vector<std::filesystem::path> files() const override {
    std::vector<std::filesystem::path> paths;
    for (const File& file : files_) paths.push_back(file.path);
    return paths;
  }

 private:
  struct File {
    std::filesystem::path path;
    std::vector<std::byte> content;
    std::int64_t first = 0;  // index of its first record
  };

  void load(const std::filesystem::path& path) {
    File file{path, read_packed(path, static_cast<std::size_t>(kMaxRecords * record_)), size()};
    const auto bytes = static_cast<std::int64_t>(file.content.size());
    FOVEA_CHECK(
        bytes > 0 && bytes % record_ == 0, FileError,
        fmt::format("{}: {} bytes are not a whole number of records of {} bytes; the copy or "
                    "download was cut short, or this is not the binary version; see {}",
                    path.string(), bytes, record_, layout_.page));
    const auto classes = static_cast<std::int64_t>(info_.class_names.size());
    for (std::int64_t r = 0; r < bytes / record_; ++r) {
      auto label = std::to_integer<std::int64_t>(
          file.content[static_cast<std::size_t>(r * record_ + layout_.label_at)]);
      if (label >= classes) {
        problems_.push_back({size(), fmt::format("{}: label {} in record {}; expected 0..{}",
                                                 path.string(), label, r, classes - 1)});
        label = 0;
      }
      labels_.push_back(label);
    }
    files_.push_back(std::move(file));
  }

  std::pair<const File*, std::int64_t> find(std::int64_t index) const {
    std::size_t f = files_.size() - 1;
    while (files_[f].first > index) --f;
    return {&files_[f], index - files_[f].first};
  }

  std::int64_t record_;
  CifarLayout layout_;
  std::vector<File> files_;
};

SourceInfo info_of(std::string_view names, std::vector<double> mean, std::vector<double> std) {
  SourceInfo info;
  info.class_names = words(names);
  info.height = info.width = kCifarSide;
  info.mean = std::move(mean);
  info.std = std::move(std);
  return info;
}

struct Options10 : ImageOptions {
  SampleShape sample_shape() const { return {3, kCifarSide, kCifarSide, 10}; }
  SourceInfo info() const {
    return info_of(kNames10, {0.4914, 0.4822, 0.4465}, {0.2470, 0.2435, 0.2616});
  }
  schema::Value description() const { return description_of(info()); }
};

std::unique_ptr<Source> open_cifar10(const Place& place, const Options10& options) {
  if (place.split == Split::kVal) return nullptr;
  const CifarLayout layout{
      .folder = "cifar-10-batches-bin",
      .page = "datasets/cifar10.md",
      .train_files = {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                      "data_batch_4.bin", "data_batch_5.bin"},
      .test_files = {"test_batch.bin"}};
  return std::make_unique<Cifar>(place, layout, options.info());
}

struct Options100 : ImageOptions {
  std::string labels = "fine";

  bool fine() const { return labels == "fine"; }
  SampleShape sample_shape() const { return {3, kCifarSide, kCifarSide, fine() ? 100 : 20}; }
  SourceInfo info() const {
    return info_of(fine() ? kNames100 : kNames20, {0.5071, 0.4865, 0.4409},
                   {0.2673, 0.2564, 0.2762});
  }
  schema::Value description() const { return description_of(info()); }
};

std::unique_ptr<Source> open_cifar100(const Place& place, const Options100& options) {
  if (place.split == Split::kVal) return nullptr;
  const CifarLayout layout{.folder = "cifar-100-binary",
                           .page = "datasets/cifar100.md",
                           .train_files = {"train.bin"},
                           .test_files = {"test.bin"},
                           .label_bytes = 2,
                           .label_at = options.fine() ? 1 : 0};
  return std::make_unique<Cifar>(place, layout, options.info());
}

}  // namespace

FOVEA_DATASET(cifar10, open_cifar10, "CIFAR-10: 60,000 colour images of 32 x 32 pixels, 10 classes",
              "datasets/cifar10.md", schema::Fields<Options10>{})

FOVEA_DATASET(cifar100, open_cifar100,
              "CIFAR-100: 60,000 colour images of 32 x 32 pixels, 100 classes",
              "datasets/cifar100.md",
              schema::Fields<Options100>{}.add("labels", &Options100::labels,
                                               schema::one_of({"fine", "coarse"}),
                                               "the 100 classes or the 20 groups of them"))

}  // namespace fovea::data
