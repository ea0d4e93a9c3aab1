#include "ops/losses/ctc_loss.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "autograd/graph.h"
#include "ops/elementwise.h"
#include "ops/shape.h"

namespace fovea::ops {
namespace {

using autograd::Gradients;
using autograd::Op;

constexpr double kNever = -std::numeric_limits<double>::infinity();  // log of 0

// log(exp(a) + exp(b)); a NaN stays one.
double log_add(double a, double b) {
  if (a == kNever) return b;
  if (b == kNever) return a;
  const double high = a > b ? a : b, low = a > b ? b : a;
  return high + std::log1p(std::exp(low - high));
}

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
    normalise(logits);
    walk_forward();
  }

  /// -inf where no path gives the target.
  double log_likelihood() const {
    const std::int64_t last = width() - 1;
    if (frames_ == 0) return last == 0 ? 0 : kNever;
    const double* row = &alpha_[at(frames_ - 1, 0)];
    return last == 0 ? row[0] : log_add(row[last], row[last - 1]);
  }

  /// d(-log likelihood) / d(logits): softmax - share of the paths that are at a symbol.
  void gradient(S* to) const {
    const double total = log_likelihood();
    std::vector<double> beta(states_.size(), kNever), next(states_.size());
    std::vector<double> shares(static_cast<std::size_t>(symbols_));
    for (std::int64_t t = frames_ - 1; t >= 0; --t) {
      if (t == frames_ - 1) {
        for (std::int64_t s = std::max<std::int64_t>(0, width() - 2); s < width(); ++s)
          of(beta, s) = 0;
      } else {
        for (std::int64_t s = 0; s < width(); ++s) of(next, s) = of(beta, s) + log_p(t + 1, s);
        for (std::int64_t s = 0; s < width(); ++s) {
          double sum = of(next, s);
          if (s + 1 < width()) sum = log_add(sum, of(next, s + 1));
          if (s + 2 < width() && may_skip_to(s + 2)) sum = log_add(sum, of(next, s + 2));
          of(beta, s) = sum;
        }
      }
      std::fill(shares.begin(), shares.end(), 0.0);
      for (std::int64_t s = 0; s < width(); ++s)
        of(shares, of(states_, s)) += std::exp(alpha_[at(t, s)] + of(beta, s) - total);
      const double* logs = &logs_[static_cast<std::size_t>(t * symbols_)];
      for (std::int64_t k = 0; k < symbols_; ++k)
        to[t * symbols_ + k] = static_cast<S>(std::exp(logs[k]) - of(shares, k));
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
  double log_p(std::int64_t t, std::int64_t s) const {
    return of(logs_, t * symbols_ + of(states_, s));
  }
  // Over the blank before a symbol that is not the one before that blank.
  bool may_skip_to(std::int64_t s) const {
    return s % 2 == 1 && of(states_, s) != of(states_, s - 2);
  }

  void normalise(const S* logits) {
    logs_.resize(static_cast<std::size_t>(frames_ * symbols_));
    for (std::int64_t t = 0; t < frames_; ++t) {
      const S* row = logits + t * symbols_;
      double* to = &logs_[static_cast<std::size_t>(t * symbols_)];
      const auto top = static_cast<double>(*std::max_element(row, row + symbols_));
      double sum = 0;
      for (std::int64_t k = 0; k < symbols_; ++k)
        sum += std::exp(static_cast<double>(row[k]) - top);
      const double log_sum = top + std::log(sum);
      for (std::int64_t k = 0; k < symbols_; ++k) to[k] = static_cast<double>(row[k]) - log_sum;
    }
  }

  void walk_forward() {
    alpha_.assign(static_cast<std::size_t>(frames_ * width()), kNever);
    for (std::int64_t s = 0; frames_ > 0 && s < std::min<std::int64_t>(2, width()); ++s)
      alpha_[at(0, s)] = log_p(0, s);
    for (std::int64_t t = 1; t < frames_; ++t) {
      const double* before = &alpha_[at(t - 1, 0)];
      double* now = &alpha_[at(t, 0)];
      for (std::int64_t s = 0; s < width(); ++s) {
        double sum = before[s];
        if (s > 0) sum = log_add(sum, before[s - 1]);
        if (s > 1 && may_skip_to(s)) sum = log_add(sum, before[s - 2]);
        now[s] = sum + log_p(t, s);
      }
    }
  }

  std::int64_t frames_, symbols_;
  std::vector<std::int64_t> states_;
  std::vector<double> logs_;   // (frames, symbols): log softmax
  std::vector<double> alpha_;  // (frames, states): log of all paths to a state
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
      FOVEA_CHECK(
          length >= 0 && length <= most, ShapeError,
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
        const bool ignored = options.zero_infinity && likelihood == kNever;
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
