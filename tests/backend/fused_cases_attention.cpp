#include "tests/backend/fused_cases.h"

namespace fovea::test {
namespace {

using Outputs = std::vector<Tensor>;

constexpr std::int64_t kBatch = 2, kQueries = 5, kKeys = 7, kHeads = 3, kDim = 4, kWidth = 6;

struct AttentionOf {
  const char* name;
  bool two_maps = false, causal = false, masked = false;
  bool shares = false;  // all heads read the keys and values of the first: gradients add up
  std::int64_t queries = kQueries, keys = kKeys;
  bool tells_out = false;  // backward knows what forward gave

  bool large() const { return queries > kQueries; }
};

HeadLayout layout(std::int64_t tokens, std::int64_t width, std::int64_t dim, std::int64_t first,
                  std::int64_t step) {
  HeadLayout result{tokens * width, width, {}, dim};
  for (std::int64_t head = 0; head < kHeads; ++head)
    result.head_offsets.push_back(first + head * step);
  return result;
}

AttentionArgs args_of(const AttentionOf& a) {
  const std::int64_t streams = a.two_maps ? 2 : 1;
  const std::int64_t shared = a.shares ? 0 : 1;
  AttentionArgs args;
  args.batch = kBatch;
  args.heads = kHeads;
  args.queries = a.queries;
  args.keys = a.keys;
  args.scale = 0.4;
  args.causal = a.causal;
  args.add = a.shares;
  const std::int64_t width = streams * kHeads * kDim;
  args.q = layout(a.queries, width, kDim, 0, streams * kDim);
  args.k = layout(a.keys, width, kDim, 0, shared * streams * kDim);
  args.v = layout(a.keys, kHeads * kWidth, kWidth, 0, shared * kWidth);
  if (a.two_maps) {
    args.q2 = layout(a.queries, width, kDim, kDim, streams * kDim);
    args.k2 = layout(a.keys, width, kDim, kDim, shared * streams * kDim);
  }
  return args;
}

AttentionInputs inputs_of(const AttentionOf& a, Operands& o) {
  const std::int64_t width = (a.two_maps ? 2 : 1) * kHeads * kDim;
  AttentionInputs in{.q = o.x({kBatch, a.queries, width}),
                     .k = o.x({kBatch, a.keys, width}),
                     .v = o.x({kBatch, a.keys, kHeads * kWidth})};
  // The second item may see nothing.
  std::vector<std::uint8_t> allowed(static_cast<std::size_t>(kBatch * a.keys), 0);
  for (std::int64_t key = 0; key < a.keys - 1; ++key)
    allowed[static_cast<std::size_t>(key)] = key % 5 != 2;
  if (a.masked) in.mask = Tensor::from(allowed, {kBatch, a.keys}, cpu());
  if (a.two_maps) {
    in.c1 = o.x({kBatch, a.queries, kHeads});
    in.c2 = o.x({kBatch, a.queries, kHeads});
  }
  return in;
}

Shape out_shape(const AttentionOf& a) { return {kBatch, a.queries, kHeads * kWidth}; }

Shape lse_shape(const AttentionOf& a) { return {a.two_maps ? 2 : 1, kBatch, kHeads, a.queries}; }

FusedCase forward(const AttentionOf& a) {
  return {"attention", a.name, true,
          [=](const Backend& b, Operands& o) -> Outputs {
            const Tensor out = o.to_x(out_shape(a));
            const Tensor lse = o.to_c(lse_shape(a));
            b.attention(args_of(a), inputs_of(a, o), {.out = out, .lse = lse});
            // (-inf - -inf is no number.)
            const Tensor finite = Tensor::empty_like(lse);
            b.unary(UnaryOp::kClamp, {-1e4, 1e4}, lse, finite);
            return {out, finite};
          },
          a.large()};
}

FusedCase backward(const AttentionOf& a) {
  return {
      "attention_backward", a.name, true,
      [=](const Backend& b, Operands& o) -> Outputs {
        const AttentionInputs in = inputs_of(a, o);
        const Tensor lse = o.to_c(lse_shape(a));
        const Tensor out = o.to_x(out_shape(a));
        const Tensor results = a.tells_out && a.two_maps ? o.to_x({2, out.numel()}) : Tensor();
        cpu().backend().attention(args_of(a), in, {.out = out, .lse = lse, .map_results = results});
        const AttentionGradients to{.q = o.x(in.q.shape()),
                                    .k = o.x(in.k.shape()),
                                    .v = o.x(in.v.shape()),
                                    .c1 = a.two_maps ? o.to_x(in.c1.shape()) : Tensor(),
                                    .c2 = a.two_maps ? o.to_x(in.c2.shape()) : Tensor()};
        const AttentionUpstream upstream{.lse = lse,
                                         .dout = o.x(out_shape(a)),
                                         .map_results = !a.tells_out || a.two_maps ? results : out};
        b.attention_backward(args_of(a), in, upstream, to);
        if (!a.two_maps) return {to.q, to.k, to.v};
        return {to.q, to.k, to.v, to.c1, to.c2};
      },
      a.large()};
}

struct LinearOf {
  const char* name;
  bool two_maps = false, features = false;
  bool add = false;  // to gradients that hold something
  std::int64_t queries = kQueries, keys = kKeys;
  bool norm = false, gate = false;
  bool apart = false;  // all first maps before all second ones
  FeatureMap map = FeatureMap::kEluPlusOne;
  MagnitudeArgs magnitude = {};
  bool given = false;  // parameters in place of beta and gamma
  bool causal = false, masked = false, rotated = false, residual = false;
};

LinearOf by_magnitude(const char* name) {
  LinearOf a{.name = name};
  a.magnitude = {.on = true, .scale = 0.5, .over_keys = true};
  return a;
}

LinearAttentionArgs args_of(const LinearOf& a) {
  const std::int64_t streams = a.two_maps ? 2 : 1;
  const std::int64_t width = streams * kHeads * kDim;
  LinearAttentionArgs args;
  args.batch = kBatch;
  args.heads = kHeads;
  args.queries = a.queries;
  args.keys = a.keys;
  args.q = layout(a.queries, width, kDim, 0, streams * kDim);
  args.k = layout(a.keys, width, kDim, 0, streams * kDim);
  args.v = layout(a.keys, kHeads * kWidth, kWidth, 0, kWidth);
  if (a.two_maps) {
    args.q2 = layout(a.queries, width, kDim, kDim, streams * kDim);
    args.k2 = layout(a.keys, width, kDim, kDim, streams * kDim);
  }
  if (a.apart) {
    args.q = layout(a.queries, width, kDim, 0, kDim);
    args.q2 = layout(a.queries, width, kDim, kHeads * kDim, kDim);
  }
  if (a.gate) args.gate = layout(a.queries, kHeads * kWidth, kWidth, 0, kWidth);
  args.feature_map = a.features ? FeatureMap::kNone : a.map;
  args.magnitude = a.magnitude;
  args.causal = a.causal;
  if (a.residual) args.residual = layout(a.queries, kHeads * kWidth, kWidth, 0, kWidth);
  args.eps = 1e-3;
  args.add = a.add;
  return args;
}

LinearAttentionInputs inputs_of(const LinearOf& a, Operands& o) {
  const std::int64_t width = (a.two_maps ? 2 : 1) * kHeads * kDim;
  const auto rows = [&](std::int64_t n) {
    // Features are positive, or the denominator could be anything.
    if (!a.features) return o.x({kBatch, n, width});
    const Tensor y = o.to_x({kBatch, n, width});
    cpu().backend().cast(o.between(0.1, 2, y.shape()), y);
    return y;
  };
  const Tensor q = rows(a.queries);
  const Tensor k = rows(a.keys);
  LinearAttentionInputs in{.q = q, .k = k, .v = o.x({kBatch, a.keys, kHeads * kWidth})};
  if (a.two_maps) in.lambda = o.c({kHeads, kWidth});
  if (a.norm) in.weight = o.c({kWidth});
  if (a.gate) in.gate = o.x({kBatch, a.queries, kHeads * kWidth});
  if (a.residual) in.residual = o.x({kBatch, a.queries, kHeads * kWidth});
  if (a.given) {
    in.beta = o.c({kHeads, kWidth});
    in.gamma = o.c({kHeads, kWidth});
  }
  if (a.rotated) {
    in.cos = o.c({a.keys, kDim / 2});
    in.sin = o.c({a.keys, kDim / 2});
  }
  if (a.masked) {
    std::vector<std::uint8_t> valid(static_cast<std::size_t>(kBatch * a.keys), 1);
    for (std::int64_t i = a.keys - 2; i < a.keys + 1; ++i) valid[static_cast<std::size_t>(i)] = 0;
    in.mask = Tensor::from(valid, {kBatch, a.keys}, cpu());
  }
  return in;
}

LinearAttentionSums sums_of(const LinearOf& a, Operands& o) {
  const std::int64_t depth = (a.two_maps ? 2 : 1) * kDim;
  return {o.to_c({kBatch, kHeads, depth, kWidth}), o.to_c({kBatch, kHeads, depth}),
          a.magnitude.on ? o.to_c({kBatch, kHeads, kWidth}) : Tensor()};
}

FusedCase linear_forward(const LinearOf& a) {
  return {"linear_attention", a.name, true, [=](const Backend& b, Operands& o) -> Outputs {
            const Tensor out = o.to_x({kBatch, a.queries, kHeads * kWidth});
            const LinearAttentionSums sums = sums_of(a, o);
            b.linear_attention(args_of(a), inputs_of(a, o), out, sums);
            Outputs written{out, sums.products, sums.keys};
            if (a.magnitude.on) written.push_back(sums.values);
            return written;
          }};
}

FusedCase linear_backward(const LinearOf& a) {
  return {
      "linear_attention_backward", a.name, true, [=](const Backend& b, Operands& o) -> Outputs {
        const LinearAttentionInputs in = inputs_of(a, o);
        const LinearAttentionGradients to{
            .q = o.x(in.q.shape()),
            .k = o.x(in.k.shape()),
            .v = o.x(in.v.shape()),
            .lambda = a.two_maps ? o.to_c(in.lambda.shape()) : Tensor(),
            .weight = a.norm ? o.to_c(in.weight.shape()) : Tensor(),
            .gate = a.gate ? o.x(in.gate.shape()) : Tensor(),
            .residual = a.residual ? o.x(in.residual.shape()) : Tensor(),
            .beta = a.given ? o.to_c(in.beta.shape()) : Tensor(),
            .gamma = a.given ? o.to_c(in.gamma.shape()) : Tensor()};
        const Shape rows{kBatch, a.queries, kHeads * kWidth};
        const LinearAttentionSums sums = sums_of(a, o);
        cpu().backend().linear_attention(args_of(a), in, o.to_x(rows), sums);
        b.linear_attention_backward(args_of(a), in, {.sums = sums, .dout = o.x(rows)}, to);
        Outputs written{to.q, to.k, to.v};
        for (const Tensor& more : {to.lambda, to.weight, to.gate, to.residual, to.beta, to.gamma}) {
          if (more.defined()) written.push_back(more);
        }
        return written;
      }};
}

std::vector<LinearOf> magnitude_cases() {
  std::vector<LinearOf> cases{by_magnitude("by magnitude")};
  const auto add = [&](const char* name) -> LinearOf& {
    return cases.emplace_back(by_magnitude(name));
  };
  LinearOf& relu = add("by magnitude, relu, unscaled");
  relu.map = FeatureMap::kRelu;
  relu.magnitude.over_keys = false;
  add("by magnitude, exp").map = FeatureMap::kExp;
  add("no beta").magnitude.beta = false;
  add("no gamma").magnitude.gamma = false;
  LinearOf& given = add("given coefficients");
  given.given = true;
  given.magnitude.beta = given.magnitude.gamma = false;
  LinearOf& gated = add("rotated, residual and gate");
  gated.rotated = gated.residual = gated.gate = true;
  gated.keys = kQueries;
  LinearOf& masked = add("masked");
  masked.masked = masked.rotated = true;
  masked.keys = kQueries;
  LinearOf& large = add("by magnitude, more than a block");
  large.queries = large.keys = 300;
  large.rotated = large.add = true;
  for (const std::int64_t tokens : {std::int64_t{5}, std::int64_t{300}}) {
    LinearOf& causal = add(tokens == 5 ? "causal" : "causal, more than a block");
    causal.causal = causal.rotated = true;
    causal.gate = causal.residual = tokens == 5;
    causal.queries = causal.keys = tokens;
  }
  LinearOf& ratio = cases.emplace_back(LinearOf{.name = "ratio, causal"});
  ratio.causal = true;
  ratio.queries = ratio.keys = 130;
  LinearOf& turned = cases.emplace_back(LinearOf{.name = "ratio, masked and rotated"});
  turned.rotated = turned.masked = true;
  turned.keys = kQueries;
  return cases;
}

FusedCase rotate_case(const char* name, bool back) {
  return {"rotate", name, true, [=](const Backend& b, Operands& o) -> Outputs {
            const Tensor x = o.x({kBatch, kKeys, kHeads * kDim});
            const Tensor y = o.to_x(x.shape());
            const Tensor cos = o.c({kKeys, kDim / 2});
            const Tensor sin = o.c({kKeys, kDim / 2});
            b.rotate({.back = back, .x = x, .cos = cos, .sin = sin, .y = y});
            return {y};
          }};
}

struct UnitsOf {
  const char* name;
  bool bias = false, regions = false;
  std::int64_t missing = 0;  // places of padding
  bool padding_attends = false, padding = false;
  std::int64_t members = 6;
};

constexpr std::int64_t kUnits = 3;

UnitAttentionArgs args_of(const UnitsOf& a) {
  UnitAttentionArgs args;
  args.batch = kBatch;
  args.heads = kHeads;
  args.units = kUnits;
  args.members = a.members;
  args.tokens = kUnits * a.members - a.missing;
  const std::int64_t width = kHeads * (2 * kDim + kWidth);
  args.q = layout(args.tokens, width, kDim, 0, kDim);
  args.k = layout(args.tokens, width, kDim, kHeads * kDim, kDim);
  args.v = layout(args.tokens, width, kWidth, 2 * kHeads * kDim, kWidth);
  args.scale = 0.4;
  args.region_mask = -2;
  args.padding_attends = a.padding_attends;
  return args;
}

UnitAttentionInputs inputs_of(const UnitsOf& a, Operands& o) {
  const UnitAttentionArgs args = args_of(a);
  const Shape places{kUnits, a.members};
  // From the last token to the first, with the padding spread over the first two units.
  std::vector<std::int64_t> table, regions;
  std::int64_t next = args.tokens, missing = a.missing;
  for (std::int64_t i = 0; i < places.numel(); ++i) {
    const bool pad = missing > 0 && (i % 2 == 1 || next == 0);
    table.push_back(pad ? -1 : --next);
    missing -= pad ? 1 : 0;
    regions.push_back(i < a.members ? 0 : i % 3);
  }
  const std::int64_t width = args.q.token_stride;
  const Tensor qkv = o.x({kBatch, args.tokens, width});
  UnitAttentionInputs in{.q = qkv, .k = qkv, .v = qkv, .table = Tensor::from(table, places, cpu())};
  if (a.regions) in.regions = Tensor::from(regions, places, cpu());
  if (a.bias) in.bias = o.c({kHeads, a.members, a.members});
  if (a.padding) in.padding = o.x({width});
  return in;
}

Outputs units_forward(const UnitsOf& a, const Backend& b, Operands& o,
                      const UnitAttentionInputs& in) {
  const UnitAttentionArgs args = args_of(a);
  const Tensor out = o.to_x({kBatch, args.tokens, kHeads * kWidth});
  const Tensor lse = o.to_c({kBatch, kHeads, kUnits, a.members});
  b.unit_attention(args, in, out, lse);
  return {out, lse};
}

FusedCase forward(const UnitsOf& a) {
  return {"unit_attention", a.name, true, [=](const Backend& b, Operands& o) -> Outputs {
            return units_forward(a, b, o, inputs_of(a, o));
          }};
}

FusedCase backward(const UnitsOf& a) {
  return {"unit_attention_backward", a.name, true, [=](const Backend& b, Operands& o) -> Outputs {
            const UnitAttentionArgs args = args_of(a);
            const UnitAttentionInputs in = inputs_of(a, o);
            const Tensor lse = units_forward(a, cpu().backend(), o, in)[1];
            const Tensor dqkv = o.to_x(in.q.shape());
            const UnitAttentionGradients to{
                .q = dqkv,
                .k = dqkv,
                .v = dqkv,
                .bias = a.bias ? o.to_c(in.bias.shape()) : Tensor(),
                .padding = a.padding ? o.to_x(in.padding.shape()) : Tensor()};
            const Tensor dout = o.x({kBatch, args.tokens, kHeads * kWidth});
            b.unit_attention_backward(args, in, {.lse = lse, .dout = dout}, to);
            Outputs written{dqkv};
            for (const Tensor& more : {to.bias, to.padding}) {
              if (more.defined()) written.push_back(more);
            }
            return written;
          }};
}

}  // namespace

std::vector<FusedCase> cases_of_attention() {
  std::vector<FusedCase> cases;
  for (const UnitsOf& a :
       {UnitsOf{.name = "plain"}, UnitsOf{.name = "bias", .bias = true},
        UnitsOf{.name = "regions", .regions = true},
        UnitsOf{.name = "masked padding", .missing = 5},
        UnitsOf{.name = "a unit of padding", .bias = true, .missing = 11},
        UnitsOf{.name = "padding of zeros", .regions = true, .missing = 4, .padding_attends = true},
        UnitsOf{.name = "all of it",
        .bias = true,
        .regions = true,
        .missing = 5,
        .padding_attends = true,
        .padding = true},
        UnitsOf{.name = "more than a block", .bias = true, .missing = 7, .members = 260}}) {
    cases.push_back(forward(a));
    cases.push_back(backward(a));
  }
  for (const LinearOf& a : magnitude_cases()) {
    cases.push_back(linear_forward(a));
    cases.push_back(linear_backward(a));
  }
  cases.push_back(rotate_case("", false));
  cases.push_back(rotate_case("back", true));
  for (const LinearOf& a :
       {LinearOf{.name = "one map"}, LinearOf{.name = "features", .features = true, .add = true},
        LinearOf{.name = "two maps", .two_maps = true},
        LinearOf{.name = "two maps, apart", .two_maps = true, .apart = true},
        LinearOf{.name = "normed", .norm = true}, LinearOf{.name = "gated", .gate = true},
        LinearOf{.name = "all of it", .two_maps = true, .norm = true, .gate = true},
        LinearOf{.name = "more than a block",
        .two_maps = true,
        .add = true,
        .queries = 300,
        .keys = 129}}) {
    cases.push_back(linear_forward(a));
    cases.push_back(linear_backward(a));
  }
  for (const AttentionOf& a :
       {AttentionOf{.name = "one map"}, AttentionOf{.name = "masked", .masked = true},
        AttentionOf{.name = "causal", .causal = true, .masked = true},
        AttentionOf{.name = "shared keys", .shares = true},
        AttentionOf{.name = "two maps", .two_maps = true},
        AttentionOf{.name = "two maps, all of it",
        .two_maps = true,
        .causal = true,
        .masked = true,
        .shares = true},
        AttentionOf{.name = "blocks", .queries = 400, .keys = 470},
        AttentionOf{.name = "blocks, out", .queries = 130, .keys = 470, .tells_out = true},
        AttentionOf{.name = "blocks, two maps, out",
        .two_maps = true,
        .masked = true,
        .shares = true,
        .queries = 130,
        .keys = 470,
        .tells_out = true},
        AttentionOf{.name = "blocks, masked",
        .masked = true,
        .queries = 100,
        .keys = 300,
        .tells_out = true},
        AttentionOf{.name = "blocks, causal",
        .causal = true,
        .queries = 300,
        .keys = 300,
        .tells_out = true},
        AttentionOf{.name = "blocks, causal, more queries than keys",
        .causal = true,
        .masked = true,
        .shares = true,
        .queries = 500,
        .keys = 250},
        AttentionOf{.name = "blocks, two maps", .two_maps = true, .queries = 120, .keys = 300},
        AttentionOf{.name = "blocks, two maps, all of it",
        .two_maps = true,
        .causal = true,
        .masked = true,
        .shares = true,
        .queries = 230,
        .keys = 320}}) {
    cases.push_back(forward(a));
    cases.push_back(backward(a));
  }
  return cases;
}

}  // namespace fovea::test
