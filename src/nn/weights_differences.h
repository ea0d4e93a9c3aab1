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
  // What is said of tensors whose names differ in the numbers of blocks alone.
  struct Sentence {
    std::string first;    // name
    std::string pattern;  // of all of them: "blocks.*.ls1.gamma"
    std::string said;     // "missing"
    std::string hint;     // behind it
    std::size_t count = 0;
  };

  bool fits(const std::string& name) const;
  bool takes_what_fits(const std::string& pattern) const;
  std::string pattern_for(const std::string& name) const;
  void say(const std::string& name, const std::string& said, const std::string& hint = "");
  void advise(std::vector<std::string>& patterns, const std::string& name) const;
  std::vector<std::string> of_all_blocks(const std::vector<std::string>& patterns) const;
  std::string advice() const;
  std::string other_network() const;
  std::string prefix_to_strip() const;

  const Tensors& own_;
  const Tensors& given_;
  const LoadOptions& options_;
  std::vector<std::string> own_names_;
  std::vector<Sentence> sentences_;
  std::size_t differ_ = 0;                                   // tensors
  std::vector<std::string> to_leave_random_, to_leave_out_;  // patterns
  std::vector<std::string> missing_, left_over_;
  std::size_t without_value_ = 0;  // tensors of the network
  bool positions_differ_ = false;
};

}  // namespace fovea::nn
