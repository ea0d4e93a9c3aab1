// What recorded attentions added up: their values, and the way from their results to the outputs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "explain/maps/token_map.h"
#include "explain/maps/values.h"
#include "explain/recorded.h"

namespace fovea::explain {

/// The values of a layer that sees all tokens, of the valid ones of a sample. Throws ConfigError,
/// naming `method`, for windows and reduced keys, and where more than a norm and a projection
/// stands between the result and the output.
HeadValues head_values_of(const Subject& subject, const RecordedLayer& layer, std::int64_t item,
                          const std::string& method);

/// What `weigh` makes of the values of a layer of any kind, as weights of its tokens for its keys;
/// of windows it is asked for each alone. Throws ConfigError likewise.
TokenMap value_map_of(const RecordedLayer& layer, std::int64_t item,
                      const std::function<Matrix(const HeadValues&)>& weigh,
                      const std::string& method);

}  // namespace fovea::explain
