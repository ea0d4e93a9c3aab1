#include "layer_attention/paper_counts.h"

#include "autograd/mode.h"
#include "autograd/profiler.h"

namespace fovea::layer_attention {

void count_pooling(const Tensor& x, std::int64_t times) {
  autograd::Profiler* profiler = autograd::mode().profiler;
  for (std::int64_t i = 0; profiler != nullptr && i < times; ++i) {
    autograd::Event event;
    event.op = "pooled_again";
    event.module = autograd::module_path();
    event.output = {x.size(0), x.size(1), 1, 1};
    event.input = x.shape();
    profiler->add(event);
  }
}

}  // namespace fovea::layer_attention
