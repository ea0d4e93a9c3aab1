// Operations on a batch of 0 and on empty lists: what the table of them is made of.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "ops/attention/attention.h"
#include "ops/batch_statistics.h"
#include "ops/create.h"
#include "ops/norm.h"
#include "tests/support/tensors.h"

namespace fovea::test {

using Inputs = std::vector<Tensor>;

// Data are made in the dtype of the walk, parameters in the one it computes in.
struct Case {
  std::string name;  // of the operation, and where there are several what is special
  std::vector<Shape> data, parameters;
  std::function<Tensor(const Inputs&)> run;  // data first
  Shape result;
  bool stored = true;  // takes bfloat16
};

inline Tensor flags(const Shape& shape) { return ops::zeros(shape, DType::kUint8, cpu()); }
inline Tensor indices(const Shape& shape) { return ops::zeros(shape, DType::kInt64, cpu()); }
inline ops::HeadView view(const Tensor& x, std::int64_t first) {
  return ops::heads(x, 2, 2, first, 2);
}

inline ops::BatchNorm norm_of(const Tensor& weight, const Tensor& bias, bool training) {
  return {weight, bias, ops::zeros_like(weight), ops::ones_like(weight), training};
}

/// A shared batch of which this process holds all.
inline const ops::SharedBatch& whole_batch() {
  static const ops::SharedBatch batch{
      [](const std::vector<double>& own) { return std::vector<std::vector<double>>{own}; }};
  return batch;
}

/// Names of the functions that headers of operations declare.
std::set<std::string> declared_operations();

// The table.
std::vector<Case> shape_cases();
std::vector<Case> elementwise_cases();
std::vector<Case> reduction_cases();
std::vector<Case> detection_cases();
std::vector<Case> network_cases();
/// On n tokens an item, b items: one of both is 0. `what` follows the names of the operations.
std::vector<Case> token_cases(const std::string& what, std::int64_t b, std::int64_t n);
/// Lists of nothing in a batch that is not empty.
std::vector<Case> list_cases();

inline std::vector<Case> all_cases() {
  std::vector<Case> all = token_cases("", 0, 3);
  for (Case& one : token_cases(" of no tokens", 2, 0)) all.push_back(std::move(one));
  for (auto* part : {shape_cases, elementwise_cases, reduction_cases, detection_cases,
                     network_cases, list_cases}) {
    for (Case& one : part()) all.push_back(std::move(one));
  }
  return all;
}

}  // namespace fovea::test
