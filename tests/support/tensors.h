// Tensors for tests, and float64 gradient checks of operations.
#pragma once

#include <catch2/catch.hpp>

#include <functional>
#include <span>
#include <vector>

#include "autograd/gradient_check.h"
#include "autograd/graph.h"
#include "backend/devices.h"
#include "tensor/random.h"
#include "tensor/tensor.h"

namespace fovea::test {

/// One device for all tests of a program: the host with two threads, or the one that
/// FOVEA_TEST_DEVICE names, or what an InPlaceOfCpu says. Tests that hold on the host alone (its
/// threads, its allocator, bits of its kernels, what only it can look at) are tagged [host].
const Device& cpu();

/// While this lives, tests that ask for the CPU get another device.
class InPlaceOfCpu {
 public:
  explicit InPlaceOfCpu(const Device& device);
  ~InPlaceOfCpu();
  InPlaceOfCpu(const InPlaceOfCpu&) = delete;
  InPlaceOfCpu& operator=(const InPlaceOfCpu&) = delete;
};

/// Standard normal values, float64 unless said otherwise.
Tensor random_tensor(const Shape& shape, std::uint64_t seed, DType dtype = DType::kFloat64);
/// Normal values pushed at least `margin` away from zero, for functions with a kink there.
Tensor away_from_zero(const Shape& shape, std::uint64_t seed, double margin = 0.1);
/// Values in [low, high).
Tensor uniform_tensor(const Shape& shape, double low, double high, std::uint64_t seed);

inline Tensor trainable(Tensor x) {
  x.set_requires_grad(true);
  return x;
}

using Function = std::function<Tensor(const std::vector<Tensor>&)>;

/// Marks all floating inputs as requiring a gradient and compares with central differences.
void check_gradients(const Function& function, const std::vector<Tensor>& inputs);

/// Values of any floating tensor in float64.
std::vector<double> to_doubles(const Tensor& x);

/// Lets the host change the elements of a tensor of any device, as a span.
template <class T, class Change>
void edit(const Tensor& x, const Change& change) {
  std::vector<T> values(static_cast<std::size_t>(x.numel()));
  x.download(values.data());
  change(std::span<T>(values));
  x.upload(values.data());
}

/// Gives `x` the values of a tensor of as many elements and the same dtype.
void set_values(const Tensor& x, const Tensor& values);

/// Sum of the products of elements.
double inner_product(const Tensor& a, const Tensor& b);

/// Largest |x|; 0 of nothing.
double largest(const std::vector<double>& values);

/// Largest |a - b| over two tensors of one shape.
double max_difference(const Tensor& a, const Tensor& b);

}  // namespace fovea::test
