// Street View House Numbers (Y. Netzer et al., 2011), format 2: digits of 32 x 32 pixels in MATLAB
// files. dgsa section 9.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <utility>

#include "base/error.h"
#include "data/described/sample_infos.h"
#include "data/files/matlab.h"
#include "data/files/packed_file.h"
#include "data/registry.h"

namespace fovea::data {
namespace {

constexpr const char* kSvhnPage = "datasets/svhn.md";
constexpr std::int64_t kSvhnSide = 32;
constexpr std::int64_t kSvhnPixels = kSvhnSide * kSvhnSide;
constexpr std::int64_t kSvhnClasses = 10;

struct SvhnOptions : ImageOptions {
  SampleShape sample_shape() const { return {3, kSvhnSide, kSvhnSide, kSvhnClasses}; }
  SourceInfo info() const {
    SourceInfo info;
    info.class_names = numbered_classes(kSvhnClasses);
    info.height = info.width = kSvhnSide;
    info.mean = {0.4377, 0.4438, 0.4728};
    info.std = {0.1980, 0.2010, 0.1970};
    return info;
  }
  schema::Value description() const { return description_of(info()); }
};

class Svhn final : public Source {
 public:
  Svhn(std::filesystem::path file, SourceInfo source_info)
      : Source(std::move(source_info)), file_(std::move(file)) {
    MatArray pixels = read_mat(file_, "X");
    const MatArray digits = read_mat(file_, "y");
    const bool fits = pixels.size.size() == 4 && pixels.size[0] == kSvhnSide &&
                      pixels.size[1] == kSvhnSide && pixels.size[2] == 3;
    FOVEA_CHECK(fits, FileError,
                fmt::format("{}: X is {}; expected 32 x 32 x 3 x images; see {}", file_.string(),
                            fmt::join(pixels.size, " x "), kSvhnPage));
    const std::int64_t images = pixels.size[3];
    FOVEA_CHECK(std::ssize(digits.values) == images, FileError,
                fmt::format("{}: {} images in X, {} labels in y; expected one for each",
                            file_.string(), images, digits.values.size()));
    pixels_ = std::move(pixels.values);
    for (std::int64_t i = 0; i < images; ++i) {
      const std::int64_t label = digits.values[static_cast<std::size_t>(i)];
      if (label < 1 || label > kSvhnClasses) {
        problems_.push_back(
            {i, fmt::format("{}: label {} of image {}; expected 1..10", file_.string(), label, i)});
      }
      labels_.push_back(label % kSvhnClasses);  // 10 is the digit 0
    }
  }

  // A column of the file is a column of the picture.
  Image read(std::int64_t index) const override {
    Image image{kSvhnSide, kSvhnSide, 3, {}};
    image.pixels.resize(static_cast<std::size_t>(3 * kSvhnPixels));
    const std::uint8_t* from = pixels_.data() + index * 3 * kSvhnPixels;
    for (std::int64_t c = 0; c < 3; ++c) {
      for (std::int64_t x = 0; x < kSvhnSide; ++x) {
        for (std::int64_t y = 0; y < kSvhnSide; ++y)
          image.pixels[static_cast<std::size_t>((y * kSvhnSide + x) * 3 + c)] = *from++;
      }
    }
    return image;
  }

  std::string name(std::int64_t index) const override {
    return fmt::format("{}: image {}", file_.string(), index);
  }
  std::vector<std::filesystem::path> files() const override { return {file_}; }

 private:
  std::filesystem::path file_;
  std::vector<std::uint8_t> pixels_;
};

std::unique_ptr<Source> open_svhn(const Place& place, const SvhnOptions& options) {
  if (place.split == Split::kVal) return nullptr;
  const char* name = place.split == Split::kTrain ? "train_32x32.mat" : "test_32x32.mat";
  return std::make_unique<Svhn>(find_data_file(place.root / name, kSvhnPage), options.info());
}

}  // namespace

FOVEA_DATASET(svhn, open_svhn,
              "Street View House Numbers: 99,289 colour images of 32 x 32 pixels, 10 digits",
              kSvhnPage, schema::Fields<SvhnOptions>{})

}  // namespace fovea::data
