#include "models/token_maps.h"

#include "ops/shape.h"

namespace fovea::models {

Tensor map_of(const Tensor& tokens, const nn::Grid& grid) {
  return ops::reshape(ops::transpose(tokens, 1, 2),
                      {tokens.size(0), tokens.size(2), grid.h, grid.w});
}

Tensor tokens_of(const Tensor& map) {
  return ops::transpose(ops::reshape(map, {map.size(0), map.size(1), map.size(2) * map.size(3)}), 1,
                        2);
}

}  // namespace fovea::models
