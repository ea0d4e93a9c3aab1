// Uploads to graphics processors, which nobody waits for.
#include <numeric>

#include "tests/support/gpu.h"

using namespace fovea;
using namespace fovea::test;

TEST_CASE("gpu: an upload has what the host held when it was called", "[backend][gpu]") {
  for (const Device& device : gpus()) {
    std::vector<Tensor> there;
    std::vector<std::vector<std::int32_t>> expected;
    std::vector<std::int32_t> values;
    for (const std::size_t size : {5, 100000, 1, 3000000, 5, 100000, 17, 3000000}) {
      values.resize(size);
      std::iota(values.begin(), values.end(), static_cast<std::int32_t>(there.size() * 1000));
      there.push_back(Tensor::empty({static_cast<std::int64_t>(size)}, DType::kInt32, device));
      there.back().upload(values.data());
      expected.push_back(values);
      std::fill(values.begin(), values.end(), -1);
    }
    for (std::size_t i = 0; i < there.size(); ++i) {
      const auto read = there[i].host_values<std::int32_t>();
      CHECK(std::vector<std::int32_t>(read.begin(), read.end()) == expected[i]);
    }
  }
}
