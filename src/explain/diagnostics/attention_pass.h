// What the attentions and blocks of a network did with inputs, sample by sample, as diagnostics
// look at them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attention/probe.h"
#include "explain/diagnostics/map_diagnostics.h"
#include "explain/maps/token_map.h"
#include "models/model.h"

namespace fovea::explain {

/// The tokens of one sample behind a block: patches or words and the class token, no registers and
/// no padding.
struct SeenTokens {
  std::int64_t n = 0;
  std::vector<double> values;  // (n, dim)
};

class AttentionPass {
 public:
  struct Wanted {
    bool maps = true;
    bool distances = true;  // maps know how far keys are
    bool tokens = true;
  };
  /// Runs the network on inputs (b, ...) of its interface, as it evaluates. Attention over layers,
  /// not tokens, is left out.
  AttentionPass(models::Model& model, const Tensor& inputs, const Wanted& wanted);

  std::int64_t batch() const { return batch_; }
  /// Attentions by their modules, "blocks.0.attn", and blocks that hand on tokens, "blocks.0"; in
  /// order of the network.
  std::vector<std::string> attentions() const;
  std::vector<std::string> blocks() const;
  /// What the attention or block with that number in these did with a sample. What it refers to
  /// lives as long as this.
  LayerMap map(std::size_t attention, std::int64_t item) const;
  SeenTokens tokens(std::size_t block, std::int64_t item) const;

 private:
  struct Attention {
    attention::Probe::Record map;
    Tensor positive, negative;      // of a map that is a difference
    GridSize grid = {};             // of its tokens behind the prefix; nothing where there is none
    std::vector<double> distances;  // LayerMap
  };
  void read(const attention::Probe& probe);
  void measure_distances(Attention& one) const;
  // Which tokens of a text count, those of the prefix too; empty: all.
  std::vector<std::uint8_t> valid_of(std::int64_t item, std::int64_t prefix) const;

  std::int64_t batch_ = 0;
  attention::Context layout_;
  double height_ = 0, width_ = 0;    // of images; 0: of none
  std::vector<std::uint8_t> words_;  // (b, n): which tokens of texts are words; empty: all
  std::vector<Attention> attentions_;
  std::vector<attention::Probe::Record> blocks_;
};

}  // namespace fovea::explain
