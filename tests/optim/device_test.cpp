// Optimisers on a device whose memory the host cannot touch.
#include <catch2/catch.hpp>

#include <cmath>

#include "backend/backend.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "optim/optimiser.h"
#include "tests/support/opaque.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;

TEST_CASE("clipping: the norm of all gradients is one number read from the device", "[optim]") {
  const Device device = make_opaque();
  std::vector<optim::Parameter> parameters;
  for (const Shape& shape : {Shape{3, 4}, Shape{5}, Shape{}}) {
    parameters.push_back({"w", ops::zeros(shape, DType::kFloat32, device)});
    parameters.back().tensor.set_grad(ops::ones(shape, DType::kFloat32, device));
  }
  const std::int64_t before = opaque_downloads();
  const double norm = optim::grad_norm(parameters);
  CHECK(norm == Approx(std::sqrt(18.0)));
  optim::clip_grad_norm(parameters, norm, 0.5);
  CHECK(opaque_downloads() == before + 1);
  CHECK(optim::grad_norm(parameters) == Approx(0.5).epsilon(1e-4));
}
