#include "tensor/host.h"

#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;

TEST_CASE("host values: doubles of any dtype, and back with one rounding", "[tensor]") {
  const std::vector<double> values = {0, 1, 2, 200};
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kBFloat16}) {
    const Tensor x = from_doubles(values, {2, 2}, dtype, cpu());
    CHECK(x.dtype() == dtype);
    CHECK(host_doubles(x) == values);
  }
  CHECK(host_doubles(Tensor::from(std::vector<std::int64_t>{-3, 1}, {2}, cpu())) ==
        std::vector<double>{-3, 1});
  CHECK(host_doubles(Tensor::from(std::vector<std::uint8_t>{3, 255}, {2}, cpu())) ==
        std::vector<double>{3, 255});
  CHECK(host_doubles(from_doubles({0.1}, {1}, DType::kFloat32, cpu()))[0] == double{0.1F});
  CHECK(host_doubles(from_doubles({0.1}, {1}, DType::kBFloat16, cpu()))[0] == 0.10009765625);
}
