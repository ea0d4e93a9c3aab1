// A small set of volumes with regions, as nnU-Net's folders.
#pragma once

#include <cstdint>
#include <string>

#include "base/file.h"
#include "tests/data/nifti_files.h"

namespace fovea::test {

inline constexpr const char* kRegionLabels =
    R"({"background": 0, "whole": [1, 2, 5], "core": [2, 5], "enhancing": 5, "ignore": 6})";

/// Cases case_0, case_1, ... of 8 x 10 x 12 voxels: boxes in one another of the labels 1, 2 and 5,
/// the last but in case_0, each brighter than the one around it; a corner of label 6.
/// labels, order: of dataset.json.
inline void write_region_set(const io::fs::path& root, int cases,
                             const std::string& labels = kRegionLabels,
                             const std::string& order = "[1, 2, 5]") {
  io::make_directories(root / "imagesTr");
  io::make_directories(root / "labelsTr");
  io::write_atomic(root / "dataset.json", R"({"labels": )" + labels +
                                              R"(, "regions_class_order": )" + order +
                                              R"(, "channel_names": {"0": "MRI"}})");
  for (int n = 0; n < cases; ++n) {
    data::test::NiftiFile image{
        .depth = 8, .height = 10, .width = 12, .values = {}, .steps = {1, 1, 2}};
    data::test::NiftiFile truth = image;
    for (int i = 0; i < 8 * 10 * 12; ++i) {
      const int d = i / 120, h = i / 12 % 10, w = i % 12;
      const auto inside = [&](int k) {
        return d >= k && d < 8 - k && h > k && h < 9 - k && w > k + n % 2 && w < 10 - k;
      };
      const int level = inside(3) && n > 0 ? 3 : inside(2) ? 2 : inside(1) ? 1 : 0;
      const bool ignored = d == 0 && h < 3 && w < 3;
      constexpr std::int16_t kValues[] = {0, 1, 2, 5};
      truth.values.push_back(ignored ? std::int16_t{6} : kValues[level]);
      image.values.push_back(static_cast<std::int16_t>(50 + 60 * level + i * 7 % 11));
    }
    const std::string name = "case_" + std::to_string(n) + ".nii";
    io::write_atomic(root / "imagesTr" / name, image.bytes());
    io::write_atomic(root / "labelsTr" / name, truth.bytes());
  }
}

}  // namespace fovea::test
