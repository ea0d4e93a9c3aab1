// Small NIfTI files.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

namespace fovea::data::test {

/// Where voxels lie, as a quaternion.
struct Qform {
  float b = 0, c = 0, d = 0;
  std::array<float, 3> offset = {};
  float qfac = 1;
};

/// int16 voxels, (channels, slices, rows, columns) row-major, 8 x 1.25 x 1.5 mm unless `steps` say
/// otherwise.
struct NiftiFile {
  std::int16_t depth = 2, height = 3, width = 4;
  std::vector<std::int16_t> values;
  float slope = 0, intercept = 0;
  bool big_endian = false;
  std::int16_t type = 4;
  std::array<float, 3> steps = {1.5f, 1.25f, 8};  // of columns, rows, slices
  int extension = 0;                              // bytes between header and voxels
  std::optional<Qform> qform = {};
  std::optional<std::array<std::array<float, 4>, 3>> sform = {};
  std::int16_t channels = 1;  // along a fourth axis, where there are several

  std::string bytes() const {
    std::string file(static_cast<std::size_t>(352 + extension), '\0');
    const auto put = [&](std::size_t at, auto value) {
      char raw[sizeof(value)];
      std::memcpy(raw, &value, sizeof(value));
      if (big_endian) std::reverse(raw, raw + sizeof(value));
      if (file.size() < at + sizeof(value)) file.resize(at + sizeof(value));
      std::memcpy(file.data() + at, raw, sizeof(value));
    };
    put(0, std::int32_t{348});
    const auto count = static_cast<std::int16_t>(channels > 1 ? 4 : 3);
    const std::int16_t axes[] = {count, width, height, depth, channels, 1, 1, 1};
    for (std::size_t k = 0; k < 8; ++k) put(40 + 2 * k, axes[k]);
    put(70, type);
    put(72, std::int16_t{16});
    put(76, 1.0f);
    for (std::size_t k = 0; k < 3; ++k) put(80 + 4 * k, steps[k]);
    put(108, static_cast<float>(352 + extension));
    put(112, slope);
    put(116, intercept);
    file[123] = 2;  // millimetres
    if (qform) {
      put(76, qform->qfac);
      put(252, std::int16_t{1});
      const float numbers[] = {qform->b,         qform->c,         qform->d,
                               qform->offset[0], qform->offset[1], qform->offset[2]};
      for (std::size_t k = 0; k < 6; ++k) put(256 + 4 * k, numbers[k]);
    }
    if (sform) {
      put(254, std::int16_t{1});
      for (std::size_t k = 0; k < 12; ++k) put(280 + 4 * k, (*sform)[k / 4][k % 4]);
    }
    std::memcpy(file.data() + 344, "n+1", 4);
    std::size_t at = file.size();
    for (const std::int16_t value : values) {
      put(at, value);
      at += 2;
    }
    return file;
  }
};

/// Voxels 0, 1, 2, ...
inline NiftiFile counting_volume(std::int16_t depth, std::int16_t height, std::int16_t width) {
  NiftiFile file{.depth = depth, .height = height, .width = width, .values = {}};
  for (std::int16_t i = 0; i < depth * height * width; ++i) file.values.push_back(i);
  return file;
}

}  // namespace fovea::data::test
