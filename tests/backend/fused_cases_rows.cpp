#include "tests/backend/fused_cases.h"

namespace fovea::test {
namespace {

using Outputs = std::vector<Tensor>;

Tensor bytes(const std::vector<std::uint8_t>& values, const Shape& shape) {
  return Tensor::from(values, shape, cpu());
}

Tensor numbers(const std::vector<std::int64_t>& values, const Shape& shape) {
  return Tensor::from(values, shape, cpu());
}

// x is (items, heads, queries, keys).
FusedCase softmax_case(const std::string& variant, const SoftmaxArgs& args, bool masked,
                       const Shape& shape = {2, 3, 4, 5}) {
  return {"softmax", variant, false, [=](const Backend& b, Operands& o) -> Outputs {
            const Tensor x = o.x(shape);
            // The second item may see nothing.
            std::vector<std::uint8_t> allowed(static_cast<std::size_t>(2 * shape[3]));
            for (std::size_t j = 0; j < allowed.size() / 2; ++j) allowed[j] = j % 4 == 1 ? 0 : 1;
            const Tensor mask = masked ? bytes(allowed, {2, shape[3]}) : Tensor();
            const Tensor y = o.to_x(x.shape());
            b.softmax(args, x, mask, y);
            return {y};
          }};
}

FusedCase softmax_backward_case(bool log, const Shape& shape = {6, 9}) {
  return {"softmax_backward", log ? "log" : "plain", false,
          [=](const Backend& b, Operands& o) -> Outputs {
            const Tensor y = o.to_x(shape);
            cpu().backend().softmax({.log = log}, o.x(shape), {}, y);
            const Tensor dx = o.to_x(shape);
            b.softmax_backward({.log = log}, y, o.x(shape), dx);
            return {dx};
          }};
}

FusedCase layer_norm_case(bool affine, const Shape& shape = {3, 4, 17}) {
  return {"layer_norm", (affine ? "affine " : "plain ") + to_string(shape), true,
          [=](const Backend& b, Operands& o) -> Outputs {
            const Shape rows = shape.part(0, 2), row = shape.part(2, 3);
            const LayerNormArgs args{.eps = 1e-5,
                                     .x = o.x(shape),
                                     .weight = affine ? o.c(row) : Tensor(),
                                     .bias = affine ? o.c(row) : Tensor(),
                                     .y = o.to_x(shape),
                                     .mean = o.to_c(rows),
                                     .rstd = o.to_c(rows)};
            b.layer_norm(args);
            return {args.y, args.mean, args.rstd};
          }};
}

FusedCase layer_norm_backward_case(bool affine, const Shape& shape = {3, 4, 17}) {
  return {"layer_norm_backward", (affine ? "affine " : "plain ") + to_string(shape), true,
          [=](const Backend& b, Operands& o) -> Outputs {
            const Shape rows = shape.part(0, 2), row = shape.part(2, 3);
            const LayerNormBackwardArgs args{.x = o.x(shape),
                                             .weight = affine ? o.c(row) : Tensor(),
                                             .mean = o.c(rows),
                                             .rstd = o.between(0.5, 2, rows),
                                             .dy = o.x(shape),
                                             .dx = o.to_x(shape),
                                             .dweight = affine ? o.to_c(row) : Tensor(),
                                             .dbias = affine ? o.to_c(row) : Tensor()};
            b.layer_norm_backward(args);
            if (!affine) return {args.dx};
            return {args.dx, args.dweight, args.dbias};
          }};
}

Outputs rms_norm(const Backend& b, Operands& o) {
  const RmsNormArgs args{.eps = 1e-5,
                         .x = o.x({5, 11}),
                         .weight = o.c({11}),
                         .y = o.to_x({5, 11}),
                         .rstd = o.to_c({5})};
  b.rms_norm(args);
  return {args.y, args.rstd};
}

Outputs rms_norm_backward(const Backend& b, Operands& o) {
  const RmsNormBackwardArgs args{.x = o.x({5, 11}),
                                 .weight = o.c({11}),
                                 .rstd = o.between(0.5, 2, {5}),
                                 .dy = o.x({5, 11}),
                                 .dx = o.to_x({5, 11}),
                                 .dweight = o.to_c({11})};
  b.rms_norm_backward(args);
  return {args.dx, args.dweight};
}

FusedCase linear_backward_weight_case(bool has_bias, const Shape& leading, std::int64_t in,
                                      std::int64_t out) {
  const auto with = [leading](std::int64_t last) {
    Shape shape = leading;
    shape.push_back(last);
    return shape;
  };
  return {"linear_backward_weight", (has_bias ? "bias " : "plain ") + to_string(with(in)), true,
          [=](const Backend& b, Operands& o) -> Outputs {
            const Tensor dweight = o.to_c({out, in}), dbias = has_bias ? o.to_c({out}) : Tensor();
            b.linear_backward_weight(o.x(with(in)), o.x(with(out)), dweight, dbias);
            if (!has_bias) return {dweight};
            return {dweight, dbias};
          }};
}

Tensor some_targets() { return numbers({2, -100, 0, 6, 3}, {5}); }

FusedCase cross_entropy_case(double smoothing, std::int64_t classes = 7) {
  return {"cross_entropy", "smoothing " + std::to_string(smoothing), false,
          [=](const Backend& b, Operands& o) -> Outputs {
            const CrossEntropyArgs args{.smoothing = smoothing,
                                        .ignore_index = -100,
                                        .logits = o.x({5, classes}),
                                        .target = some_targets(),
                                        .loss = o.to_x({5}),
                                        .lse = o.to_x({5})};
            b.cross_entropy(args);
            return {args.loss, args.lse};
          }};
}

FusedCase cross_entropy_backward_case(double smoothing, std::int64_t classes = 7) {
  return {"cross_entropy_backward", "smoothing " + std::to_string(smoothing), false,
          [=](const Backend& b, Operands& o) -> Outputs {
            const CrossEntropyBackwardArgs args{.smoothing = smoothing,
                                                .ignore_index = -100,
                                                .logits = o.x({5, classes}),
                                                .target = some_targets(),
                                                .lse = o.between(2, 3, {5}),
                                                .dloss = o.x({5}),
                                                .dlogits = o.to_x({5, classes})};
            b.cross_entropy_backward(args);
            return {args.dlogits};
          }};
}

Outputs gather_rows(const Backend& b, Operands& o) {
  const Tensor y = o.to_x({2, 2, 6});
  b.gather_rows(o.x({5, 6}), numbers({4, 0, 4, 2}, {2, 2}), y);
  return {y};
}

FusedCase scatter_add_rows_case(std::int64_t entries) {
  return {"scatter_add_rows", std::to_string(entries) + " entries", false,
          [=](const Backend& b, Operands& o) -> Outputs {
            std::vector<std::int64_t> index;
            for (std::int64_t i = 0; i < entries; ++i) index.push_back(i * i % 5);
            const Tensor table = o.x({5, 6});
            b.scatter_add_rows(o.x({2, entries / 2, 6}), numbers(index, {2, entries / 2}), table);
            return {table};
          }};
}

// Two items, one pixel of which does not count.
RegionArgs region(bool sigmoid, Operands& o, std::int64_t pixels = 35) {
  std::vector<std::int64_t> labels;
  for (std::int64_t i = 0; i < 2 * pixels; ++i) labels.push_back(i == 41 ? -100 : i / 3 % 3);
  return {.sigmoid = sigmoid,
          .ignore_index = -100,
          .logits = o.x({2, 4, pixels}),
          .target = numbers(labels, {2, pixels})};
}

FusedCase region_sums_case(bool sigmoid, std::int64_t pixels = 35) {
  return {"region_sums", sigmoid ? "sigmoid" : "softmax", true,
          [=](const Backend& b, Operands& o) -> Outputs {
            const RegionSums to{o.to_c({2, 4}), o.to_c({2, 4}), o.to_c({2, 4}), o.to_c({2, 4}),
                                o.to_c({2})};
            b.region_sums({.of = region(sigmoid, o, pixels), .to = to});
            return {to.both, to.sums, to.squares, to.labels, to.surprise};
          }};
}

FusedCase region_sums_backward_case(bool sigmoid) {
  return {"region_sums_backward", sigmoid ? "sigmoid" : "softmax", true,
          [=](const Backend& b, Operands& o) -> Outputs {
            const RegionSumsBackwardArgs args{.of = region(sigmoid, o),
                                              .dboth = o.c({2, 4}),
                                              .dsums = o.c({2, 4}),
                                              .dsquares = o.c({2, 4}),
                                              .dsurprise = o.c({2}),
                                              .dlogits = o.to_x({2, 4, 35})};
            b.region_sums_backward(args);
            return {args.dlogits};
          }};
}

FusedCase region_areas_case(std::int64_t height, std::int64_t width) {
  return {"region_areas", std::to_string(height * width) + " pixels", false,
          [=](const Backend& b, Operands&) -> Outputs {
            // Blocks, so that some pixels are inside; and one that does not count.
            std::vector<std::int64_t> labels;
            for (std::int64_t i = 0; i < 2 * height * width; ++i)
              labels.push_back(i == 41 ? -100 : (i / width % height / 5 + i % width / 7) % 3);
            const Tensor target = numbers(labels, {2, height, width});
            const auto counts = [] { return Tensor::empty({4}, DType::kFloat64, cpu()); };
            const RegionAreasArgs args{.target = target, .area = counts(), .boundary = counts()};
            b.region_areas(args);
            return {args.area, args.boundary};
          }};
}

}  // namespace

std::vector<FusedCase> cases_of_rows() {
  return {softmax_case("plain", {}, false),
          softmax_case("masked", {}, true),
          softmax_case("causal", {.causal = true}, false),
          softmax_case("causal and masked", {.causal = true}, true),
          softmax_case("log", {.log = true}, false),
          softmax_case("masked, long rows", {}, true, {2, 1, 2, 1100}),
          softmax_case("causal, fewer keys", {.causal = true}, false, {2, 3, 7, 5}),
          softmax_case("causal and masked, whole chunks", {.causal = true}, true, {2, 3, 4, 8}),
          softmax_case("nothing", {}, false, {2, 0, 4, 5}),
          softmax_backward_case(false),
          softmax_backward_case(true),
          softmax_backward_case(false, {3, 300}),
          softmax_backward_case(true, {3, 24}),
          layer_norm_case(true),
          layer_norm_case(false),
          layer_norm_case(true, {2, 2, 2100}),
          layer_norm_case(true, {2, 3, 24}),
          layer_norm_case(true, {2, 0, 17}),
          layer_norm_backward_case(true),
          layer_norm_backward_case(false),
          layer_norm_backward_case(true, {2, 40, 300}),
          layer_norm_backward_case(true, {2, 3, 24}),
          layer_norm_backward_case(true, {2, 0, 17}),
          {"rms_norm", "", true, rms_norm},
          {"rms_norm_backward", "", true, rms_norm_backward},
          linear_backward_weight_case(true, {3, 7}, 5, 9),
          linear_backward_weight_case(true, {2, 310}, 40, 30),
          linear_backward_weight_case(false, {3, 7}, 5, 9),
          cross_entropy_case(0),
          cross_entropy_case(0.1),
          cross_entropy_case(0.1, 130),
          cross_entropy_case(0.1, 136),
          cross_entropy_backward_case(0),
          cross_entropy_backward_case(0.1),
          cross_entropy_backward_case(0.1, 24),
          region_sums_case(false),
          region_sums_case(true),
          region_sums_case(false, 8300),
          region_sums_backward_case(false),
          region_sums_backward_case(true),
          region_areas_case(7, 5),
          region_areas_case(83, 100),
          {"gather_rows", "", true, gather_rows},
          scatter_add_rows_case(4),
          scatter_add_rows_case(300)};
}

}  // namespace fovea::test
