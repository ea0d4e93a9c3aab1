// Records what happens inside an attention, for visualisation and tests.
#pragma once

#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace fovea::attention {

/// Handed down in Context. A variant that sees a probe also computes its maps in the composed form
/// and records them; what it returns does not change.
class Probe {
 public:
  Probe() = default;
  /// keep_graph: records stay in the graph, so that tests can differentiate what was seen.
  explicit Probe(bool keep_graph) : keep_graph_(keep_graph) {}

  /// Queries whose rows of a map are wanted: `count` of them from `first` on, all others for -1.
  struct Queries {
    std::int64_t first = 0, count = -1;
  };
  /// Attentions whose maps are made row by row record no other rows; the rest record all.
  void only(Queries queries) { queries_ = queries; }
  Queries queries() const { return queries_; }

  struct Record {
    std::string module;  // "blocks.0.attn"
    // "attn": the map (b, heads, n, n); others by variant, e.g. "gate". Networks add "features",
    // what a block or stage hands on: tokens (b, n, dim) or a map (b, c, h, w).
    std::string name;
    Tensor value;
  };

  /// Records under the module that is running.
  void record(const std::string& name, const Tensor& value);
  const std::vector<Record>& records() const { return records_; }
  /// All records of one name, in order of layers.
  std::vector<Tensor> all(const std::string& name) const;
  void clear() { records_.clear(); }

 private:
  bool keep_graph_ = false;
  Queries queries_;
  std::vector<Record> records_;
};

}  // namespace fovea::attention
