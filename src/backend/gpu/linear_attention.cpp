// Linear attention with one map a head, or two over one value stream.
#include <limits>

#include "backend/composed/composed.h"
#include "backend/gpu/attention_call.h"

namespace fovea::gpu {
namespace {

static_assert(FeatureNone == static_cast<int>(FeatureMap::kNone) &&
              FeatureEluPlusOne == static_cast<int>(FeatureMap::kEluPlusOne) &&
              FeatureRelu == static_cast<int>(FeatureMap::kRelu) &&
              FeatureExp == static_cast<int>(FeatureMap::kExp));

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// What the kernels do not cover is left to the default bodies: heads wider than their tiles, heads
// that begin where no HeadWalk says, and more tokens than an int counts.
bool is_covered(const LinearAttentionArgs& args) {
  const auto walks = [](const HeadLayout& layout) { return head_walk(layout).has_value(); };
  return args.q.dim <= LINEAR_WIDTH && args.v.dim <= LINEAR_WIDTH &&
         std::max(args.queries, args.keys) <= std::numeric_limits<Int32>::max() && walks(args.q) &&
         walks(args.k) && walks(args.v) && walks(args.q2) && walks(args.k2) &&
         walks(args.residual) && walks(args.gate);
}

// The results' heads one after the other.
HeadWalk walk_of_results(const LinearAttentionArgs& args) {
  const std::int64_t width = args.heads * args.v.dim;
  return {.item = args.queries * width,
          .token = width,
          .first = 0,
          .per = 1,
          .outer = args.v.dim,
          .inner = 0};
}

LinearShape linear_shape(const LinearAttentionArgs& args) {
  const MagnitudeArgs& by = args.magnitude;
  LinearShape s{};
  s.batch = args.batch;
  s.heads = args.heads;
  s.queries = args.queries;
  s.keys = args.keys;
  s.q[0] = head_walk(args.q).value();
  s.q[1] = head_walk(args.q2).value();
  s.k[0] = head_walk(args.k).value();
  s.k[1] = head_walk(args.k2).value();
  s.v = head_walk(args.v).value();
  s.residual = head_walk(args.residual).value();
  s.gate = head_walk(args.gate).value();
  s.out = walk_of_results(args);
  s.dim = static_cast<Int32>(args.q.dim);
  s.width = static_cast<Int32>(args.v.dim);
  s.maps = args.two_maps() ? 2 : 1;
  s.features = static_cast<Int32>(args.feature_map);
  s.causal = args.causal;
  s.add = args.add;
  s.by_magnitude = by.on;
  s.over_keys = by.on && by.over_keys;
  s.by_beta = by.on && by.beta;
  s.by_gamma = by.on && by.gamma;
  s.at_least_eps = by.on && by.sums_at_least_eps;
  s.gate_op = static_cast<Int32>(args.gate_op);
  return s;
}

}  // namespace

// What blocks of rows read: sums of every head, or causal those before each block, the sums s and u
// up to each token (or of what lies behind), and what tokens have in common with those of their
// block.
struct GpuBackend::LinearCall {
  struct Known {
    Tensor products, keys, values, inner;
  };

  LinearCall(const GpuBackend& backend, const LinearAttentionArgs& args,
             const LinearAttentionInputs& inputs)
      : on(backend),
        shape(linear_shape(args)),
        dtype(inputs.q.dtype()),
        scale{args.magnitude.on ? args.magnitude.scale : 1, dtype},
        eps{args.eps, dtype},
        norm_eps{args.norm_eps, dtype},
        in(inputs) {
    if (!in.mask.defined() || !args.magnitude.on) return;
    // Of an item without any it is 1: nothing is divided by 0, and everything is 0.
    const Tensor all = composed::reduce(ReduceOp::kSum, composed::as(in.mask, compute_dtype(dtype)),
                                        {args.batch, 1});
    counts = composed::unary(UnaryOp::kClamp, all, {1, std::numeric_limits<double>::infinity()});
  }

  std::int64_t heads() const { return shape.batch * shape.heads; }
  std::int64_t depth() const { return static_cast<std::int64_t>(shape.maps) * shape.dim; }
  std::int64_t blocks(std::int64_t tokens) const {
    return heads() * divide_up(tokens, LINEAR_ROWS);
  }
  Tensor made(const Shape& of) const {
    return Tensor::empty(of, compute_dtype(dtype), in.q.device());
  }
  bool finishes() const {
    return in.weight.defined() || in.residual.defined() || in.gate.defined();
  }

  template <class... More>
  void launch(Kernel kernel, std::int64_t groups, const More&... more) const {
    on.launch(kernel, dtype, groups, shape, scale, eps, in.q, in.k, in.v, in.mask, counts, in.cos,
              in.sin, in.lambda.defined() ? in.lambda : in.beta, in.gamma, more...);
  }
  template <class... More>
  void launch_rows(Kernel kernel, std::int64_t tokens, const Known& known,
                   const More&... more) const {
    launch(kernel, blocks(tokens), known.products, known.keys, known.values, known.inner, more...);
  }

  /// What a kernel sums over pieces of the tokens: totals to `to`, and what is before each piece
  /// (way 1), or behind it (-1).
  template <class... More>
  Tensor pieces(Kernel kernel, std::int64_t tokens, Int32 way, const LinearAttentionSums& to,
                const More&... more) {
    const std::int64_t tiles = divide_up(shape.maps * LINEAR_DEPTH(shape.dim), PRODUCT_TILE) *
                               divide_up(shape.width, PRODUCT_TILE);
    // As many pieces as fill a device, of some blocks each.
    constexpr std::int64_t kGroups = 512, kBlocks = 4;
    const std::int64_t all = divide_up(tokens, LINEAR_ROWS);
    const std::int64_t wanted = divide_up(kGroups, std::max<std::int64_t>(1, heads() * tiles));
    shape.piece =
        LINEAR_ROWS * (shape.causal ? 1 : std::max(std::min(kBlocks, all), divide_up(all, wanted)));
    shape.pieces = shape.piece == 0 ? 0 : divide_up(tokens, shape.piece);
    const std::int64_t size = depth() * shape.width + depth() + shape.width;
    const Tensor partial = made({heads() * shape.pieces, size});
    launch(kernel, heads() * shape.pieces * tiles, more..., partial);
    on.launch_items(Kernel::linear_totals, dtype, heads() * size, shape, way, partial, to.products,
                    to.keys, to.values);
    return partial;
  }

  /// Causal, from what is before each piece, or behind it.
  Known running(bool back, const Tensor& states, const Tensor& dout, const Tensor& dy,
                const Tensor& stats) const {
    Known known{.products = states,
                .keys = made({heads(), shape.keys, depth()}),
                .values = shape.by_magnitude ? made({heads(), shape.keys, shape.width}) : Tensor(),
                .inner = {}};
    launch(Kernel::linear_running,
           divide_up(heads() * shape.pieces * (shape.dim + shape.width), GROUP_SIZE), dout, dy,
           stats, Int32{back}, states, known.keys, known.values);
    return known;
  }
  /// Causal: of queries and keys, or of dy and values.
  Tensor inner(bool back, const Tensor& dout, const Tensor& dy) const {
    const Tensor products = made({heads(), shape.keys, LINEAR_ROWS});
    launch(Kernel::linear_inner, blocks(shape.keys), dout, dy, Int32{back}, products);
    return products;
  }
  Tensor weights(const Known& known) const {
    const Tensor stats = made({heads(), shape.queries, LINEAR_STATS});
    launch_rows(Kernel::linear_weights, shape.queries, known, stats);
    return stats;
  }

  /// The gradient dy of the heads' results; those of what is made of them are written.
  Tensor finish_backward(const Known& known, const Tensor& stats, const Tensor& dout,
                         const LinearAttentionGradients& to) const {
    const std::int64_t width = shape.width;
    const Tensor dy = made(dout.shape());
    const Tensor dweight = to.weight.defined() ? made({blocks(shape.queries), width}) : Tensor();
    launch_rows(Kernel::linear_finish_backward, shape.queries, known, stats, norm_eps, in.weight,
                in.residual, in.gate, dout, dy, to.residual, to.gate, dweight);
    if (dweight.defined()) on.reduce(ReduceOp::kSum, dweight, to.weight.alias({1, width}));
    return dy;
  }

  /// Gradients of parameters of columns, from those of the sums that they multiply, whose maps have
  /// `rows` rows.
  void column_gradients(const LinearAttentionSums& sums, const LinearAttentionSums& gradients,
                        const LinearAttentionGradients& to) const {
    const auto write = [&](const Tensor& x, const Tensor& dx, std::int64_t rows, const Tensor& y) {
      const Shape of{shape.batch, shape.heads, rows, shape.width};
      on.reduce(ReduceOp::kSum, composed::mul(x.alias(of), dx.alias(of)),
                y.alias({1, shape.heads, 1, shape.width}));
    };
    if (to.beta.defined()) write(sums.products, gradients.products, shape.dim, to.beta);
    if (to.gamma.defined()) write(sums.values, gradients.values, 1, to.gamma);
    if (!to.lambda.defined()) return;
    const std::int64_t size = static_cast<std::int64_t>(shape.dim) * shape.width;
    const auto second_map = [&](const Tensor& x) {
      return composed::columns(x.alias({heads(), 2 * size}), size, size);
    };
    write(second_map(sums.products), composed::affine(second_map(gradients.products), -1),
          shape.dim, to.lambda);
  }

  const GpuBackend& on;
  LinearShape shape;
  DType dtype;
  Real scale, eps, norm_eps;
  const LinearAttentionInputs& in;
  Tensor counts;
};

void GpuBackend::linear_attention(const LinearAttentionArgs& args, const LinearAttentionInputs& in,
                                  const Tensor& out, const LinearAttentionSums& sums) const {
  if (!is_covered(args)) return Backend::linear_attention(args, in, out, sums);
  LinearCall call(*this, args, in);
  LinearCall::Known known{sums.products, sums.keys, sums.values, {}};
  const Tensor states = call.pieces(Kernel::linear_key_sums, args.keys, args.causal ? 1 : 0, sums);
  if (args.causal) {
    known = call.running(false, states, {}, {}, {});
    known.inner = call.inner(false, {}, {});
  }
  call.launch_rows(Kernel::linear_attention, args.queries, known, call.weights(known),
                   call.norm_eps, in.weight, in.residual, in.gate, out);
}

void GpuBackend::linear_attention_backward(const LinearAttentionArgs& args,
                                           const LinearAttentionInputs& in,
                                           const LinearAttentionUpstream& upstream,
                                           const LinearAttentionGradients& to) const {
  if (!is_covered(args)) return Backend::linear_attention_backward(args, in, upstream, to);
  LinearCall call(*this, args, in);
  const auto& [sums, dout] = upstream;
  const bool causal = args.causal;
  LinearCall::Known known{sums.products, sums.keys, sums.values, {}};
  Tensor scores;
  if (causal) {
    known = call.running(false, call.pieces(Kernel::linear_key_sums, args.keys, 1, {}), {}, {}, {});
    scores = call.inner(false, {}, {});
    known.inner = scores;
  }
  const Tensor stats = call.weights(known);
  const Tensor dy = call.finishes() ? call.finish_backward(known, stats, dout, to) : Tensor();
  if (causal) known.inner = call.inner(true, dout, dy);
  call.launch_rows(Kernel::linear_dq, args.queries, known, dout, dy, stats, to.q);
  const Tensor dscores = known.inner;
  known = {};

  LinearAttentionSums gradients;
  if (!causal) {
    const std::int64_t width = args.v.dim;
    gradients = {.products = call.made({args.batch, args.heads, call.depth(), width}),
                 .keys = call.made({args.batch, args.heads, call.depth()}),
                 .values = call.made({args.batch, args.heads, width})};
  }
  const Tensor states = call.pieces(Kernel::linear_query_sums, args.queries, causal ? -1 : 0,
                                    gradients, dout, dy, stats);
  known = {gradients.products, gradients.keys, gradients.values, {}};
  if (causal) known = call.running(true, states, dout, dy, stats);
  call.column_gradients(sums, gradients, to);
  known.inner = scores;
  if (to.v.defined()) call.launch_rows(Kernel::linear_dv, args.keys, known, dout, dy, stats, to.v);
  known.inner = dscores;
  if (to.k.defined()) call.launch_rows(Kernel::linear_dk, args.keys, known, stats, to.k);
}

}  // namespace fovea::gpu
