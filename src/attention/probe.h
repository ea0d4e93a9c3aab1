// Records what happens inside an attention, for visualisation and tests.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace fovea::attention {

/// Passed in Context. A variant with a probe also computes its maps in the composed form and
/// records them; its result does not change.
class Probe {
 public:
  Probe() = default;
  /// keep_graph: records stay in the graph, so that tests can differentiate them.
  explicit Probe(bool keep_graph) : keep_graph_(keep_graph) {}

  /// A place of the image, from 0 at its top and left to 1 at its bottom and right.
  struct Place {
    double y = 0, x = 0;
  };
  /// Of maps over a grid, computes and records only the row of the token that covers this place,
  /// except for grids of at most `whole_up_to` tokens. Without this call maps are recorded as a
  /// whole.
  void only(Place place, std::int64_t whole_up_to = 0) {
    place_ = place;
    whole_up_to_ = whole_up_to;
  }
  /// No maps of attention; everything else.
  void without_maps() { maps_ = false; }
  bool wants_maps() const { return maps_; }
  /// Also the queries and keys (b, heads, n, head_dim) of linear attentions and their kin, before
  /// positions are rotated in.
  void with_queries_and_keys() { queries_and_keys_ = true; }
  bool wants_queries_and_keys() const { return queries_and_keys_; }

  /// Also what attentions did with their maps (attended()).
  void with_values() { values_ = true; }
  bool wants_values() const { return values_; }

  /// The rows to record of a map whose tokens are `prefix_tokens` and behind them the grid: `count`
  /// from `first` on; -1: all.
  struct Rows {
    std::int64_t first = 0, count = -1;
  };
  Rows rows(std::int64_t prefix_tokens, std::int64_t grid_h, std::int64_t grid_w) const;

  struct Record {
    std::string module;  // "blocks.0.attn"
    // "attn": the map (b, heads, rows, n), "reduced_attn" that of fewer keys, "unit_attn" those of
    // units (b, heads, units, members, members), of the tokens below and 0 where a unit has fewer;
    // "queries" and "keys" where asked for; others by variant, e.g. "gate". Networks add
    // "features", what a block or stage hands on: tokens (b, n, dim) or a map (b, c, h, w), of
    // volumes (b, c, d, h, w).
    std::string name;
    Tensor value;
    Tensor tokens = {};      // of maps of units: (units, members) int64, -1 = padding or none
    bool is_signed = false;  // a map of weights that may be negative
  };

  /// The way from the heads' results u to the output of an attention: per head an RMS norm with
  /// this weight, and a factor; then the output projection. Weights are undefined where there are
  /// none, or something else stands between.
  struct Behind {
    Tensor proj = {};  // (dim, heads * width)
    bool norm = false;
    Tensor norm_weight = {};  // (width)
    double norm_eps = 0, factor = 1;
  };
  /// What an attention did with the map "attn" (or "reduced_attn", "unit_attn") of the same module:
  /// u = A v.
  struct Attended {
    std::string module;
    Tensor values;                     // v (b, heads, keys, width), repeated where heads share them
    Tensor result;                     // u (b, n, heads * width)
    std::shared_ptr<Tensor> gradient;  // of u: defined after backward, if it depends on u
    Behind behind;
    // In place of values, result and gradient those of windows, which an attention sees as samples:
    // (b windows, ...) for every size of window, in the order of the tokens below.
    std::vector<Attended> windows = {};
    Tensor tokens = {};  // (windows, members) int64, -1 behind the tokens of smaller ones
  };
  /// Records values and result of the module that is running, where values are wanted, and returns
  /// u, whose gradient the record will get.
  Tensor attended(const Tensor& u, const std::function<Tensor()>& values, const Behind& behind);
  /// Records what an attention did in windows, each size of them recorded by a probe of its own.
  void attended_in_windows(std::vector<Attended> windows, const Tensor& tokens);
  const std::vector<Attended>& attended() const { return attended_; }

  /// Records for the module that is running, or for a part of it: "stages.0".
  void record(const std::string& name, const Tensor& value, const std::string& part = "");
  /// A map "attn" of an attention whose weights may be negative (MapKind::kSigned).
  void record_signed(const Tensor& map);
  /// Maps of units, and which tokens are in them, for a part of the module that is running.
  void record_units(const Tensor& maps, const Tensor& tokens, bool is_signed = false,
                    const std::string& part = "");
  const std::vector<Record>& records() const { return records_; }
  /// All records of one name, in order of layers.
  std::vector<Tensor> all(const std::string& name) const;
  void clear() {
    records_.clear();
    attended_.clear();
  }

 private:
  bool keep_graph_ = false;
  bool maps_ = true;
  bool queries_and_keys_ = false;
  bool values_ = false;
  std::optional<Place> place_;
  std::int64_t whole_up_to_ = 0;  // tokens
  std::vector<Record> records_;
  std::vector<Attended> attended_;
};

}  // namespace fovea::attention
