#include "ops/attention/unit_attention.h"

#include <fmt/format.h>

#include "backend/backend.h"
#include "ops/attention/head_views.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/indexing.h"
#include "ops/linear.h"
#include "ops/reduce.h"
#include "ops/relevance.h"
#include "ops/shape.h"

namespace fovea::ops {
namespace {

constexpr const char* kUnitAttention = "unit_attention";

void check_unit_options(const HeadView& q, const HeadView& k, const HeadView& v, const Units& units,
                        const UnitAttentionOptions& o) {
  FOVEA_CHECK(q.x.size(1) == units.n() && k.x.size(1) == units.n(), ShapeError,
              fmt::format("{}: {} queries and {} keys; the units have {} tokens", kUnitAttention,
                          q.x.size(1), k.x.size(1), units.n()));
  const auto check_like = [](const char* name, const Tensor& x, const Shape& shape, DType dtype) {
    FOVEA_CHECK(
        !x.defined() || (x.shape() == shape && x.dtype() == dtype), ShapeError,
        fmt::format("{}: {} is {} {}; expected {} {}", kUnitAttention, name, name_of(x.dtype()),
                    to_string(x.shape()), name_of(dtype), to_string(shape)));
  };
  check_like("bias", o.bias, {std::ssize(q.offsets), units.members(), units.members()},
             compute_dtype(q.x.dtype()));
  if (!o.padding.defined()) return;
  FOVEA_CHECK(o.padding_attends && k.x.id() == v.x.id(), ShapeError,
              fmt::format("{}: a padding needs padding_attends, and k and v in one tensor",
                          kUnitAttention));
  check_like("padding", as_activation(o.padding, k.x), {k.x.size(2)}, k.x.dtype());
}

UnitAttentionArgs unit_args(const HeadView& q, const HeadView& k, const HeadView& v,
                            const Units& units, const UnitAttentionOptions& o) {
  UnitAttentionArgs args;
  args.batch = q.x.size(0);
  args.heads = std::ssize(q.offsets);
  args.tokens = units.n();
  args.units = units.count();
  args.members = units.members();
  args.q = views::layout_of(q);
  args.k = views::layout_of(k);
  args.v = views::layout_of(v);
  args.scale = o.scale;
  args.region_mask = o.region_mask;
  args.padding_attends = o.padding_attends;
  return args;
}

}  // namespace

Tensor unit_attention(const HeadView& queries, const HeadView& keys, const HeadView& values,
                      const Units& units, const UnitAttentionOptions& options) {
  views::check_views(kUnitAttention, queries, keys, values);
  check_unit_options(queries, keys, values, units, options);
  const auto [q, k, v] = relevance::attended(queries, keys, values);
  const UnitAttentionArgs args = unit_args(q, k, v, units, options);
  std::vector<Tensor> inputs = views::distinct({q.x, k.x, v.x});
  FOVEA_CHECK(views::disjoint(inputs, {q, k, v}), ShapeError,
              fmt::format("{}: heads share channels", kUnitAttention));
  const bool covered = views::cover(inputs, {q, k, v});
  const int bias = static_cast<int>(inputs.size());
  UnitAttentionInputs given{.q = q.x,
                            .k = k.x,
                            .v = v.x,
                            .table = units.tokens(),
                            .regions = units.regions(),
                            .bias = options.bias};
  if (options.padding.defined() && units.padded())
    given.padding = as_activation(options.padding, k.x);
  inputs.push_back(given.bias);
  inputs.push_back(given.padding);
  autograd::Op op(kUnitAttention, inputs);
  Tensor out =
      Tensor::empty({args.batch, args.tokens, args.heads * v.dim}, q.x.dtype(), q.x.device());
  const Tensor lse = Tensor::empty({args.batch, args.heads, args.units, args.members},
                                   compute_dtype(q.x.dtype()), q.x.device());
  backend(q.x).unit_attention(args, given, out, lse);
  for (const Tensor& input : inputs) op.keep(input);
  const std::int64_t scores = args.batch * args.heads * args.units * args.members * args.members;
  // Backward has a product for each gradient, and scores again, which are not kept.
  op.macs(scores * (q.dim + v.dim), scores * (3 * q.dim + 2 * v.dim));
  return op.output(out, [=](const Tensor& dout, autograd::Gradients& in) {
    const std::vector<Tensor> viewed(inputs.begin(), inputs.begin() + bias);
    views::ViewGradients gradients(viewed, !covered, in);
    Tensor dbias = in.empty(bias);
    Tensor dpadding = in.empty(bias + 1);
    backend(dout).unit_attention_backward(args, given, {.lse = lse, .dout = dout},
                                          {.q = gradients.gradient_of(given.q),
                                           .k = gradients.gradient_of(given.k),
                                           .v = gradients.gradient_of(given.v),
                                           .bias = dbias,
                                           .padding = dpadding});
    gradients.hand_over();
    if (dbias.defined()) in.add(bias, std::move(dbias));
    if (dpadding.defined()) in.add(bias + 1, std::move(dpadding));
  });
}

namespace {

// The heads of a view at all places of all units: (b, heads, units, members, dim), in
// the compute type. `padding` stands at padding, or zeros.
Tensor take_places(const HeadView& view, const Units& units, const Tensor& padding) {
  const std::int64_t b = view.x.size(0), heads = std::ssize(view.offsets), n = units.n();
  Tensor last = zeros({1, 1, view.x.size(2)}, view.x.dtype(), view.x.device());
  if (padding.defined()) last = reshape(as_activation(padding, view.x), {1, 1, view.x.size(2)});
  const Tensor x = concat({view.x, expand(last, {b, 1, view.x.size(2)})}, 1);
  const Tensor taken = take_heads({cast(x, compute_dtype(x.dtype())), view.offsets, view.dim});
  std::vector<std::int64_t> rows;
  for (const std::int64_t token : units.tokens().host_values<std::int64_t>())
    rows.push_back(token < 0 ? n : token);
  const Tensor index = Tensor::from(rows, {1, 1, std::ssize(rows), 1}, view.x.device());
  const Shape all{b, heads, std::ssize(rows), view.dim};
  return reshape(gather(taken, 2, expand(index, all)),
                 {b, heads, units.count(), units.members(), view.dim});
}

}  // namespace

Tensor unit_attention_map(const HeadView& q, const HeadView& k, const Units& units,
                          const UnitAttentionOptions& options) {
  check_unit_options(q, k, k, units, options);
  const std::int64_t u = units.count(), m = units.members();
  const Tensor queries = take_places(q, units, {});
  const Tensor keys = take_places(k, units, options.padding);
  Tensor scores = mul(matmul(queries, keys, false, true), options.scale);
  if (options.bias.defined())
    scores = add(scores, reshape(options.bias, {1, options.bias.size(0), 1, m, m}));
  if (units.regions().defined()) {
    const Tensor across =
        not_equal(reshape(units.regions(), {u, m, 1}), reshape(units.regions(), {u, 1, m}));
    scores = add(scores, mul(cast(across, scores.dtype()), options.region_mask));
  }
  if (!units.padded()) return softmax(scores);
  const Tensor none = full({}, -1, DType::kInt64, q.x.device());
  const Tensor real = not_equal(units.tokens(), none);
  const Tensor rows = cast(reshape(real, {u, m, 1}), scores.dtype());
  if (options.padding_attends) return mul(softmax(scores), rows);
  // (An item of the mask for every unit of every head.)
  const std::int64_t maps = scores.size(0) * scores.size(1);
  const Tensor mask = reshape(expand(real, {maps, u, m}), {maps * u, m});
  return mul(softmax(scores, mask), rows);
}

Tensor attend_units(const Tensor& maps, const HeadView& v, const Units& units,
                    const UnitAttentionOptions& options) {
  const std::int64_t b = maps.size(0), heads = maps.size(1);
  const Tensor values = take_places(v, units, options.padding);
  const Tensor y =
      reshape(matmul(maps, values), {b, heads, units.count() * units.members(), v.dim});
  // Every token is in one unit.
  std::vector<std::int64_t> places(static_cast<std::size_t>(units.n()));
  const auto tokens = units.tokens().host_values<std::int64_t>();
  for (std::size_t place = 0; place < tokens.size(); ++place) {
    if (tokens[place] >= 0)
      places[static_cast<std::size_t>(tokens[place])] = static_cast<std::int64_t>(place);
  }
  const Tensor index = Tensor::from(places, {1, 1, units.n(), 1}, v.x.device());
  const Tensor at_tokens = gather(y, 2, expand(index, {b, heads, units.n(), v.dim}));
  return cast(merge_heads(at_tokens), v.x.dtype());
}

}  // namespace fovea::ops
