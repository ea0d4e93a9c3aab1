#include "ops/indexing.h"

#include <fmt/format.h>

#include "autograd/graph.h"
#include "backend/backend.h"
#include "ops/create.h"

namespace fovea::ops {
namespace {

using autograd::Gradients;
using autograd::Op;

// Values can be checked only on the host.
void check_index(const char* op, const Tensor& index, std::int64_t length) {
  FOVEA_CHECK(index.dtype() == DType::kInt64, ShapeError,
              fmt::format("{}: index is {}; expected int64", op, name_of(index.dtype())));
  if (!index.device().is_host()) return;
  for (const std::int64_t i : index.host_values<std::int64_t>()) {
    FOVEA_CHECK(i >= 0 && i < length, ShapeError,
                fmt::format("{}: index {} is outside [0, {})", op, i, length));
  }
}

void check_lookup(const char* op, const Tensor& x, int axis, const Tensor& index) {
  Shape expected = x.shape();
  if (index.rank() == x.rank()) expected[axis] = index.size(axis);
  FOVEA_CHECK(index.shape() == expected, ShapeError,
              fmt::format("{}: x is {}, index is {}; expected equal sizes except on axis {}", op,
                          to_string(x.shape()), to_string(index.shape()), axis));
  check_index(op, index, x.size(axis));
}

}  // namespace

Tensor embedding(const Tensor& weight, const Tensor& index, std::int64_t padding_index) {
  FOVEA_CHECK(
      weight.rank() == 2, ShapeError,
      fmt::format("embedding: weight is {}; expected (rows, dim)", to_string(weight.shape())));
  FOVEA_CHECK(padding_index >= -1 && padding_index < weight.size(0), ShapeError,
              fmt::format("embedding: padding index {} is outside [0, {}); -1 means none",
                          padding_index, weight.size(0)));
  check_index("embedding", index, weight.size(0));
  Op op("embedding", {weight, index});
  op.moves(autograd::Moved::kPart);
  Shape shape = index.shape();
  shape.push_back(weight.size(1));
  Tensor y = Tensor::empty(shape, weight.dtype(), weight.device());
  backend(weight).gather_rows(weight, index, y);
  return op.output(y, [=, index = op.keep(index)](const Tensor& dy, Gradients& in) {
    const Tensor table = in.buffer(0);
    if (padding_index < 0) {
      backend(dy).scatter_add_rows(dy, index, table);
      return;
    }
    // The padding row gets its old gradient back: cheaper than clearing its rows of dy.
    const Tensor row = table.rows(padding_index, padding_index + 1);
    const Tensor before = clone(row);
    backend(dy).scatter_add_rows(dy, index, table);
    backend(dy).cast(before, row);
  });
}

Tensor gather(const Tensor& x, int axis, const Tensor& index) {
  const int at = x.shape().normalise_axis(axis);
  check_lookup("gather", x, at, index);
  Op op("gather", {x, index});
  op.moves(autograd::Moved::kPart);
  Tensor y = Tensor::empty(index.shape(), x.dtype(), x.device());
  backend(x).gather(at, x, index, y);
  return op.output(y, [=, index = op.keep(index)](const Tensor& dy, Gradients& in) {
    backend(dy).scatter_add(at, dy, index, in.buffer(0));
  });
}

Tensor scatter_add(const Tensor& x, int axis, const Tensor& index, const Tensor& values) {
  const int at = x.shape().normalise_axis(axis);
  check_lookup("scatter_add", x, at, index);
  FOVEA_CHECK(values.shape() == index.shape() && values.dtype() == x.dtype(), ShapeError,
              fmt::format("scatter_add: values are {} {}; expected {} {}", name_of(values.dtype()),
                          to_string(values.shape()), name_of(x.dtype()), to_string(index.shape())));
  Op op("scatter_add", {x, index, values});
  Tensor y = clone(x);
  backend(x).scatter_add(at, values, index, y);
  return op.output(
      y, [=, index = op.keep(index, values.requires_grad())](const Tensor& dy, Gradients& in) {
        if (in.wanted(2)) {
          Tensor dvalues = in.empty(2);
          backend(dy).gather(at, dy, index, dvalues);
          in.add(2, std::move(dvalues));
        }
        if (in.wanted(0)) in.add(0, dy);
      });
}

}  // namespace fovea::ops
