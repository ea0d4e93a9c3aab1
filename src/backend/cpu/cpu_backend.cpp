#include "backend/cpu/cpu_backend.h"

#include <cblas.h>
#include <fmt/format.h>

#include <algorithm>

#include "backend/cpu/products/onednn.h"
#include "backend/cpu/simd/amx.h"
#include "backend/cpu/simd/simd.h"
#include "backend/devices.h"
#include "backend/in_parallel.h"
#include "base/cores.h"
#include "base/threads.h"

namespace fovea {

Device make_cpu(int threads, bool batch_invariant) {
  const int count = std::min(threads > 0 ? threads : usable_cores(), kMostThreads);
  return Device(DeviceType::kCpu, heap_memory(),
                std::make_shared<const cpu::CpuBackend>(count, batch_invariant));
}

int host_threads(const Device& device) {
  const auto* host = dynamic_cast<const cpu::CpuBackend*>(&device.backend());
  return host == nullptr ? 0 : host->threads();
}

void in_parallel(const Device& device, std::int64_t pieces,
                 const std::function<void(std::int64_t)>& piece) {
  if (const auto* host = dynamic_cast<const cpu::CpuBackend*>(&device.backend()))
    return host->run(pieces, piece);
  for (std::int64_t i = 0; i < pieces; ++i) piece(i);
}

namespace cpu {

// Above this floor xtensor's linear algebra asks OpenBLAS, whose own division of a product changes
// the last bits with the number of threads.
CpuBackend::CpuBackend(int threads, bool batch_invariant)
    : pool_(threads), batch_invariant_(batch_invariant) {
  openblas_set_num_threads(1);
}

std::string CpuBackend::description() const {
  std::string text = fmt::format("cpu, {} threads, {}", pool_.threads(), simd::kernels().name);
  if (batch_invariant_) return text + " kernels, batch-invariant";
  if (simd::amx() != nullptr) text += " and amx";
  text += " kernels";
  return onednn::available() ? text + ", " + onednn::version() : text;
}

void CpuBackend::parallel(std::int64_t count, std::int64_t grain,
                          const std::function<void(std::int64_t, std::int64_t)>& body) const {
  const std::int64_t pieces = (count + grain - 1) / grain;
  pool_.run(pieces,
            [&](std::int64_t piece) { body(piece * grain, std::min(count, (piece + 1) * grain)); });
}

}  // namespace cpu
}  // namespace fovea
