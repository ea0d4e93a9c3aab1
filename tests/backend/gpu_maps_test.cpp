// Kernels of maps on graphics processors against the CPU's, where there is one.
#include "tests/backend/gpu_cases.h"

using namespace fovea;
using namespace fovea::test;

TEST_CASE("gpu maps: layer attention over a running sum agrees with the CPU's", "[backend][gpu]") {
  std::vector<FusedCase> cases;
  for (const FusedCase& of : cases_of_maps()) {
    if (of.kernel.starts_with("running_value") || of.kernel.starts_with("value_norm"))
      cases.push_back(of);
  }
  CHECK(cases.size() >= 15);
  compare_with_cpu(cases, {DType::kFloat64, DType::kFloat32, DType::kBFloat16});
}

TEST_CASE("gpu maps: areas of regions agree with the CPU's", "[backend][gpu]") {
  std::vector<FusedCase> cases;
  for (const FusedCase& of : cases_of_rows()) {
    if (of.kernel == "region_areas") cases.push_back(of);
  }
  compare_with_cpu(cases, {DType::kFloat32});
}
