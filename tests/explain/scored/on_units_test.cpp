#include "explain/scored/on_units.h"

#include <catch2/catch.hpp>

using namespace fovea;
using explain::Explanation;
using explain::on_units;
using explain::Units;
using Numbers = std::vector<double>;

TEST_CASE("on units: pixels are summed, coarse grids repeated, equal ones kept", "[explain]") {
  const Units units(2, 2, 4, 4);
  // The second of two samples.
  Numbers pixels(16, 100);
  for (int p = 0; p < 16; ++p) pixels.push_back(p);
  CHECK(on_units(Explanation{pixels, {4, 4}}, 1, units) ==
        Numbers{0 + 1 + 4 + 5, 2 + 3 + 6 + 7, 8 + 9 + 12 + 13, 10 + 11 + 14 + 15});
  CHECK(on_units(Explanation{{1, 2, 3, 4}, {2, 2}}, 0, units) == Numbers{1, 2, 3, 4});
  CHECK(on_units(Explanation{{7}, {1, 1}}, 0, units) == Numbers{7, 7, 7, 7});
  // 2 x 2 places over 3 x 3 units: the middle of unit 1 lies at 1/2, where the second place begins.
  CHECK(on_units(Explanation{{1, 2, 3, 4}, {2, 2}}, 0, Units(3, 3, 6, 6)) ==
        Numbers{1, 2, 2, 3, 4, 4, 3, 4, 4});
}
