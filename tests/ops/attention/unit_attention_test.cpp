#include "ops/attention/unit_attention.h"

#include "ops/attention/attention.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/linear.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;

namespace {

using Numbers = std::vector<std::int64_t>;

ops::HeadView part_of(const Tensor& qkv, std::int64_t heads, std::int64_t part) {
  const std::int64_t dim = qkv.size(2) / 3;
  return ops::heads(qkv, heads, dim / heads, part * dim, dim / heads);
}

Tensor attend(const Tensor& qkv, std::int64_t heads, const ops::Units& units,
              const ops::UnitAttentionOptions& options) {
  return ops::unit_attention(part_of(qkv, heads, 0), part_of(qkv, heads, 1), part_of(qkv, heads, 2),
                             units, options);
}

Numbers values_of(const Tensor& x) {
  const auto values = x.host_values<std::int64_t>();
  return {values.begin(), values.end()};
}

// (b, h, w, c) -> (b * windows, side * side, c), and back.
Tensor windows_of(const Tensor& x, std::int64_t side) {
  const std::int64_t h = x.size(1) / side, w = x.size(2) / side;
  const Tensor cut = ops::reshape(x, {x.size(0), h, side, w, side, x.size(3)});
  return ops::reshape(ops::permute(cut, {0, 1, 3, 2, 4, 5}), {-1, side * side, x.size(3)});
}
Tensor map_of_windows(const Tensor& x, std::int64_t side, std::int64_t b, std::int64_t h,
                      std::int64_t w) {
  const Tensor cut = ops::reshape(x, {b, h / side, w / side, side, side, x.size(2)});
  return ops::reshape(ops::permute(cut, {0, 1, 3, 2, 4, 5}), {b, h, w, x.size(2)});
}

struct Shifted {
  std::int64_t h, w, side, shift;
  bool padded_first;
};

// The long way of Swin: roll and pad the map, cut windows out, mask, and all that back.
Tensor long_way(const Tensor& qkv, std::int64_t heads, const Shifted& s, const Tensor& bias,
                const Tensor& padding) {
  const std::int64_t b = qkv.size(0), c = qkv.size(2) / 3, dim = c / heads;
  const auto whole = [&](std::int64_t n) { return (n + s.side - 1) / s.side * s.side; };
  const std::int64_t h = whole(s.h), w = whole(s.w);
  // A map that tells what is padding, beside the projection.
  const Tensor real = ops::ones({b, s.h, s.w, 1}, qkv.dtype(), qkv.device());
  Tensor map = ops::concat({ops::reshape(qkv, {b, s.h, s.w, 3 * c}), real}, 3);
  const auto roll = [&](const Tensor& x, std::int64_t by) {
    return ops::roll(x, {by, by}, {1, 2});
  };
  const auto pad = [&](const Tensor& x) {
    return ops::pad(x, {{0, 0}, {0, h - s.h}, {0, w - s.w}, {0, 0}});
  };
  map = s.padded_first ? roll(pad(map), -s.shift) : pad(roll(map, -s.shift));
  const Tensor is_real = ops::slice(map, 3, 3 * c, 1);
  const Tensor filled =
      ops::add(ops::slice(map, 3, 0, 3 * c),
               ops::mul(ops::affine(is_real, -1, 1), ops::reshape(padding, {1, 1, 1, 3 * c})));
  const Tensor in_windows = windows_of(filled, s.side);
  std::vector<double> labels;
  const auto label = [&](std::int64_t i, std::int64_t size) {
    return s.shift == 0 || i < size - s.side ? 0 : i < size - s.shift ? 1 : 2;
  };
  for (std::int64_t i = 0; i < h; ++i) {
    for (std::int64_t j = 0; j < w; ++j) labels.push_back(3 * label(i, h) + label(j, w));
  }
  const Tensor regions = windows_of(Tensor::from(labels, {1, h, w, 1}, cpu()), s.side);
  const std::int64_t count = regions.size(0), members = s.side * s.side;
  const Tensor across = ops::not_equal(regions, ops::reshape(regions, {count, 1, members}));
  const Tensor mask = ops::mul(ops::cast(across, DType::kFloat64), -100);
  const auto heads_of = [&](std::int64_t part) {
    return ops::take_heads(ops::heads(in_windows, heads, dim, part * c, dim));
  };
  Tensor scores = ops::add(ops::mul(ops::matmul(heads_of(0), heads_of(1), false, true), 0.3), bias);
  scores = ops::add(ops::reshape(scores, {b, count, heads, members, members}),
                    ops::reshape(mask, {1, count, 1, members, members}));
  const Tensor y = ops::matmul(
      ops::reshape(ops::softmax(scores), {b * count, heads, members, members}), heads_of(2));
  Tensor out = map_of_windows(ops::merge_heads(y), s.side, b, h, w);
  const auto crop = [&](const Tensor& x) {
    return ops::slice(ops::slice(x, 1, 0, s.h), 2, 0, s.w);
  };
  out = s.padded_first ? crop(roll(out, s.shift)) : roll(crop(out), s.shift);
  return ops::reshape(out, {b, s.h * s.w, c});
}

}  // namespace

TEST_CASE("units: local, dilated and padded ones of a grid", "[ops]") {
  const ops::Units local({.grid = {2, 3}, .unit = {2, 2}}, cpu());
  CHECK(values_of(local.tokens()) == Numbers{0, 1, 3, 4, 2, -1, 5, -1});
  CHECK(!local.regions().defined());
  CHECK(local.padded());
  const ops::Units dilated({.grid = {4, 2}, .unit = {2, 2}, .count = {2, 1}, .dilated = true},
                           cpu());
  CHECK(values_of(dilated.tokens()) == Numbers{0, 1, 4, 5, 2, 3, 6, 7});
  // dformer, figure 3: 6 x 6 x 6 tokens, units of 27 that take every second one.
  const ops::Units cube({.grid = {6, 6, 6}, .unit = {3, 3, 3}, .count = {2, 2, 2}, .dilated = true},
                        cpu());
  const Numbers tokens = values_of(cube.tokens());
  CHECK(cube.count() == 8);
  CHECK(tokens[27] == 1);
  CHECK(tokens[27 + 26] == 4 * 36 + 4 * 6 + 5);
}

TEST_CASE("units: shifted ones have regions", "[ops]") {
  const ops::Units units({.grid = {4}, .unit = {2}, .shift = {1}}, cpu());
  CHECK(values_of(units.tokens()) == Numbers{1, 2, 3, 0});
  CHECK(values_of(units.regions()) == Numbers{0, 0, 1, 2});
  const ops::Units padded({.grid = {3}, .unit = {2}, .shift = {1}}, cpu());
  CHECK(values_of(padded.tokens()) == Numbers{1, 2, -1, 0});
  const ops::Units rolled({.grid = {3}, .unit = {2}, .shift = {1}, .padded_first = false}, cpu());
  CHECK(values_of(rolled.tokens()) == Numbers{1, 2, 0, -1});
}

TEST_CASE("units: what does not fit is named", "[ops]") {
  const auto plan = [](ops::UnitPlan p) { return ops::Units(p, cpu()); };
  CHECK_THROWS_WITH(plan({.grid = {4, 4}, .unit = {2}}), Catch::Contains("differ in their axes"));
  CHECK_THROWS_WITH(plan({.grid = {4, 0}, .unit = {2, 2}}), Catch::Contains("at least 1"));
  CHECK_THROWS_WITH(plan({.grid = {5}, .unit = {2}, .count = {2}}),
                    Catch::Contains("units that cover it"));
  CHECK_THROWS_WITH(plan({.grid = {4}, .unit = {2}, .shift = {2}}),
                    Catch::Contains("smaller shift"));
  const auto table = [](const Numbers& tokens) { return ops::Units(2, 2, tokens, {}, cpu()); };
  CHECK_THROWS_WITH(table({0, 0}), Catch::Contains("token 0 is in two places"));
  CHECK_THROWS_WITH(table({0, -1}), Catch::Contains("1 of 2 tokens"));
  CHECK_THROWS_WITH(table({0, 2}), Catch::Contains("token 2 of 2"));
  CHECK_THROWS_WITH(table({0, 1, -1}), Catch::Contains("whole units"));
}

TEST_CASE("relative positions: query minus key, row by row", "[ops]") {
  const ops::RelativePositions positions({2, 3}, cpu());
  CHECK(positions.rows() == 15);
  const Numbers index = values_of(positions.index());
  CHECK(index[0] == 1 * 5 + 2);      // a member and itself
  CHECK(index[5] == 0 * 5 + 0);      // the first one and the last
  CHECK(index[5 * 6] == 2 * 5 + 4);  // the last one and the first
  check_gradients([&](const auto& t) { return positions.bias(t[0]); }, {random_tensor({15, 2}, 1)});
}

TEST_CASE("unit_attention: equals rolled and padded maps cut into windows", "[ops][attention]") {
  const auto s = GENERATE(values<Shifted>({{4, 8, 4, 0, true},
                                           {8, 8, 4, 2, true},
                                           {7, 5, 4, 0, true},
                                           {7, 5, 4, 2, true},
                                           {7, 5, 4, 2, false},
                                           {9, 6, 3, 1, false}}));
  const std::int64_t heads = 2, width = 12, members = s.side * s.side;
  const ops::Units units({.grid = {s.h, s.w},
                          .unit = {s.side, s.side},
                          .shift = {s.shift, s.shift},
                          .padded_first = s.padded_first},
                         cpu());
  const auto short_way = [&](const auto& t) {
    return attend(t[0], heads, units,
                  {.scale = 0.3, .bias = t[1], .padding_attends = true, .padding = t[2]});
  };
  const std::vector<Tensor> inputs = {random_tensor({2, s.h * s.w, width}, 1),
                                      random_tensor({heads, members, members}, 2),
                                      random_tensor({width}, 3)};
  const Tensor expected = long_way(inputs[0], heads, s, inputs[1], inputs[2]);
  CHECK(max_difference(short_way(inputs), expected) < 1e-13);
  const Tensor upstream = random_tensor(expected.shape(), 4);
  std::vector<Tensor> a, b;
  for (const Tensor& x : inputs) {
    a.push_back(trainable(ops::clone(x)));
    b.push_back(trainable(ops::clone(x)));
  }
  autograd::backward(short_way(a), upstream);
  autograd::backward(long_way(b[0], heads, s, b[1], b[2]), upstream);
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (i == 2 && !units.padded()) continue;
    CHECK(max_difference(a[i].grad(), b[i].grad()) < 1e-12);
  }
}

TEST_CASE("unit_attention: gradients", "[ops][attention]") {
  struct Kind {
    ops::UnitPlan plan;
    bool padding_attends;
  };
  const auto kind = GENERATE(values<Kind>(
      {{{.grid = {1}, .unit = {1}}, false},
       {{.grid = {5}, .unit = {3}}, false},
       {{.grid = {2, 3}, .unit = {2, 2}, .shift = {1, 1}}, true},
       {{.grid = {2, 3, 4}, .unit = {1, 2, 2}, .count = {2, 2, 2}, .dilated = true}, false}}));
  const ops::Units units(kind.plan, cpu());
  const std::int64_t m = units.members();
  check_gradients(
      [&](const auto& t) {
        ops::UnitAttentionOptions options{
            .scale = 0.5, .bias = t[1], .region_mask = -1, .padding_attends = kind.padding_attends};
        if (kind.padding_attends) options.padding = t[2];
        Tensor y = attend(t[0], 2, units, options);
        // So that it counts in every case.
        return kind.padding_attends ? y : ops::add(y, ops::sum(t[2]));
      },
      {random_tensor({2, units.n(), 12}, 1), random_tensor({2, m, m}, 2), random_tensor({12}, 3)});
}

TEST_CASE("attend_units: maps times values, and its gradients, are those of unit_attention",
          "[ops][attention][long]") {
  const bool attends = GENERATE(false, true);
  const bool dilated = GENERATE(false, true);
  ops::UnitPlan plan{.grid = {3, 5}, .unit = {2, 3}, .dilated = dilated};
  if (dilated) plan.count = {2, 2};
  const ops::Units units(plan, cpu());
  const std::int64_t m = units.members();
  const auto composed = [&](const auto& t) {
    const ops::UnitAttentionOptions options{.scale = 0.4,
                                            .bias = t[1],
                                            .padding_attends = attends,
                                            .padding = attends ? t[2] : Tensor()};
    const Tensor maps =
        ops::unit_attention_map(part_of(t[0], 2, 0), part_of(t[0], 2, 1), units, options);
    const Tensor y = ops::attend_units(maps, part_of(t[0], 2, 2), units, options);
    CHECK(max_difference(y, attend(t[0], 2, units, options)) < 1e-12);
    return attends ? y : ops::add(y, ops::sum(t[2]));
  };
  check_gradients(composed, {random_tensor({2, 15, 12}, 1), random_tensor({2, m, m}, 2),
                             random_tensor({12}, 3)});
}

TEST_CASE("unit_attention: is its maps times the values", "[ops][attention]") {
  const bool attends = GENERATE(false, true);
  const ops::Units units({.grid = {3, 5}, .unit = {2, 3}, .shift = {1, 1}}, cpu());
  const Tensor qkv = random_tensor({2, 15, 24}, 1);
  const ops::UnitAttentionOptions options{.scale = 0.4,
                                          .bias = random_tensor({2, 6, 6}, 2),
                                          .padding_attends = attends,
                                          .padding = attends ? random_tensor({24}, 3) : Tensor()};
  const Tensor map =
      ops::unit_attention_map(part_of(qkv, 2, 0), part_of(qkv, 2, 1), units, options);
  CHECK(map.shape() == Shape{2, 2, 4, 6, 6});
  // Values: one for each token, its number; of padding what the option says.
  const Numbers tokens = values_of(units.tokens());
  const std::vector<double> weights = to_doubles(map);
  Tensor values = ops::clone(qkv);
  edit<double>(values, [](auto all) {
    for (std::size_t row = 0; row < 30; ++row) {
      for (std::size_t c = 16; c < 24; ++c) all[row * 24 + c] = static_cast<double>(row % 15);
    }
  });
  ops::UnitAttentionOptions with_values = options;
  if (attends) {
    with_values.padding = ops::clone(options.padding);
    edit<double>(with_values.padding, [](auto all) {
      for (std::size_t c = 16; c < 24; ++c) all[c] = -7;
    });
  }
  const std::vector<double> out = to_doubles(attend(values, 2, units, with_values));
  double largest = 0;
  for (std::size_t item = 0; item < 2; ++item) {
    for (std::size_t head = 0; head < 2; ++head) {
      for (std::size_t place = 0; place < 24; ++place) {
        const std::size_t row = ((item * 2 + head) * 24 + place) * 6;
        double sum = 0, total = 0;
        for (std::size_t key = 0; key < 6; ++key) {
          const std::int64_t token = tokens[place / 6 * 6 + key];
          sum += weights[row + key] * static_cast<double>(token < 0 ? -7 : token);
          total += weights[row + key];
        }
        CHECK(total == Approx(tokens[place] < 0 ? 0 : 1).margin(1e-12));
        if (tokens[place] < 0) continue;
        const auto token = static_cast<std::size_t>(tokens[place]);
        largest = std::max(largest, std::abs(out[(item * 15 + token) * 8 + head * 4] - sum));
      }
    }
  }
  CHECK(largest < 1e-12);
}

TEST_CASE("unit_attention: one unit of many tokens is attention", "[ops][attention]") {
  const std::int64_t tokens = GENERATE(257, 324, 520);
  const ops::Units units({.grid = {tokens}, .unit = {tokens}}, cpu());
  const auto run = [&](bool whole) {
    const Tensor qkv = trainable(random_tensor({1, tokens, 3 * 2 * 5}, 1));
    const ops::HeadView q = part_of(qkv, 2, 0), k = part_of(qkv, 2, 1), v = part_of(qkv, 2, 2);
    const Tensor y = whole ? ops::attention(q, k, v, {.scale = 0.5})
                           : ops::unit_attention(q, k, v, units, {.scale = 0.5});
    autograd::backward(ops::sum(ops::mul(y, random_tensor(y.shape(), 2))));
    return std::pair{y.detach(), qkv.grad()};
  };
  const auto [y, gradient] = run(false);
  const auto [expected, expected_gradient] = run(true);
  CHECK(max_difference(y, expected) < 1e-12);
  CHECK(max_difference(gradient, expected_gradient) < 1e-11);
}

TEST_CASE("unit_attention: dilated units are local ones of a permuted grid", "[ops][attention]") {
  const Tensor qkv = random_tensor({1, 12, 12}, 1);
  const ops::Units dilated({.grid = {12}, .unit = {4}, .dilated = true}, cpu());
  const ops::Units local({.grid = {12}, .unit = {4}}, cpu());
  const auto spread = [](const Tensor& x, std::int64_t rows) {  // token a + 3 i <-> 4 a + i
    return ops::reshape(ops::permute(ops::reshape(x, {rows, 12 / rows, x.size(2)}), {1, 0, 2}),
                        x.shape());
  };
  const Tensor expected = spread(attend(spread(qkv, 4), 2, local, {}), 3);
  CHECK(max_difference(attend(qkv, 2, dilated, {}), expected) < 1e-14);
}

TEST_CASE("unit_attention: the same bits for any number of threads", "[ops][attention][host]") {
  const auto run = [](int threads, DType dtype) {
    const Device device = make_cpu(threads);
    const ops::Units units({.grid = {15, 13}, .unit = {4, 4}, .shift = {2, 2}}, device);
    const auto there = [&](const Shape& shape, std::uint64_t seed, DType type) {
      return trainable(ops::to(ops::cast(random_tensor(shape, seed), type), device));
    };
    const std::vector<Tensor> in = {there({3, 195, 48}, 1, dtype),
                                    there({4, 16, 16}, 2, compute_dtype(dtype)),
                                    there({48}, 3, dtype)};
    const Tensor y =
        attend(in[0], 4, units, {.bias = in[1], .padding_attends = true, .padding = in[2]});
    autograd::backward(y, ops::ones_like(y));
    std::vector<std::vector<double>> all{to_doubles(y)};
    for (const Tensor& x : in) all.push_back(to_doubles(x.grad()));
    return all;
  };
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16})
    CHECK(run(1, dtype) == run(3, dtype));
}

TEST_CASE("unit_attention: the same bits for any number of threads where there are many pieces",
          "[ops][attention][host]") {
  const auto run = [](int threads) {
    const Device device = make_cpu(threads);
    const ops::Units units({.grid = {56, 56}, .unit = {7, 7}, .shift = {3, 3}}, device);
    const auto there = [&](const Shape& shape, std::uint64_t seed) {
      return trainable(random_tensor(shape, seed, DType::kFloat32).copy_on(device));
    };
    const std::vector<Tensor> in = {there({8, 56 * 56, 96}, 1), there({2, 49, 49}, 2)};
    const Tensor y = attend(in[0], 2, units, {.bias = in[1]});
    autograd::backward(y, ops::ones_like(y));
    std::vector<std::vector<double>> all{to_doubles(y)};
    for (const Tensor& x : in) all.push_back(to_doubles(x.grad()));
    return all;
  };
  const auto one = run(1);
  CHECK(run(2) == one);
  CHECK(run(5) == one);
}

TEST_CASE("unit_attention: memory grows with the tokens", "[ops][attention][host]") {
  const auto peak = [](std::int64_t n) {
    const Device device = make_cpu(1);
    const ops::Units units({.grid = {n}, .unit = {64}}, device);
    const Tensor qkv = trainable(ops::zeros({1, n, 24}, DType::kFloat32, device));
    const Tensor y = attend(qkv, 1, units, {});
    autograd::backward(y, ops::ones_like(y));
    return device.allocator().stats().peak_bytes;
  };
  CHECK(peak(8192) < 3 * peak(4096));
}

TEST_CASE("unit_attention: wrong shapes are named", "[ops][attention]") {
  const ops::Units units({.grid = {4}, .unit = {2}}, cpu());
  const Tensor qkv = random_tensor({1, 4, 12}, 1);
  CHECK_THROWS_WITH(attend(random_tensor({1, 5, 12}, 1), 2, units, {}),
                    Catch::Contains("5 queries and 5 keys; the units have 4 tokens"));
  CHECK_THROWS_WITH(attend(qkv, 2, units, {.bias = random_tensor({2, 3, 3}, 2)}),
                    Catch::Contains("bias is float64 (2, 3, 3); expected float64 (2, 2, 2)"));
  CHECK_THROWS_WITH(attend(qkv, 2, units, {.padding = random_tensor({12}, 2)}),
                    Catch::Contains("padding_attends"));
  CHECK_THROWS_WITH(
      attend(qkv, 2, units, {.padding_attends = true, .padding = random_tensor({4}, 2)}),
      Catch::Contains("padding is float64 (4)"));
  const auto shared = ops::heads(qkv, 2, 4, 0, 4);
  CHECK_THROWS_WITH(ops::unit_attention(shared, shared, shared, units, {}),
                    Catch::Contains("share channels"));
}
