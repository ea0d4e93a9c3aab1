#include "ops/losses/ctc_loss.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "autograd/graph.h"
#include "ops/elementwise.h"
#include "ops/shape.h"

namespace fovea::ops {
namespace {

using autograd::Gradients;
using autograd::Op;

constexpr double kImpossible = -std::numeric_limits<double>::infinity();  // log of 0

// m 2^(256 e), a probability that may be far below what a double holds: a path that is e^-1000
// times as likely as another may still be the only one that arrives. Without logarithms a step of
// the lattice is a few sums and products. e is a whole number; that of a 0 is so low that nothing
// is scaled down when it is added.
struct Probability {
  double m, e;

  static constexpr double kLogOfStep = 256 * 0.693147180559945309417;

  static constexpr Probability zero() { return {0, -std::numeric_limits<double>::max()}; }
  // exp(log_p), however small.
  static Probability from_log(double log_p) {
    if (log_p == kImpossible) return zero();
    if (std::isnan(log_p)) return {log_p, 0};
    const double e = std::nearbyint(log_p / kLogOfStep);
    // Of huge numbers the difference may be anything.
    const double rest = std::clamp(std::fma(-e, kLogOfStep, log_p), -kLogOfStep, kLogOfStep);
    return {std::exp(rest), e};
  }

  // Of results that are not above 1: as a double.
  double value() const { return in_steps(m, e); }
  double log() const { return m == 0 ? kImpossible : std::log(m) + e * kLogOfStep; }
  // The same with 2^-256 < m < 2^256, if it is within a step of that; a NaN stays one.
  Probability in_range() const {
    constexpr double kUp = 0x1p256, kDown = 0x1p-256;
    if (m > kDown && m < kUp) return *this;
    if (m == 0) return zero();
    if (std::isnan(m)) return {m, 0};
    return m < 1 ? Probability{m * kUp, e - 1} : Probability{m * kDown, e + 1};
  }
  Probability plus(const Probability& other) const {
    if (e == other.e) return {m + other.m, e};
    return e > other.e ? Probability{m + in_steps(other.m, other.e - e), e}
                       : Probability{in_steps(m, e - other.e) + other.m, other.e};
  }
  Probability times(const Probability& other) const {
    return Probability{m * other.m, e + other.e}.in_range();
  }

 private:
  // m 2^(256 e); so many steps up or down that the result is 0 or not of a probability are cut.
  static double in_steps(double m, double e) {
    return e == 0 ? m : std::ldexp(m, 256 * static_cast<int>(std::clamp(e, -8.0, 8.0)));
  }
};

// One sequence: the lattice of frames and of the target with blanks around every symbol.
template <class S>
class Lattice {
 public:
  Lattice(const S* logits, std::int64_t frames, std::int64_t symbols, const std::int64_t* target,
          std::int64_t length, std::int64_t blank)
      : frames_(frames), symbols_(symbols) {
    for (std::int64_t i = 0; i < length; ++i) {
      states_.push_back(blank);
      states_.push_back(target[i]);
    }
    states_.push_back(blank);
    for (std::int64_t s = 0; s < width(); ++s)
      skips_.push_back(s > 1 && s % 2 == 1 && of(states_, s) != of(states_, s - 2));
    normalise(logits);
    walk_forward();
  }

  /// -inf where no path gives the target.
  double log_likelihood() const { return likelihood().log(); }

  /// d(-log likelihood) / d(logits): softmax - share of the paths that are at a symbol.
  void gradient(S* to) const {
    // Of a likelihood of 0 infinity: then every share is NaN.
    const Probability total = likelihood(), inverse{1 / total.m, -total.e};
    // Two more than there are states: none behind the last is reached.
    std::vector<Probability> beta(states_.size(), Probability::zero()),
        next(states_.size() + 2, Probability::zero());
    std::vector<double> shares(static_cast<std::size_t>(symbols_));
    for (std::int64_t t = frames_ - 1; t >= 0; --t) {
      if (t == frames_ - 1) {
        for (std::int64_t s = std::max<std::int64_t>(0, width() - 2); s < width(); ++s)
          of(beta, s) = Probability{1, 0};
      } else {
        for (std::int64_t s = 0; s < width(); ++s) of(next, s) = of(beta, s).times(p(t + 1, s));
        for (std::int64_t s = 0; s < width(); ++s) {
          of(beta, s) = of(next, s).plus(of(next, s + 1));
          if (s + 2 < width() && of(skips_, s + 2)) of(beta, s) = of(beta, s).plus(of(next, s + 2));
        }
      }
      std::fill(shares.begin(), shares.end(), 0.0);
      for (std::int64_t s = 0; s < width(); ++s) {
        const Probability &a = alpha_[at(t, s)], &b = of(beta, s);
        of(shares, of(states_, s)) +=
            Probability{a.m * inverse.m * b.m, a.e + b.e + inverse.e}.value();
      }
      for (std::int64_t k = 0; k < symbols_; ++k) {
        to[t * symbols_ + k] = static_cast<S>(of(p_, t * symbols_ + k).value() - of(shares, k));
      }
    }
  }

 private:
  template <class List>
  static auto& of(List& list, std::int64_t i) {
    return list[static_cast<std::size_t>(i)];
  }
  std::int64_t width() const { return std::ssize(states_); }
  std::size_t at(std::int64_t t, std::int64_t s) const {
    return static_cast<std::size_t>(t * width() + s);
  }
  const Probability& p(std::int64_t t, std::int64_t s) const {
    return of(p_, t * symbols_ + of(states_, s));
  }

  Probability likelihood() const {
    const std::int64_t last = width() - 1;
    if (frames_ == 0) return last == 0 ? Probability{1, 0} : Probability::zero();
    const Probability* row = &alpha_[at(frames_ - 1, 0)];
    return last == 0 ? row[0] : row[last].plus(row[last - 1]);
  }

  void normalise(const S* logits) {
    constexpr double kSafe = 0x1p-128;  // of which exp() has all digits
    p_.resize(static_cast<std::size_t>(frames_ * symbols_));
    for (std::int64_t t = 0; t < frames_; ++t) {
      const S* row = logits + t * symbols_;
      Probability* to = &p_[static_cast<std::size_t>(t * symbols_)];
      const auto top = static_cast<double>(*std::max_element(row, row + symbols_));
      double sum = 0;
      for (std::int64_t k = 0; k < symbols_; ++k) {
        to[k] = {std::exp(static_cast<double>(row[k]) - top), 0};
        sum += to[k].m;
      }
      for (std::int64_t k = 0; k < symbols_; ++k) {
        if (to[k].m < kSafe) {
          to[k] = Probability::from_log(static_cast<double>(row[k]) - top - std::log(sum));
        } else {
          to[k].m /= sum;
        }
      }
    }
  }

  void walk_forward() {
    alpha_.assign(static_cast<std::size_t>(frames_ * width()), Probability::zero());
    for (std::int64_t s = 0; frames_ > 0 && s < std::min<std::int64_t>(2, width()); ++s)
      alpha_[at(0, s)] = p(0, s);
    for (std::int64_t t = 1; t < frames_; ++t) {
      const Probability* before = &alpha_[at(t - 1, 0)];
      Probability* now = &alpha_[at(t, 0)];
      for (std::int64_t s = 0; s < width(); ++s) {
        Probability sum = before[s];
        if (s > 0) sum = sum.plus(before[s - 1]);
        if (of(skips_, s)) sum = sum.plus(before[s - 2]);
        now[s] = sum.times(p(t, s));
      }
    }
  }

  std::int64_t frames_, symbols_;
  std::vector<std::int64_t> states_;
  std::vector<std::uint8_t> skips_;  // over the blank before it, which is not between equal symbols
  std::vector<Probability> p_;       // (frames, symbols): softmax
  std::vector<Probability> alpha_;   // (frames, states): all paths to a state
};

void check_ctc(const Tensor& logits, const Tensor& targets,
               const std::vector<std::int64_t>& input_lengths,
               const std::vector<std::int64_t>& target_lengths, const CtcOptions& options) {
  FOVEA_CHECK(logits.rank() == 3 &&
                  (logits.dtype() == DType::kFloat32 || logits.dtype() == DType::kFloat64),
              ShapeError,
              fmt::format("ctc_loss: logits are {} {}; expected (b, t, symbols) of float32 or "
                          "float64",
                          name_of(logits.dtype()), to_string(logits.shape())));
  const std::int64_t b = logits.size(0), t = logits.size(1), symbols = logits.size(2);
  FOVEA_CHECK(targets.rank() == 2 && targets.size(0) == b && targets.dtype() == DType::kInt64,
              ShapeError,
              fmt::format("ctc_loss: targets are {} {}; expected int64 ({}, s)",
                          name_of(targets.dtype()), to_string(targets.shape()), b));
  FOVEA_CHECK(options.blank >= 0 && options.blank < symbols, ShapeError,
              fmt::format("ctc_loss: blank is {}; expected 0 to {}", options.blank, symbols - 1));
  const auto check_lengths = [&](const char* what, const std::vector<std::int64_t>& lengths,
                                 std::int64_t most) {
    FOVEA_CHECK(std::ssize(lengths) == b, ShapeError,
                fmt::format("ctc_loss: {} lengths, {} each; expected {}", lengths.size(), what, b));
    for (const std::int64_t length : lengths)
      FOVEA_CHECK(length >= 0 && length <= most, ShapeError,
                  fmt::format("ctc_loss: {} length is {}; expected 0 to {}", what, length, most));
  };
  check_lengths("an input", input_lengths, t);
  check_lengths("a target", target_lengths, targets.size(1));
}

void check_symbols(const std::int64_t* target, std::int64_t length, std::int64_t symbols,
                   std::int64_t blank) {
  for (std::int64_t i = 0; i < length; ++i)
    FOVEA_CHECK(target[i] >= 0 && target[i] < symbols && target[i] != blank, ShapeError,
                fmt::format("ctc_loss: a target holds {}; expected 0 to {} and not the blank {}",
                            target[i], symbols - 1, blank));
}

}  // namespace

std::int64_t ctc_frames(const std::int64_t* target, std::int64_t length) {
  std::int64_t frames = length;
  for (std::int64_t i = 1; i < length; ++i) frames += target[i] == target[i - 1] ? 1 : 0;
  return frames;
}

// The gradient is made with the loss, of which it needs nearly all; backward scales it.
Tensor ctc_loss(const Tensor& logits, const Tensor& targets,
                const std::vector<std::int64_t>& input_lengths,
                const std::vector<std::int64_t>& target_lengths, const CtcOptions& options) {
  check_ctc(logits, targets, input_lengths, target_lengths, options);
  const std::int64_t b = logits.size(0), t = logits.size(1), symbols = logits.size(2);
  Op op("ctc_loss", {logits});
  Tensor loss = Tensor::empty({b}, logits.dtype(), logits.device());
  Tensor gradient = op.records() ? Tensor::empty_like(logits) : Tensor();
  if (logits.device().type() != DeviceType::kMeta) {
    const auto labels = targets.host_values<std::int64_t>();
    dispatch_float("ctc_loss", logits.dtype(), [&]<class S>(S) {
      const auto values = logits.host_values<S>();
      std::vector<S> losses, slopes(op.records() ? values.size() : 0, S{0});
      for (std::int64_t i = 0; i < b; ++i) {
        const auto n = static_cast<std::size_t>(i);
        const std::int64_t* target = labels.data() + i * targets.size(1);
        check_symbols(target, target_lengths[n], symbols, options.blank);
        const Lattice<S> lattice(values.data() + i * t * symbols, input_lengths[n], symbols, target,
                                 target_lengths[n], options.blank);
        const double likelihood = lattice.log_likelihood();
        const bool ignored = options.zero_infinity && likelihood == kImpossible;
        losses.push_back(static_cast<S>(ignored ? 0 : -likelihood));
        if (op.records() && !ignored) lattice.gradient(slopes.data() + i * t * symbols);
      }
      loss.upload(losses.data());
      if (op.records()) gradient.upload(slopes.data());
    });
  }
  return op.output(loss, [gradient, b](const Tensor& dloss, Gradients& in) {
    in.add(0, mul(gradient, reshape(dloss, {b, 1, 1})));
  });
}

}  // namespace fovea::ops
