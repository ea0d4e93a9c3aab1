#include "data/files/hdf5/hdf5.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>

#include "base/file.h"
#include "data/files/hdf5/chunks.h"
#include "data/files/hdf5/file.h"

namespace fovea::data {
namespace {

float from_half(std::uint16_t half) {
  const int exponent = half >> 10 & 31;
  const int mantissa = half & 1023;
  float value = 0;
  if (exponent == 31) {
    value = mantissa == 0 ? INFINITY : NAN;
  } else if (exponent == 0) {
    value = std::ldexp(static_cast<float>(mantissa), -24);
  } else {
    value = std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
  }
  return (half & 0x8000) != 0 ? -value : value;
}

template <class Stored, class Convert>
void convert_values(std::span<const std::byte> raw, bool swap, std::vector<float>& values,
                    Convert convert) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::array<std::byte, sizeof(Stored)> bytes;
    std::memcpy(bytes.data(), raw.data() + i * sizeof(Stored), sizeof(Stored));
    if (swap) std::reverse(bytes.begin(), bytes.end());
    values[i] = convert(std::bit_cast<Stored>(bytes));
  }
}

void to_floats(const hdf5::Number& type, std::span<const std::byte> raw,
               std::vector<float>& values) {
  const auto plain = [](auto value) { return static_cast<float>(value); };
  const auto as = [&]<class Stored>(Stored) {
    convert_values<Stored>(raw, type.big_endian, values, plain);
  };
  if (type.real) {
    if (type.bytes == 2) convert_values<std::uint16_t>(raw, type.big_endian, values, from_half);
    if (type.bytes == 4) as(float{});
    if (type.bytes == 8) as(double{});
  } else if (type.is_signed) {
    if (type.bytes == 1) as(std::int8_t{});
    if (type.bytes == 2) as(std::int16_t{});
    if (type.bytes == 4) as(std::int32_t{});
    if (type.bytes == 8) as(std::int64_t{});
  } else {
    if (type.bytes == 1) as(std::uint8_t{});
    if (type.bytes == 2) as(std::uint16_t{});
    if (type.bytes == 4) as(std::uint32_t{});
    if (type.bytes == 8) as(std::uint64_t{});
  }
}

// `values` may be null.
VolumeSize read_hdf5(hdf5::Bytes bytes, const std::string& path, std::vector<float>* values) {
  const hdf5::File file(std::move(bytes));
  const hdf5::Dataset dataset = file.dataset(path);
  if (dataset.size.size() != 3)
    file.bytes().refuse(fmt::format("\"{}\" has {} axes; expected slices, rows and columns", path,
                                    dataset.size.size()));
  constexpr std::size_t kMostVoxels = kMaxVolumeBytes / sizeof(float);
  const std::size_t total =
      hdf5::value_bytes(file, dataset, path, kMostVoxels * dataset.type.bytes);
  VolumeSize size;
  size.depth = static_cast<std::int64_t>(dataset.size[0]);
  size.height = static_cast<std::int64_t>(dataset.size[1]);
  size.width = static_cast<std::int64_t>(dataset.size[2]);
  if (values == nullptr) return size;
  values->resize(static_cast<std::size_t>(size.voxels()));
  const bool direct = dataset.type.real && dataset.type.bytes == sizeof(float) &&
                      !dataset.type.big_endian && std::endian::native == std::endian::little;
  if (direct) {
    hdf5::read_values(file, dataset, path, std::as_writable_bytes(std::span(*values)));
    return size;
  }
  std::vector<std::byte> raw(total);
  hdf5::read_values(file, dataset, path, raw);
  to_floats(dataset.type, raw, *values);
  return size;
}

hdf5::Bytes bytes_on_disk(const std::filesystem::path& path) {
  const auto file = std::make_shared<const io::ReadFile>(path);
  return {path.string(), file->size(),
          [file](std::uint64_t offset, std::span<std::byte> to) { file->read_all_at(offset, to); }};
}

}  // namespace

Volume read_hdf5_volume(const std::filesystem::path& path, const std::string& dataset) {
  Volume volume;
  static_cast<VolumeSize&>(volume) = read_hdf5(bytes_on_disk(path), dataset, &volume.values);
  return volume;
}

VolumeSize read_hdf5_size(const std::filesystem::path& path, const std::string& dataset) {
  return read_hdf5(bytes_on_disk(path), dataset, nullptr);
}

Volume decode_hdf5_volume(std::span<const std::byte> file, const std::string& name,
                          const std::string& dataset) {
  Volume volume;
  const hdf5::Bytes bytes{name, file.size(), [file](std::uint64_t at, std::span<std::byte> to) {
                            std::copy_n(file.begin() + static_cast<std::ptrdiff_t>(at), to.size(),
                                        to.begin());
                          }};
  static_cast<VolumeSize&>(volume) = read_hdf5(bytes, dataset, &volume.values);
  return volume;
}

}  // namespace fovea::data
