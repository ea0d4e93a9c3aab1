// Feed-forward networks of an encoder block, as a registry: {"type": "mlp" | "swiglu" | "mix_ffn" |
// "gated_mix_ffn", ...}. dgsa 2.5, PVTv2, gdla 2.11.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "nn/module.h"
#include "schema/describe/description.h"

namespace fovea::nn {

/// The grid that tokens lie on, row by row, behind `prefix` other tokens; 0: no grid.
struct Grid {
  std::int64_t h = 0, w = 0;
  std::int64_t prefix = 0;
};

/// (b, n, dim) -> (b, n, dim).
class FeedForward : public UnaryModule {
 public:
  using UnaryModule::operator();
  /// Lets go of x, which may be large, after reading it last.
  Tensor operator()(Tensor x, const Grid& grid) {
    const auto scope = enter();
    return autograd::hooked(forward(std::move(x), grid));
  }

 protected:
  Tensor forward(const Tensor& x) final { return forward(x, Grid{}); }
  virtual Tensor forward(Tensor x, const Grid& grid) = 0;
};

/// A network of the registry. `drop_rate` is the probability at the dropout sites that the options
/// name. Throws ConfigError for bad options.
std::unique_ptr<FeedForward> make_ffn(const schema::Component& component, const Build& build,
                                      std::int64_t dim, double drop_rate);

/// The registry for schemas and listings.
schema::Choices ffn_choices();

}  // namespace fovea::nn
