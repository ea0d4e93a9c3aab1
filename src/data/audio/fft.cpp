#include "data/audio/fft.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "base/error.h"

namespace fovea::data {

RealFft::RealFft(std::int64_t n) : n_(n) {
  FOVEA_CHECK(n >= 2 && (n & (n - 1)) == 0, ConfigError,
              fmt::format("fft: {} points; expected a power of two, 2 or more", n));
  const std::int64_t half = n / 2;
  for (std::int64_t k = 0; k < half; ++k)
    turns_.push_back(
        std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n)));
  order_.assign(static_cast<std::size_t>(half), 0);
  for (std::int64_t i = 1; i < half; ++i)
    order_[static_cast<std::size_t>(i)] =
        order_[static_cast<std::size_t>(i / 2)] / 2 + (i % 2 == 1 ? half / 2 : 0);
}

// Even and odd numbers go through one complex transform of half the length (radix 2, in place).
void RealFft::power(const double* x, double* power,
                    std::vector<std::complex<double>>& scratch) const {
  const std::int64_t half = n_ / 2;
  scratch.resize(static_cast<std::size_t>(half));
  std::complex<double>* z = scratch.data();
  for (std::int64_t i = 0; i < half; ++i) {
    const std::int64_t from = order_[static_cast<std::size_t>(i)];
    z[i] = {x[2 * from], x[2 * from + 1]};
  }
  for (std::int64_t span = 1; span < half; span *= 2) {
    const std::int64_t step = half / span;  // of turns_, whose circle has n places
    for (std::int64_t first = 0; first < half; first += 2 * span) {
      for (std::int64_t i = 0; i < span; ++i) {
        const std::complex<double>& turn = turns_[static_cast<std::size_t>(i * step)];
        const std::complex<double> a = z[first + i], b = z[first + span + i];
        // (operator* of complex numbers also asks for infinities.)
        const std::complex<double> c(turn.real() * b.real() - turn.imag() * b.imag(),
                                     turn.real() * b.imag() + turn.imag() * b.real());
        z[first + i] = a + c;
        z[first + span + i] = a - c;
      }
    }
  }
  for (std::int64_t k = 0; k <= half; ++k) {
    const std::complex<double> a = z[k % half], b = std::conj(z[(half - k) % half]);
    const std::complex<double> even = 0.5 * (a + b), twisted = 0.5 * (a - b);
    const std::complex<double> odd(twisted.imag(), -twisted.real());
    const std::complex<double> turn =
        k == half ? std::complex<double>(-1, 0) : turns_[static_cast<std::size_t>(k)];
    power[k] =
        std::norm(even + std::complex<double>(turn.real() * odd.real() - turn.imag() * odd.imag(),
                                              turn.real() * odd.imag() + turn.imag() * odd.real()));
  }
}

}  // namespace fovea::data
