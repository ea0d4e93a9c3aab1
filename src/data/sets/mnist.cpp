// MNIST (Y. LeCun, C. Cortes, C. Burges) and Fashion-MNIST (H. Xiao, K. Rasul, R. Vollgraf, 2017)
// in the IDX format: big-endian header of type, rank and sizes, then the values; plain or .gz.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/error.h"
#include "base/file.h"
#include "data/files/packed_file.h"
#include "data/registry.h"

namespace fovea::data {
namespace {

constexpr std::int64_t kMnistMaxBytes = std::int64_t{1} << 30;

struct Idx {
  std::filesystem::path path;
  std::vector<std::int64_t> sizes;
  std::vector<std::byte> content;  // with its header
  std::size_t first = 0;           // where the values begin
};

std::vector<std::int64_t> idx_sizes(const std::vector<std::byte>& header, std::size_t rank,
                                    const std::string& path) {
  const auto byte = [&](std::size_t i) { return std::to_integer<std::int64_t>(header[i]); };
  FOVEA_CHECK(
      header.size() >= 4 + 4 * rank, FileError,
      fmt::format("{}: holds {} bytes, less than an IDX header; the copy or download was cut "
                  "short",
                  path, header.size()));
  FOVEA_CHECK(
      byte(0) == 0 && byte(1) == 0 && byte(2) == 8 && byte(3) == static_cast<std::int64_t>(rank),
      FileError,
      fmt::format("{}: starts with {:02x} {:02x} {:02x} {:02x}; expected 00 00 08 {:02x}, an "
                  "IDX file of bytes of rank {}",
                  path, byte(0), byte(1), byte(2), byte(3), rank, rank));
  std::vector<std::int64_t> sizes;
  std::int64_t count = 1;
  for (std::size_t k = 0; k < rank; ++k) {
    const std::size_t i = 4 + 4 * k;
    sizes.push_back(byte(i) << 24 | byte(i + 1) << 16 | byte(i + 2) << 8 | byte(i + 3));
    FOVEA_CHECK(
        sizes.back() >= 1 && count <= kMnistMaxBytes / sizes.back(), FileError,
        fmt::format("{}: declares sizes ({}); every size must be at least 1 and their product "
                    "at most {}",
                    path, fmt::join(sizes, ", "), kMnistMaxBytes));
    count *= sizes.back();
  }
  return sizes;
}

Idx read_idx(const std::filesystem::path& path, std::size_t rank) {
  const std::size_t header = 4 + 4 * rank;
  std::vector<std::byte> file =
      io::read_bytes(path, static_cast<std::uint64_t>(kMnistMaxBytes) + header);
  const bool packed = is_gzip(file);
  // The header bounds what a compressed file may expand to.
  const auto sizes =
      idx_sizes(packed ? inflate_prefix(file, header, path.string()) : file, rank, path.string());
  std::size_t expected = header;
  {
    std::int64_t count = 1;
    for (const std::int64_t size : sizes) count *= size;
    expected += static_cast<std::size_t>(count);
  }
  if (packed) file = inflate(file, expected, path.string());
  FOVEA_CHECK(
      file.size() == expected, FileError,
      fmt::format("{}: header promises {} bytes of data, file holds {}; the copy or download "
                  "was cut short or is damaged",
                  path.string(), expected - header, file.size() - header));
  return {path, sizes, std::move(file), header};
}

struct MnistOptions : ImageOptions {
  bool pad_to_32 = false;
  bool repeat_channels = false;
  SampleShape sample_shape() const {
    const std::int64_t side = pad_to_32 ? 32 : 28;
    return {repeat_channels ? 3 : 1, side, side, 10};
  }
};

struct Variant {
  std::vector<std::string> class_names;
  double mean = 0.0;
  double std = 1.0;
  std::string_view page;
};

class Mnist final : public Source {
 public:
  Mnist(const Place& place, const MnistOptions& options, const Variant& variant) {
    const bool test = place.split == Split::kTest;
    const std::string part = test ? "t10k" : "train";
    images_ = read_idx(find_data_file(place.root / (part + "-images-idx3-ubyte"), variant.page), 3);
    const Idx labels =
        read_idx(find_data_file(place.root / (part + "-labels-idx1-ubyte"), variant.page), 1);
    FOVEA_CHECK(images_.sizes[0] == labels.sizes[0], FileError,
                fmt::format("{}: {} labels for the {} images of {}", labels.path.string(),
                            labels.sizes[0], images_.sizes[0], images_.path.string()));
    FOVEA_CHECK(!options.pad_to_32 || std::max(images_.sizes[1], images_.sizes[2]) <= 32, FileError,
                fmt::format("{}: images of {} x {} cannot be padded to 32 x 32",
                            images_.path.string(), images_.sizes[1], images_.sizes[2]));
    const auto classes = static_cast<std::int64_t>(variant.class_names.size());
    for (std::int64_t i = 0; i < labels.sizes[0]; ++i) {
      auto label =
          std::to_integer<std::int64_t>(labels.content[labels.first + static_cast<std::size_t>(i)]);
      if (label >= classes) {
        problems_.push_back({i, fmt::format("{}: label {} at position {}; expected 0..{}",
                                            labels.path.string(), label, i, classes - 1)});
        label = 0;
      }
      labels_.push_back(label);
    }
    labels_file_ = labels.path;
    info_.class_names = variant.class_names;
    info_.channels = options.repeat_channels ? 3 : 1;
    info_.height = options.pad_to_32 ? 32 : images_.sizes[1];
    info_.width = options.pad_to_32 ? 32 : images_.sizes[2];
    info_.mean = {variant.mean};
    info_.std = {variant.std};
  }

  Image read(std::int64_t index) const override {
    const std::int64_t rows = images_.sizes[1];
    const std::int64_t columns = images_.sizes[2];
    const std::int64_t c = info_.channels;
    const std::int64_t top = (info_.height - rows) / 2;
    const std::int64_t left = (info_.width - columns) / 2;
    const std::byte* from = images_.content.data() + images_.first + index * rows * columns;
    Image image{info_.height, info_.width, c, {}};
    image.pixels.resize(static_cast<std::size_t>(info_.height * info_.width * c));
    for (std::int64_t y = 0; y < rows; ++y) {
      std::uint8_t* to = image.pixels.data() + ((y + top) * info_.width + left) * c;
      for (std::int64_t x = 0; x < columns; ++x, ++from, to += c) {
        std::fill_n(to, c, std::to_integer<std::uint8_t>(*from));
      }
    }
    return image;
  }

  std::string name(std::int64_t index) const override {
    return fmt::format("{}: image {}", images_.path.string(), index);
  }

  std::vector<std::filesystem::path> files() const override { return {images_.path, labels_file_}; }

 private:
  Idx images_;
  std::filesystem::path labels_file_;
};

std::unique_ptr<Source> open_mnist(const Place& place, const MnistOptions& options) {
  if (place.split == Split::kVal) return nullptr;
  return std::make_unique<Mnist>(
      place, options,
      Variant{
          {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}, 0.1307, 0.3081, "datasets/mnist.md"});
}

schema::Fields<MnistOptions> mnist_fields() {
  return schema::Fields<MnistOptions>{}
      .add("pad_to_32", &MnistOptions::pad_to_32, "pad with zeros from 28 x 28 to 32 x 32 pixels")
      .add("repeat_channels", &MnistOptions::repeat_channels,
           "repeat the grey channel three times");
}

std::unique_ptr<Source> open_fashion_mnist(const Place& place, const MnistOptions& options) {
  if (place.split == Split::kVal) return nullptr;
  return std::make_unique<Mnist>(place, options,
                                 Variant{{"t-shirt", "trouser", "pullover", "dress", "coat",
                                          "sandal", "shirt", "sneaker", "bag", "ankle_boot"},
                                         0.2860,
                                         0.3530,
                                         "datasets/fashion_mnist.md"});
}

}  // namespace

FOVEA_DATASET(mnist, open_mnist, "MNIST: 70,000 handwritten digits of 28 x 28 pixels",
              "datasets/mnist.md", mnist_fields())

FOVEA_DATASET(fashion_mnist, open_fashion_mnist,
              "Fashion-MNIST: 70,000 pictures of clothing of 28 x 28 pixels, 10 classes",
              "datasets/fashion_mnist.md", mnist_fields())

}  // namespace fovea::data
