// Optimisers on a device whose memory the host cannot touch.
#include <catch2/catch.hpp>

#include <cmath>

#include "backend/backend.h"
#include "ops/create.h"
#include "ops/shape.h"
#include "optim/optimiser.h"
#include "tests/support/opaque.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;

TEST_CASE("clipping: nothing is read from the device", "[optim]") {
  const Device device = make_opaque();
  std::vector<optim::Parameter> parameters;
  for (const Shape& shape : {Shape{3, 4}, Shape{5}, Shape{}}) {
    parameters.push_back({"w", ops::zeros(shape, DType::kFloat32, device)});
    parameters.back().tensor.set_grad(ops::ones(shape, DType::kFloat32, device));
  }
  const std::int64_t before = opaque_downloads();
  const Tensor square = ops::reshape(optim::grad_square_sum(parameters), {1});
  const Tensor scale = optim::step_scale(square, 0.5);
  CHECK(opaque_downloads() == before);
  CHECK(scale.item<double>() == Approx(0.5 / std::sqrt(18.0)).epsilon(1e-6));
}
