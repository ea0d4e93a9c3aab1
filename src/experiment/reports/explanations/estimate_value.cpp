#include "experiment/reports/explanations/estimate_value.h"

#include <cmath>

namespace fovea::experiment {

using schema::Value;

Value number_value(double value) { return std::isfinite(value) ? Value(value) : Value(); }

Value estimate_value(const metrics::Estimate& e) {
  return Value::object({{"n", e.n},
                        {"mean", number_value(e.mean)},
                        {"low", number_value(e.low)},
                        {"high", number_value(e.high)}});
}

}  // namespace fovea::experiment
