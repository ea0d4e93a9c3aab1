#include "nn/dropout.h"

#include "ops/create.h"
#include "ops/elementwise.h"

namespace fovea::nn {

Dropout::Dropout(const Build&, double p) : p_(p) {}

Tensor Dropout::forward(const Tensor& x) {
  return training() ? ops::dropout(x, p_, next_random()) : x;
}

ChannelDropout::ChannelDropout(const Build&, double p) : p_(p) {}

Tensor ChannelDropout::forward(const Tensor& x) {
  if (!training()) return x;
  Shape channels(std::vector<std::int64_t>(static_cast<std::size_t>(x.rank()), 1));
  channels[0] = x.size(0);
  channels[1] = x.size(1);
  const Tensor ones = ops::full(channels, 1, x.dtype(), x.device());
  return ops::mul(x, ops::dropout(ones, p_, next_random()));
}

DropPath::DropPath(const Build&, double p) : p_(p) {}

Tensor DropPath::forward(const Tensor& x) {
  return training() ? ops::drop_path(x, p_, next_random()) : x;
}

}  // namespace fovea::nn
