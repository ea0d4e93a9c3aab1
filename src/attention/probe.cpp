#include "attention/probe.h"

#include "autograd/mode.h"
#include "ops/elementwise.h"

namespace fovea::attention {

void Probe::record(const std::string& name, const Tensor& value) {
  if (keep_graph_) {
    records_.push_back({autograd::module_path(), name, value});
    return;
  }
  const autograd::NoGrad no_grad;
  records_.push_back(
      {autograd::module_path(), name, ops::cast(value.detach(), compute_dtype(value.dtype()))});
}

std::vector<Tensor> Probe::all(const std::string& name) const {
  std::vector<Tensor> found;
  for (const Record& record : records_) {
    if (record.name == name) found.push_back(record.value);
  }
  return found;
}

}  // namespace fovea::attention
