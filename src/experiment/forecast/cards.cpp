#include "experiment/forecast/cards.h"

#include <array>

namespace fovea::experiment {

// NVIDIA's data sheets of A100 (80 GB: June 2021, 40 GB: 2020), H100 and H200, each as SXM. Those
// of the latter two give tensor cores with sparsity, twice what is here.
std::span<const Card> cards() {
  static const std::array<Card, 4> table{{
      {"a100-40g", 19.5, 156, 312, 1.555e12, 40e9},
      {"a100", 19.5, 156, 312, 2.039e12, 80e9},
      {"h100", 67, 494.5, 989.5, 3.35e12, 80e9},
      {"h200", 67, 494.5, 989.5, 4.8e12, 141e9},
  }};
  return table;
}

}  // namespace fovea::experiment
