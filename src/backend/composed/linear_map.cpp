#include "backend/composed/linear_map.h"
#include "tensor/host.h"

#include <limits>
#include <vector>

namespace fovea::composed {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Tensor features(FeatureMap map, const Tensor& x) {
  switch (map) {
    case FeatureMap::kRelu:
      return unary(UnaryOp::kRelu, x);
    case FeatureMap::kExp:
      return unary(UnaryOp::kExp, x);
    case FeatureMap::kEluPlusOne: {
      // exp(x) itself below 0: elu(x) + 1 would lose the digits of small values.
      const Tensor below = unary(UnaryOp::kClamp, x, {-kInfinity, 0});
      return add(unary(UnaryOp::kRelu, x), unary(UnaryOp::kExp, below));
    }
    default:
      return x;
  }
}

// From the gradient of phi(x) to that of x, by the slope as a function of phi.
Tensor through(FeatureMap map, const Tensor& phi, const Tensor& gradient) {
  switch (map) {
    case FeatureMap::kRelu:
      return where(compare(BinaryOp::kGreater, phi, 0), gradient, 0);
    case FeatureMap::kExp:
      return mul(gradient, phi);
    case FeatureMap::kEluPlusOne:
      return mul(gradient, unary(UnaryOp::kClamp, phi, {-kInfinity, 1}));
    default:
      return gradient;
  }
}

// (n, n): 1 on the diagonal and left of it.
Tensor lower_triangle(std::int64_t n, const Tensor& like) {
  std::vector<double> ones(static_cast<std::size_t>(n * n), 0.0);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j <= i; ++j) ones[static_cast<std::size_t>(i * n + j)] = 1;
  }
  return from_doubles(ones, {1, 1, n, n}, like.dtype(), like.device());
}

// For every query its number from 1: (1, 1, n, 1).
Tensor counted(std::int64_t n, const Tensor& like) {
  std::vector<double> numbers;
  for (std::int64_t i = 1; i <= n; ++i) numbers.push_back(static_cast<double>(i));
  return from_doubles(numbers, {1, 1, n, 1}, like.dtype(), like.device());
}

Tensor over_tokens(const Tensor& x) {
  return reduce(ReduceOp::kSum, x, {x.size(0), x.size(1), 1, x.size(3)});
}

// One matrix for all heads.
Tensor for_all_heads(const Tensor& matrix, const Tensor& like) {
  return mul(matrix, filled({like.size(0), like.size(1), 1, 1}, 1, like.dtype(), like.device()));
}

}  // namespace

Tensor rotated(bool back, const Tensor& x, const Tensor& cos, const Tensor& sin) {
  const std::int64_t pairs = cos.size(1);
  const std::int64_t n = cos.size(0);
  const bool heads_first = x.rank() == 4;  // (b, heads, n, 2 pairs)
  const Shape shape = heads_first ? Shape{x.size(0), x.size(1), n, pairs}
                                  : Shape{x.size(0), n, x.size(2) / (2 * pairs), pairs};
  const Shape angles = heads_first ? Shape{1, 1, n, pairs} : Shape{1, n, 1, pairs};
  const Tensor flat = x.alias({x.numel() / 2, 2});
  const Tensor a = columns(flat, 0, 1).alias(shape);
  const Tensor b = columns(flat, 1, 1).alias(shape);
  const Tensor c = cos.alias(angles);
  const Tensor s = back ? affine(sin.alias(angles), -1) : sin.alias(angles);
  const Tensor y = Tensor::empty(flat.shape(), x.dtype(), x.device());
  put_columns(sub(mul(a, c), mul(b, s)).alias({flat.size(0), 1}), 0, y);
  put_columns(add(mul(a, s), mul(b, c)).alias({flat.size(0), 1}), 1, y);
  return y.alias(x.shape());
}

LinearMap::LinearMap(const LinearAttentionArgs& args, const LinearAttentionInputs& in, bool second)
    : args_(args),
      in_(in),
      q_layout_(second ? args.q2 : args.q),
      k_layout_(second ? args.k2 : args.k),
      q_(features(args.feature_map, take_heads(in.q, q_layout_, args.batch, args.queries))) {
  if (in.mask.defined()) mask_ = as(in.mask, q_.dtype()).alias({args.batch, 1, args.keys, 1});
  if (args.causal) allowed_ = lower_triangle(args.keys, q_);
  k_ = by_mask(features(args.feature_map, take_heads(in.k, k_layout_, args.batch, args.keys)));
  v_ = by_mask(take_heads(in.v, args.v, args.batch, args.keys));
  qr_ = turned(false, q_);
  kr_ = turned(false, k_);
  s_ = over_keys(k_);
  if (args.magnitude.on) u_ = over_keys(v_);
  if (args.causal) {
    scores_ = mul(head_product(qr_, false, kr_, true), allowed_);
    p_ = head_product(scores_, false, v_, false);
  } else {
    products_ = head_product(kr_, true, v_, false);
    p_ = head_product(qr_, false, products_, false);
  }
  weigh();
  y_ = mul(p_, mul(c_, beta_));
  if (in.beta.defined()) y_ = mul(y_, parameter(in.beta));
  if (gamma_.defined()) {
    const Tensor level = mul(gamma_, u_);
    y_ = sub(y_, in.gamma.defined() ? mul(level, parameter(in.gamma)) : level);
  }
  y_ = by_query_mask(y_);
}

// Of a ratio beta is 1 / (z + eps), c 1, and there is no gamma.
void LinearMap::weigh() {
  const MagnitudeArgs& by = args_.magnitude;
  const Tensor one = filled({1, 1, 1, 1}, 1, q_.dtype(), q_.device());
  z_ = over_rows(ReduceOp::kSum, mul(q_, s_));
  c_ = one;
  const auto inverse = [&] { return unary(UnaryOp::kReciprocal, affine(z_, 1, args_.eps)); };
  if (!by.on) {
    beta_ = inverse();
    return;
  }
  keys_ = affine(one, static_cast<double>(args_.keys));
  if (args_.causal) keys_ = counted(args_.keys, q_);
  if (mask_.defined()) {
    const Tensor count = reduce(ReduceOp::kSum, mask_, {args_.batch, 1, 1, 1});
    keys_ = unary(UnaryOp::kClamp, count, {1, kInfinity});
  }
  c_ = affine(by.over_keys ? unary(UnaryOp::kReciprocal, keys_) : one, by.scale);
  z_ = mul(z_, c_);
  if (by.sums_at_least_eps) z_ = unary(UnaryOp::kClamp, z_, {args_.eps, kInfinity});
  beta_ = by.beta ? affine(inverse(), 1, 1) : one;
  if (by.gamma) gamma_ = div(z_, keys_);
  if (!by.gamma && in_.gamma.defined()) gamma_ = one;
}

LinearAttentionSums LinearMap::sums() const {
  if (!args_.causal) return {products_, s_, u_};
  return {head_product(kr_, true, v_, false), over_tokens(k_), u_.defined() ? over_tokens(v_) : u_};
}

Tensor LinearMap::backward(const Tensor& upstream, const LinearAttentionGradients& to) const {
  const MagnitudeArgs& by = args_.magnitude;
  const Tensor dy = by_query_mask(upstream);
  const Shape of_heads{1, args_.heads, 1, args_.v.dim};
  // With P = c beta' p, beta' the parameter: y = beta P - gamma gamma' u.
  const Tensor scaled = mul(p_, c_);
  const Tensor p = in_.beta.defined() ? mul(scaled, parameter(in_.beta)) : scaled;
  if (to.beta.defined())
    write(reduce(ReduceOp::kSum, mul(mul(dy, beta_), scaled), of_heads), to.beta);
  Tensor dp = mul(dy, mul(beta_, c_));
  if (in_.beta.defined()) dp = mul(dp, parameter(in_.beta));

  Tensor dz = filled({args_.batch, args_.heads, args_.queries, 1}, 0, dy.dtype(), dy.device());
  if (!by.on || by.beta) {
    const Tensor shifted = affine(z_, 1, args_.eps);
    dz = div(div(affine(over_rows(ReduceOp::kSum, mul(dy, p)), -1), shifted), shifted);
  }
  Tensor dv;
  if (gamma_.defined()) {
    const Tensor level = mul(dy, u_);
    if (to.gamma.defined())
      write(affine(reduce(ReduceOp::kSum, mul(level, gamma_), of_heads), -1), to.gamma);
    const auto with_parameter = [&](const Tensor& x) {
      return in_.gamma.defined() ? mul(x, parameter(in_.gamma)) : x;
    };
    if (by.gamma) dz = sub(dz, div(over_rows(ReduceOp::kSum, with_parameter(level)), keys_));
    dv = over_keys_backward(affine(mul(with_parameter(dy), gamma_), -1));
  }
  if (by.on && by.sums_at_least_eps) dz = where(compare(BinaryOp::kGreater, z_, args_.eps), dz, 0);
  dz = mul(dz, c_);

  // Of the products, and of the sums.
  const Tensor dscores = args_.causal ? mul(head_product(dp, false, v_, true), allowed_) : Tensor();
  const Tensor dproducts = args_.causal ? Tensor() : head_product(qr_, true, dp, false);
  if (to.q.defined()) {
    const Tensor dqr = args_.causal ? head_product(dscores, false, kr_, false)
                                    : head_product(dp, false, products_, true);
    const Tensor dq = add(turned(true, dqr), mul(dz, s_));
    put_heads(through(args_.feature_map, q_, dq), q_layout_, args_.add, to.q);
  }
  if (to.k.defined()) {
    const Tensor dkr = args_.causal ? head_product(dscores, true, qr_, false)
                                    : head_product(v_, false, dproducts, true);
    const Tensor dk = add(turned(true, dkr), over_keys_backward(mul(dz, q_)));
    put_heads(by_mask(through(args_.feature_map, k_, dk)), k_layout_, args_.add, to.k);
  }
  const Tensor by_products = args_.causal ? head_product(scores_, true, dp, false)
                                          : head_product(kr_, false, dproducts, false);
  return by_mask(dv.defined() ? add(by_products, dv) : by_products);
}

Tensor LinearMap::by_mask(const Tensor& x) const { return mask_.defined() ? mul(x, mask_) : x; }

Tensor LinearMap::by_query_mask(const Tensor& x) const {
  return args_.queries == args_.keys ? by_mask(x) : x;
}

Tensor LinearMap::turned(bool back, const Tensor& x) const {
  return in_.cos.defined() ? rotated(back, x, in_.cos, in_.sin) : x;
}

Tensor LinearMap::over_keys(const Tensor& x) const {
  if (!args_.causal) return over_tokens(x);
  return head_product(for_all_heads(allowed_, x), false, x, false);
}

Tensor LinearMap::over_keys_backward(const Tensor& dsum) const {
  if (!args_.causal) return over_tokens(dsum);
  return head_product(for_all_heads(allowed_, dsum), true, dsum, false);
}

// (heads, width)
Tensor LinearMap::parameter(const Tensor& x) const {
  return wide(x).alias({1, args_.heads, 1, args_.v.dim});
}

}  // namespace fovea::composed
