#include "attention/probe.h"

#include <algorithm>
#include <utility>

#include "autograd/hooks.h"
#include "autograd/mode.h"
#include "ops/elementwise.h"

namespace fovea::attention {

void Probe::record(const std::string& name, const Tensor& value, const std::string& part) {
  const autograd::ModuleScope scope(part);
  if (keep_graph_) {
    records_.push_back({autograd::module_path(), name, value});
    return;
  }
  const autograd::NoGrad no_grad;
  records_.push_back(
      {autograd::module_path(), name, ops::cast(value.detach(), compute_dtype(value.dtype()))});
}

void Probe::record_signed(const Tensor& map) {
  record("attn", map);
  records_.back().is_signed = true;
}

void Probe::record_units(const Tensor& maps, const Tensor& tokens, bool is_signed,
                         const std::string& part) {
  record("unit_attn", maps, part);
  records_.back().tokens = tokens;
  records_.back().is_signed = is_signed;
}

Tensor Probe::attended(const Tensor& u, const std::function<Tensor()>& values,
                       const Behind& behind) {
  if (!values_) return u;
  auto gradient = std::make_shared<Tensor>();
  {
    const autograd::NoGrad no_grad;
    const DType dtype = compute_dtype(u.dtype());
    attended_.push_back({autograd::module_path(), ops::cast(values().detach(), dtype),
                         ops::cast(u.detach(), dtype), gradient, behind});
  }
  return autograd::observed(
      u, [gradient](const Tensor& du) { *gradient = ops::cast(du, compute_dtype(du.dtype())); });
}

void Probe::attended_in_windows(std::vector<Attended> windows, const Tensor& tokens) {
  const Attended& first = windows.front();
  attended_.push_back({first.module, {}, {}, {}, first.behind, std::move(windows), tokens});
}

Probe::Rows Probe::rows(std::int64_t prefix_tokens, std::int64_t grid_h,
                        std::int64_t grid_w) const {
  if (!maps_) return {0, 0};
  if (!place_ || grid_h == 0 || grid_h * grid_w <= whole_up_to_) return {};
  const auto along = [](double share, std::int64_t size) {
    const auto index = static_cast<std::int64_t>(share * static_cast<double>(size));
    return std::clamp<std::int64_t>(index, 0, size - 1);
  };
  return {prefix_tokens + along(place_->y, grid_h) * grid_w + along(place_->x, grid_w), 1};
}

std::vector<Tensor> Probe::all(const std::string& name) const {
  std::vector<Tensor> found;
  for (const Record& record : records_) {
    if (record.name == name) found.push_back(record.value);
  }
  return found;
}

}  // namespace fovea::attention
