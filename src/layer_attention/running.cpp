#include "layer_attention/running.h"

#include "ops/elementwise.h"
#include "ops/linear.h"

namespace fovea::layer_attention {

std::vector<std::pair<std::string, Form>> form_names() {
  return {{"recompute", Form::kRecompute}, {"recurrent", Form::kRecurrent}};
}

void RunningSums::add(const Tensor& key, const Tensor& value) {
  const Tensor product = ops::matmul(key, value, true, false);
  s = s.defined() ? ops::add(s, product) : product;
  z = z.defined() ? ops::add(z, key) : key;
}

Tensor RunningSums::normalised(const Tensor& query, double eps) const {
  const Tensor scale = ops::matmul(query, ops::add(z, eps), false, true);
  return ops::div(ops::matmul(query, s), scale);
}

}  // namespace fovea::layer_attention
