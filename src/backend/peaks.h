// What the processor reaches at most, measured: the roofs of a roofline.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensor/device.h"
#include "tensor/dtype.h"

namespace fovea {

/// Operations a second of products, of all threads; a multiply-add is two.
struct ProductPeak {
  double registers = 0;  // multiply-adds of numbers that are in registers already
  double gemm = 0;       // the backend's product of large square matrices
  double best() const { return registers > gemm ? registers : gemm; }
};

/// Bytes a second of all threads that pass over what a level of memory holds; of copies, bytes read
/// and written together.
struct MemoryPeak {
  std::string name;        // "L1", "L2", "L3", "memory"
  std::int64_t bytes = 0;  // that it holds of all threads together; 0 for memory
  double read = 0, write = 0, copy = 0;
  double stream_write = 0, stream_copy = 0;  // the same past the caches
};

struct Peaks {
  std::string processor;  // "AMD EPYC, family 25, model 1"
  std::string backend;    // its description: threads, instruction set, libraries
  ProductPeak float32, bfloat16, float64;
  std::vector<MemoryPeak> levels;  // the smallest first, memory last

  const ProductPeak& of(DType dtype) const {
    return dtype == DType::kBFloat16 ? bfloat16 : dtype == DType::kFloat64 ? float64 : float32;
  }
};

/// What peaks depend on, without a number measured. Throws BackendError unless the device is the
/// host.
Peaks unmeasured_peaks(const Device& device);

/// Measures for some seconds, with all threads of the device; of many short repetitions the fastest
/// counts, so that other programs disturb little. Throws as unmeasured_peaks().
Peaks measure_peaks(const Device& device);

/// What products in the first-level cache reach in float32 at this moment, in the unit of
/// ProductPeak: a mean over some milliseconds. Much less than the peak in registers where another
/// thread uses the same core (products need more of it than multiply-adds alone), or where its
/// clock is low. Throws as unmeasured_peaks().
double present_float32_rate(const Device& device);

}  // namespace fovea
