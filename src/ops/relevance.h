// The rules by which relevance flows back through operations in place of gradients
// (autograd::Rule). Operations ask here while they are recorded. Parameters must not require
// gradients then: a product with one that does would count as a product of two computed tensors.
#pragma once

#include "autograd/mode.h"
#include "ops/attention/attention.h"
#include "tensor/tensor.h"

namespace fovea::ops::relevance {

/// Whether operations are recorded with a rule other than the gradient.
inline bool applies() { return autograd::mode().rule != autograd::Rule::kGradient; }

/// What a factor of the product a b gets of its gradient: half, where both are computed.
double share_of_product(const Tensor& a, const Tensor& b);

/// The rule of a function of an element, dy/dx = y / (x + 1e-10), in place of its derivative.
Tensor by_ratio(const char* name, const Tensor& x, const Tensor& y);

/// dx of a norm over the last axis whose statistics rstd (...) are constants; the mean is not,
/// where the norm subtracts it.
Tensor through_norm(const Tensor& dy, const Tensor& weight, const Tensor& rstd, bool centred);

/// Queries, keys and values as an attention reads them under the rule: of A v each factor gets
/// half, of q k^T too, and of a map times coefficients that are computed as well. CP-LRP: maps are
/// constants.
struct Attended {
  HeadView q, k, v;
};
Attended attended(const HeadView& q, const HeadView& k, const HeadView& v, bool gated = false);
/// A coefficient of a map.
Tensor coefficient(const Tensor& c);

/// Throws ConfigError under a rule, for operations that have none.
void refuse(const char* op);

}  // namespace fovea::ops::relevance
