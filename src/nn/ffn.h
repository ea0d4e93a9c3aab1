// Feed-forward networks of an encoder block, as a registry: {"type": "mlp" | "swiglu", ...}.
// dgsa 2.5.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "nn/module.h"
#include "schema/description.h"

namespace fovea::nn {

/// A network of the registry. `drop_rate` is the probability at the dropout sites that the options
/// name. Throws ConfigError for bad options.
std::unique_ptr<UnaryModule> make_ffn(const schema::Component& component, const Build& build,
                                      std::int64_t dim, double drop_rate);

/// The registry for schemas and listings.
schema::Choices ffn_choices();

}  // namespace fovea::nn
