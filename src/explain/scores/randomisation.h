// What is left of an explanation when the network's parameters are made random: MPRT (Adebayo et
// al., Sanity checks for saliency maps, 2018) and eMPRT (Hedstrom et al., 2024). explain B.8.
#pragma once

#include <string>

#include "explain/scores/score.h"
#include "nn/module.h"

namespace fovea::explain {

/// Spearman's rank correlation; equal values share the mean of their ranks. NaN for constant
/// values. Throws ShapeError unless both are as long.
double rank_correlation(std::span<const double> a, std::span<const double> b);

/// The entropy, in nats, of the histogram of the values in `bins` equal bins from the least to the
/// largest; the last bin is closed. 0 for constant values.
double histogram_entropy(std::span<const double> values, std::int64_t bins);

/// The relative rise of complexity, (after - before) / before; NaN where `before` is 0.
double complexity_rise(double before, double after);

/// Which parameters are random at a step.
enum class RandomOrder {
  kTopDown,      // the last k modules
  kBottomUp,     // the first k modules
  kIndependent,  // the k-th module from the first, alone
};

/// Steps to make a network random: one for each module with own parameters, in order of
/// construction.
class Randomisation {
 public:
  /// `fresh`: a network of the same kind as its initialiser makes it. Both must outlive this.
  /// Throws ShapeError where their parameters differ.
  Randomisation(nn::Module& network, const nn::Module& fresh, RandomOrder order);

  std::int64_t steps() const { return std::ssize(modules_); }
  /// The network after step k = 1 ... steps(); 0 is the intact one.
  void set(std::int64_t k);
  /// The module that step k makes random.
  const std::string& module_of(std::int64_t k) const;
  /// The intact network again.
  ~Randomisation();
  Randomisation(const Randomisation&) = delete;
  Randomisation& operator=(const Randomisation&) = delete;

 private:
  struct Parameter {
    Tensor current, intact, fresh;
  };
  struct OwnParameters {
    std::string module;
    std::vector<Parameter> parameters;
  };
  std::size_t index_of(std::int64_t k) const;

  std::vector<OwnParameters> modules_;
  RandomOrder order_;
};

}  // namespace fovea::explain
