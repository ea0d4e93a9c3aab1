#include "attention/probe.h"

#include "autograd/mode.h"

namespace fovea::attention {

void Probe::record(const std::string& name, const Tensor& value) {
  records_.push_back({autograd::module_path(), name, value.detach()});
}

std::vector<Tensor> Probe::all(const std::string& name) const {
  std::vector<Tensor> found;
  for (const Record& record : records_) {
    if (record.name == name) found.push_back(record.value);
  }
  return found;
}

}  // namespace fovea::attention
