// What graphics processors can do at most, by their makers' data sheets.
#pragma once

#include <span>
#include <string>

namespace fovea::experiment {

/// Peaks without sparsity, in 1e12 operations a second (a multiply-add is two).
struct Card {
  std::string name;  // as in card=h100
  double float32 = 0;
  double tf32 = 0;              // products of float32 on tensor cores
  double bfloat16 = 0;          // on tensor cores
  double memory_bandwidth = 0;  // bytes a second
  double memory = 0;            // bytes
};

std::span<const Card> cards();

}  // namespace fovea::experiment
