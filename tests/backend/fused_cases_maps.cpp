#include "tests/backend/fused_cases.h"

namespace fovea::test {
namespace {

using Outputs = std::vector<Tensor>;

const Shape kMap{2, 6, 4, 5};

FusedCase stats_case(std::int64_t groups, const Shape& map = kMap) {
  return {"channel_norm_stats", std::to_string(groups) + " groups", true,
          [=](const Backend& b, Operands& o) -> Outputs {
            const Shape sets = groups == 0 ? Shape{map[1]} : Shape{map[0], groups};
            const ChannelStatsArgs args{.groups = groups,
                                        .eps = 1e-5,
                                        .x = o.x(map),
                                        .mean = o.to_c(sets),
                                        .rstd = o.to_c(sets)};
            b.channel_norm_stats(args);
            return {args.mean, args.rstd};
          }};
}

struct NormOf {
  const char* name;
  std::int64_t groups = 0;
  bool affine = true, residual = false, relu = false, fixed = false;
  bool by_result = false;  // backward sees the result instead of the residual
  Shape map = kMap;
};

NormedMap map_of(const NormOf& n, Operands& o) {
  const Shape channels{n.map[1]};
  const Shape sets = n.groups == 0 ? channels : Shape{n.map[0], n.groups};
  return {.x = o.x(n.map),
          .norm = {.mean = o.c(sets),
                   .rstd = o.between(0.5, 2, sets),
                   .weight = n.affine ? o.c(channels) : Tensor(),
                   .bias = n.affine ? o.c(channels) : Tensor()},
          .residual = n.residual ? o.x(n.map) : Tensor(),
          .relu = n.relu,
          .groups = n.groups,
          .fixed_stats = n.fixed};
}

FusedCase norm_case(const NormOf& n) {
  return {"channel_norm", n.name, true, [=](const Backend& b, Operands& o) -> Outputs {
            const Tensor y = o.to_x(n.map);
            b.channel_norm(map_of(n, o), y);
            return {y};
          }};
}

FusedCase norm_backward_case(const NormOf& n) {
  return {"channel_norm_backward", n.name, true, [=](const Backend& b, Operands& o) -> Outputs {
            NormedMap of = map_of(n, o);
            Tensor y;
            if (n.by_result) {
              y = o.to_x(n.map);
              cpu().backend().channel_norm(of, y);
              of.residual = {};
            }
            const Tensor dy = o.x(n.map);
            const bool splits = n.residual && n.relu;
            const Shape channels{n.map[1]};
            const ChannelNormGradients to{.x = splits ? o.to_x(n.map) : dy,  // written over dy
                                          .weight = n.affine ? o.to_c(channels) : Tensor(),
                                          .bias = n.affine ? o.to_c(channels) : Tensor(),
                                          .residual = splits ? dy : Tensor()};
            b.channel_norm_backward({.of = of, .y = y, .dy = dy, .to = to});
            Outputs written{to.x};
            for (const Tensor& other : {to.weight, to.bias, to.residual}) {
              if (other.defined()) written.push_back(other);
            }
            return written;
          }};
}

Outputs conv_norm_backward_weight(const Backend& b, Operands& o) {
  const NormedMap x = map_of({.name = "", .residual = true, .relu = true}, o);
  const Tensor dweight = o.to_c({4, 6, 3, 3});
  b.conv_norm_backward_weight({.stride = {1, 1}, .padding = {1, 1}, .dilation = {1, 1}}, x,
                              o.x({2, 4, 4, 5}), dweight);
  return {dweight};
}

template <bool kResidual>
Outputs token_conv(const Backend& b, Operands& o) {
  const TokenConvArgs args{.residual = kResidual,
                           .x = o.x({2, 4, 5, 7}),
                           .weight = o.c({7, 1, 3, 5}),
                           .bias = o.c({7}),
                           .y = o.to_x({2, 4, 5, 7})};
  b.token_conv(args);
  return {args.y};
}

template <bool kResidual>
Outputs token_conv_backward(const Backend& b, Operands& o) {
  const TokenConvBackwardArgs args{.residual = kResidual,
                                   .x = o.x({2, 4, 5, 7}),
                                   .weight = o.c({7, 1, 3, 5}),
                                   .dy = o.x({2, 4, 5, 7}),
                                   .dx = o.to_x({2, 4, 5, 7}),
                                   .dweight = o.to_c({7, 1, 3, 5}),
                                   .dbias = o.to_c({7})};
  b.token_conv_backward(args);
  return {args.dx, args.dweight, args.dbias};
}

Outputs token_conv_many_backward(const Backend& b, Operands& o) {
  const Shape grid{2, 30, 9, 5};
  const TokenConvBackwardArgs args{.x = o.x(grid),
                                   .weight = o.c({5, 1, 3, 3}),
                                   .dy = o.x(grid),
                                   .dx = o.to_x(grid),
                                   .dweight = o.to_c({5, 1, 3, 3}),
                                   .dbias = o.to_c({5})};
  b.token_conv_backward(args);
  return {args.dx, args.dweight, args.dbias};
}

Outputs token_conv_volume(const Backend& b, Operands& o) {
  const TokenConvArgs args{.residual = true,
                           .x = o.x({2, 3, 4, 5, 7}),
                           .weight = o.c({7, 1, 3, 3, 5}),
                           .bias = o.c({7}),
                           .y = o.to_x({2, 3, 4, 5, 7})};
  b.token_conv(args);
  return {args.y};
}

Outputs token_conv_volume_backward(const Backend& b, Operands& o) {
  const TokenConvBackwardArgs args{.residual = true,
                                   .x = o.x({2, 3, 4, 5, 7}),
                                   .weight = o.c({7, 1, 3, 3, 5}),
                                   .dy = o.x({2, 3, 4, 5, 7}),
                                   .dx = o.to_x({2, 3, 4, 5, 7}),
                                   .dweight = o.to_c({7, 1, 3, 3, 5}),
                                   .dbias = o.to_c({7})};
  b.token_conv_backward(args);
  return {args.dx, args.dweight, args.dbias};
}

FusedCase scaled_sum_case(bool in_place) {
  return {"scaled_sum", in_place ? "in place" : "of nothing", true,
          [=](const Backend& b, Operands& o) -> Outputs {
            const Tensor y = in_place ? o.x(kMap) : o.to_x(kMap);
            b.scaled_sum(in_place ? y : Tensor(), o.c({2, 6}), o.x(kMap), y);
            return {y};
          }};
}

Outputs scaled_sum_backward(const Backend& b, Operands& o) {
  const Tensor dw = o.to_c({2, 6});
  b.scaled_sum_backward(o.x(kMap), o.x(kMap), dw);
  return {dw};
}

struct ValueOf {
  const char* name;
  bool before = true, keep = true, fixed = false, relu = true, add_x = true, adds = false;
  Shape map = kMap;
};

ValueNorm value_of(const ValueOf& v, const Tensor& u, Operands& o) {
  const Shape channels{v.map[1]}, planes{v.map[0], v.map[1]};
  return {.u = u,
          .kernel = o.c({v.map[1], 9}),
          .scale = o.c(planes),
          .norm = {.mean = o.c(channels),
                   .rstd = o.between(0.5, 2, channels),
                   .weight = o.c(channels),
                   .bias = o.c(channels)},
          .keep = v.keep ? o.between(0, 2, planes) : Tensor(),
          .fixed_stats = v.fixed,
          .relu = v.relu,
          .add_x = v.add_x};
}

FusedCase running_value_case(const ValueOf& v) {
  return {"running_value", v.name, true, [=](const Backend& b, Operands& o) -> Outputs {
            const ValueNorm of = value_of(v, o.to_x(v.map), o);
            const RunningValueArgs args{.eps = 1e-5,
                                        .before = v.before ? o.x(v.map) : Tensor(),
                                        .w = o.c({v.map[0], v.map[1]}),
                                        .x = o.x(v.map)};
            b.running_value(args, of);
            return {of.u, of.norm.mean, of.norm.rstd};
          }};
}

FusedCase value_norm_case(const ValueOf& v) {
  return {"value_norm", v.name, true, [=](const Backend& b, Operands& o) -> Outputs {
            const ValueNorm of = value_of(v, o.x(v.map), o);
            const Tensor y = o.to_x(v.map);
            b.value_norm(of, o.x(v.map), y);
            return {y};
          }};
}

FusedCase value_norm_backward_case(const ValueOf& v) {
  return {"value_norm_backward", v.name, true, [=](const Backend& b, Operands& o) -> Outputs {
            const Tensor dy = o.x(v.map);
            const ValueNormBackwardArgs args{.of = value_of(v, o.x(v.map), o),
                                             .w = o.c({v.map[0], v.map[1]}),
                                             .x = o.x(v.map),
                                             .dy = dy,
                                             .to = {.u = o.x(v.map),
                                                    .w = o.to_c({v.map[0], v.map[1]}),
                                                    .x = dy,
                                                    .kernel = o.to_c({v.map[1], 9}),
                                                    .scale = o.to_c({v.map[0], v.map[1]}),
                                                    .weight = o.to_c({v.map[1]}),
                                                    .bias = o.to_c({v.map[1]}),
                                                    .adds = v.adds}};
            b.value_norm_backward(args);
            const ValueNormGradients& to = args.to;
            return {to.u, to.w, to.x, to.kernel, to.scale, to.weight, to.bias};
          }};
}

// Boxes of two items: inside, over the edges, larger than the map, of no area, turned around, far
// away. Rows of the result that no box writes stay.
RoiAlignArgs roi_args(std::int64_t sampling_ratio) {
  const std::vector<float> boxes{0,   3,  2,  21, 17, 1,   -9, -6, 70, 60,   1,    10, 5,  10,
                                 30,  0,  20, 18, 4,  3,   0,  0,  0,  4000, 4000, 1,  90, 2,
                                 200, 20, 1,  8,  8,  8.5, 9,  0,  3,  2,    21,   17};
  const std::vector<std::int64_t> rows{7, 0, 3, 1, 2, 8, 4, 6};
  return {.scale = 0.25,
          .sampling_ratio = sampling_ratio,
          .boxes = Tensor::from(boxes, {8, 5}, cpu()),
          .rows = Tensor::from(rows, {8}, cpu())};
}

FusedCase roi_case(std::int64_t sampling_ratio, std::int64_t channels) {
  return {"roi_align", std::to_string(sampling_ratio), true,
          [=](const Backend& b, Operands& o) -> Outputs {
            const Tensor y = o.x({9, channels, 3, 2});
            b.roi_align(roi_args(sampling_ratio), o.x({2, channels, 9, 23}), y);
            return {y};
          }};
}

FusedCase roi_backward_case(std::int64_t sampling_ratio, std::int64_t channels, bool add = false) {
  return {"roi_align_backward", std::to_string(sampling_ratio) + (add ? ", adds" : ""), true,
          [=](const Backend& b, Operands& o) -> Outputs {
            const Shape map{2, channels, 9, 23};
            const Tensor dx = add ? o.x(map) : o.to_x(map);
            RoiAlignArgs args = roi_args(sampling_ratio);
            args.add = add;
            b.roi_align_backward(args, o.x({9, channels, 3, 2}), dx);
            return {dx};
          }};
}

// No boxes: the gradient is 0.
Outputs roi_align_nothing(const Backend& b, Operands& o) {
  const RoiAlignArgs args{.boxes = Tensor::empty({0, 5}, DType::kFloat32, cpu()),
                          .rows = Tensor::empty({0}, DType::kInt64, cpu())};
  const Tensor dx = o.x({2, 3, 4, 5});
  b.roi_align_backward(args, o.x({0, 3, 2, 2}), dx);
  return {dx};
}

}  // namespace

std::vector<FusedCase> cases_of_maps() {
  const Shape large{2, 2, 95, 90}, nothing{0, 6, 4, 5};
  std::vector<FusedCase> cases = {stats_case(0), stats_case(3), stats_case(0, large),
                                  stats_case(1, large), stats_case(0, nothing)};
  for (const NormOf& n :
       {NormOf{.name = "batch norm"}, NormOf{.name = "plain", .affine = false},
        NormOf{.name = "groups", .groups = 3}, NormOf{.name = "fixed", .relu = true, .fixed = true},
        NormOf{.name = "relu of a sum", .residual = true, .relu = true},
        NormOf{.name = "relu by the result", .residual = true, .relu = true, .by_result = true},
        NormOf{.name = "large", .map = large},
        NormOf{.name = "groups of large planes", .groups = 1, .map = large},
        NormOf{.name = "nothing", .map = nothing}}) {
    cases.push_back(norm_case(n));
    cases.push_back(norm_backward_case(n));
  }
  cases.push_back({"conv_norm_backward_weight", "", true, conv_norm_backward_weight});
  cases.push_back({"token_conv", "", true, token_conv<false>});
  cases.push_back({"token_conv_backward", "", true, token_conv_backward<false>});
  cases.push_back({"token_conv_backward", "many tokens", true, token_conv_many_backward});
  cases.push_back({"token_conv", "residual", true, token_conv<true>});
  cases.push_back({"token_conv_backward", "residual", true, token_conv_backward<true>});
  cases.push_back({"token_conv", "volume", true, token_conv_volume});
  cases.push_back({"token_conv_backward", "volume", true, token_conv_volume_backward});
  cases.push_back(scaled_sum_case(true));
  cases.push_back(scaled_sum_case(false));
  cases.push_back({"scaled_sum_backward", "", true, scaled_sum_backward});
  for (const ValueOf& v :
       {ValueOf{.name = "all"}, ValueOf{.name = "first", .before = false, .keep = false},
        ValueOf{.name = "fixed", .fixed = true, .adds = true},
        ValueOf{.name = "linear, alone", .relu = false, .add_x = false, .adds = true},
        ValueOf{.name = "large", .map = large}}) {
    cases.push_back(running_value_case(v));
    cases.push_back(value_norm_case(v));
    cases.push_back(value_norm_backward_case(v));
  }
  for (const std::int64_t sampling_ratio : {0, 2}) {
    for (const std::int64_t channels : {1, 11}) {
      cases.push_back(roi_case(sampling_ratio, channels));
      for (const bool add : {false, true})
        cases.push_back(roi_backward_case(sampling_ratio, channels, add));
    }
  }
  cases.push_back({"roi_align_backward", "of nothing", true, roi_align_nothing});
  return cases;
}

}  // namespace fovea::test
