// The differences between a file of weights and a network, as one sentence with advice.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "nn/weights.h"

namespace fovea::nn {

/// Collects differences of the tensors of a file and those of a network.
class WeightsDifferences {
 public:
  using Tensors = std::map<std::string, Tensor>;
  /// The arguments are used until throw_if_any().
  WeightsDifferences(const Tensors& own, const Tensors& given, const LoadOptions& options);

  void missing(const std::string& name);
  void other_shape(const std::string& name);
  void left_over(const std::string& name);

  /// Throws FileError if anything differs. It never advises to leave most of a network at random
  /// numbers.
  void throw_if_any(const std::string& file) const;

 private:
  bool fits(const std::string& name) const;
  std::string pattern_for(const std::string& name) const;
  void add(std::vector<std::string>& patterns, const std::string& name, std::string sentence);
  std::string advice() const;
  std::string other_network() const;
  std::string prefix_to_strip() const;

  const Tensors& own_;
  const Tensors& given_;
  const LoadOptions& options_;
  std::vector<std::string> own_names_;
  std::vector<std::string> sentences_;
  std::vector<std::string> to_leave_random_, to_leave_out_;  // patterns
  std::vector<std::string> missing_, left_over_;
  std::size_t without_value_ = 0;  // tensors of the network
  bool positions_differ_ = false;
};

}  // namespace fovea::nn
