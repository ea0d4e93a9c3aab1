// Cases on a graphics processor against the CPU's results.
#pragma once

#include <cmath>

#include "tests/backend/fused_cases.h"
#include "tests/support/gpu.h"

namespace fovea::test {

/// What a case writes on the device of its tensors.
inline std::vector<std::vector<double>> results(const FusedCase& of, DType stored) {
  Operands operands(stored);
  std::vector<std::vector<double>> all;
  for (const Tensor& x : of.run(cpu().backend(), operands)) all.push_back(to_doubles(x));
  return all;
}

/// To within `share` of the largest value, if that is given.
inline void compare_with_cpu(const std::vector<FusedCase>& cases, const std::vector<DType>& types,
                             const Device& device = any_gpu(), double share = 0) {
  if (!device.defined()) return;
  for (const FusedCase& of : cases) {
    if (of.large) continue;
    for (const DType stored : types) {
      INFO(of.kernel << " " << of.variant << " " << name_of(stored));
      const auto expected = results(of, stored);
      const InPlaceOfCpu here(device);
      const auto found = results(of, stored);
      REQUIRE(found.size() == expected.size());
      for (std::size_t i = 0; i < found.size(); ++i) {
        REQUIRE(found[i].size() == expected[i].size());
        double most = 0;
        for (std::size_t e = 0; e < found[i].size(); ++e) {
          const double difference = std::abs(found[i][e] - expected[i][e]);
          if (!(difference <= most)) most = difference;  // a NaN stays
        }
        INFO("result " << i);
        CHECK(most <=
              (share > 0 ? share : tolerance(stored)) * std::max(1.0, largest(expected[i])));
      }
    }
  }
}

}  // namespace fovea::test
