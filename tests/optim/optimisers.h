// Optimisers as experiment files name them, and parameters for them.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "optim/registry.h"
#include "schema/json/parse.h"
#include "tests/support/tensors.h"

namespace fovea::test {

inline std::unique_ptr<optim::Optimiser> make_optimiser(const std::string& json,
                                                        std::vector<optim::Parameter> parameters) {
  const schema::Value value = schema::parse(json, "test");
  return optim::make_optimiser({value.at("type").as_string(), value}, std::move(parameters));
}

inline optim::Parameter named(const std::string& name, const std::vector<double>& values,
                              const Shape& shape) {
  return {name, trainable(Tensor::from(values, shape, cpu()))};
}

inline void set_gradient(const optim::Parameter& parameter, const std::vector<double>& values) {
  parameter.tensor.set_grad(Tensor::from(values, parameter.tensor.shape(), cpu()));
}

}  // namespace fovea::test
