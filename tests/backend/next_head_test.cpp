// What products fetch of the head after the one that they are of.
#include <catch2/catch.hpp>

#include <cstdint>
#include <vector>

#include "backend/cpu/attention/next_head.h"

using namespace fovea;

TEST_CASE("next head: products share its parts, in order", "[backend]") {
  const std::int64_t products = GENERATE(1, 2, 3, 5, 9);
  const std::vector<float> x(64);
  std::vector<const float*> listed = {x.data() + 8, nullptr, x.data() + 24};
  cpu::NextHead next(products);
  next.add(x.data(), 16, 4, 8);
  next.add(x.data(), 16, 0, 8);  // no rows
  next.add_listed(listed, 4, 3);
  next.add_listed(std::vector<const float*>(), 4, 3);
  next.add(x.data() + 2, 32, 2, 5);
  std::vector<cpu::simd::Ahead> all;
  for (std::int64_t i = 0; i < products; ++i) {
    for (const cpu::simd::Ahead& part : next.take()) all.push_back(part);
  }
  CHECK(next.take().empty());
  REQUIRE(all.size() == 3);
  CHECK((all[0].x == x.data() && all[0].rows == 4 && all[0].bytes == 32 && all[0].apart == 64));
  CHECK((all[1].starts[2] == x.data() + 24 && all[1].rows == 3 && all[1].bytes == 12 &&
         all[1].offset == 16));
  CHECK((all[2].x == x.data() + 2 && all[2].rows == 2 && all[2].bytes == 20));
  CHECK(cpu::NextHead().take().empty());
}
