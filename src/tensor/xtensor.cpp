// The checks of tensor/xtensor.h, which stay out of the header that few may include.
#include <fmt/format.h>

#include "base/error.h"
#include "tensor/tensor.h"

namespace fovea::detail {

void check_view(const Tensor& tensor, DType dtype, int rank) {
  FOVEA_CHECK(tensor.dtype() == dtype, ShapeError,
              fmt::format("as_xtensor: tensor {} is {}; expected {}", to_string(tensor.shape()),
                          name_of(tensor.dtype()), name_of(dtype)));
  FOVEA_CHECK(rank < 0 || tensor.rank() == rank, ShapeError,
              fmt::format("as_xtensor: tensor is {}, {} axes; expected {}",
                          to_string(tensor.shape()), tensor.rank(), rank));
}

void check_view(std::size_t values, std::span<const std::int64_t> sizes) {
  const Shape shape(sizes);
  FOVEA_CHECK(static_cast<std::int64_t>(values) == shape.numel(), ShapeError,
              fmt::format("as_xtensor: {} values as {}; expected {}", values, to_string(shape),
                          shape.numel()));
}

}  // namespace fovea::detail
