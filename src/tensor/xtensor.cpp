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

}  // namespace fovea::detail
