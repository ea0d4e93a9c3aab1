// The spectrum of short real signals.
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

namespace fovea::data {

/// Fourier transforms of n real numbers, n a power of two.
class RealFft {
 public:
  /// Throws ConfigError unless n is a power of two, 2 or more.
  explicit RealFft(std::int64_t n);
  std::int64_t size() const { return n_; }
  /// Numbers of a spectrum: frequencies 0 to n / 2.
  std::int64_t bins() const { return n_ / 2 + 1; }
  /// |X_k|^2 of X_k = sum_i x_i exp(-2 pi i k i / n): x has n numbers, `power` takes bins().
  /// `scratch` is memory that calls share.
  void power(const double* x, double* power, std::vector<std::complex<double>>& scratch) const;

 private:
  std::int64_t n_;
  std::vector<std::complex<double>> turns_;  // exp(-2 pi i k / n), k below n / 2
  std::vector<std::int64_t> order_;          // of n / 2 complex numbers, bits reversed
};

}  // namespace fovea::data
