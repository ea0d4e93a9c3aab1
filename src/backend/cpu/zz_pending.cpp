#include "backend/cpu/cpu_backend.h"
namespace fovea::cpu {
void CpuBackend::channel_norm_stats(std::int64_t, double, const Tensor&, const Tensor&, const Tensor&) const {}
void CpuBackend::channel_norm(std::int64_t, const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&) const {}
void CpuBackend::channel_norm_backward(std::int64_t, bool, const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&) const {}
void CpuBackend::conv(const ConvArgs&, const Tensor&, const Tensor&, const Tensor&, const Tensor&) const {}
void CpuBackend::conv_backward_data(const ConvArgs&, const Tensor&, const Tensor&, const Tensor&) const {}
void CpuBackend::conv_backward_weight(const ConvArgs&, const Tensor&, const Tensor&, const Tensor&) const {}
void CpuBackend::pool(const PoolArgs&, const Tensor&, const Tensor&, const Tensor&) const {}
void CpuBackend::pool_backward(const PoolArgs&, const Tensor&, const Tensor&, const Tensor&) const {}
void CpuBackend::resize(const ResizeArgs&, const Tensor&, const Tensor&) const {}
void CpuBackend::resize_backward(const ResizeArgs&, const Tensor&, const Tensor&) const {}
void CpuBackend::gather_rows(const Tensor&, const Tensor&, const Tensor&) const {}
void CpuBackend::scatter_add_rows(const Tensor&, const Tensor&, const Tensor&) const {}
void CpuBackend::gather(int, const Tensor&, const Tensor&, const Tensor&) const {}
void CpuBackend::scatter_add(int, const Tensor&, const Tensor&, const Tensor&) const {}
}
