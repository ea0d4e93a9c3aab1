// A case that was never scanned, for tests of slices and their page.
#pragma once

#include <cmath>

#include "visualise/pages/case_volume.h"

namespace fovea::test {

/// 6 x 8 x 10 voxels of 3 x 2 x 1 mm. Values are 100 d + 10 h + w; the truth is a box of class 1,
/// the prediction the same box a column further and one voxel of class 2. With `mapped` a signed
/// map that grows along the width from -1 to 1.
inline visualise::CaseVolume drawn_case(bool mapped = true) {
  visualise::CaseVolume v;
  v.name = "case";
  v.size = {6, 8, 10};
  v.spacing = {3, 2, 1};
  // In planes as they lie in memory, and for the height from the third row of the file on.
  v.codes = "SPL";
  v.file = {{{0, 6, 0, 1}, {1, 10, 2, 1}, {2, 10, 0, 1}}};
  v.range = v.window = {0, 500};
  v.classes = {"background", "liver", "spleen"};
  v.dice = {0.99, 0.75, std::nan("")};
  visualise::CaseMap map{"layers.0", "2 x 2 x 2 tokens", {}};
  for (int d = 0; d < 6; ++d) {
    for (int h = 0; h < 8; ++h) {
      for (int w = 0; w < 10; ++w) {
        v.values.push_back(static_cast<float>(100 * d + 10 * h + w));
        const auto box = [&](int column) {
          return d >= 2 && d < 4 && h >= 3 && h < 7 && w >= column && w < column + 4;
        };
        v.truth.push_back(box(3) ? 1 : 0);
        v.predicted.push_back(d == 2 && h == 4 && w == 5 ? 2 : box(4) ? 1 : 0);
        map.values.push_back(static_cast<float>(w) / 4.5f - 1);
      }
    }
  }
  if (!mapped) return v;
  v.maps.push_back(map);
  v.quantity = {true, "rollout less an even share"};
  return v;
}

}  // namespace fovea::test
