#include "ops/conv/convolution.h"

#include <fmt/format.h>

#include "autograd/mode.h"
#include "autograd/profiler.h"
#include "backend/devices.h"
#include "ops/elementwise.h"
#include "ops/shape.h"
#include "tests/support/ramp.h"

using namespace fovea;
using namespace fovea::test;
using ops::ConvOptions;
using ops::Sizes;

namespace {

// The plain definition over three axes: y, dx and dw from one loop.
struct Reference {
  std::vector<double> y, dx, dw;
};

struct Geometry {
  std::int64_t batch, c_in, c_out, groups;
  Sizes in, kernel, stride, padding, dilation;  // three axes each; leading ones for fewer
  std::int64_t out(std::size_t a) const {
    return (in[a] + 2 * padding[a] - dilation[a] * (kernel[a] - 1) - 1) / stride[a] + 1;
  }
};

Reference direct(const Geometry& g, const std::vector<double>& x, const std::vector<double>& w,
                 const std::vector<double>& dy) {
  Reference r{std::vector<double>(dy.size()), std::vector<double>(x.size()),
              std::vector<double>(w.size())};
  const std::int64_t per_in = g.c_in / g.groups;
  const std::int64_t per_out = g.c_out / g.groups;
  std::size_t at_y = 0;
  for (std::int64_t b = 0; b < g.batch; ++b)
    for (std::int64_t o = 0; o < g.c_out; ++o)
      for (std::int64_t od = 0; od < g.out(0); ++od)
        for (std::int64_t oh = 0; oh < g.out(1); ++oh)
          for (std::int64_t ow = 0; ow < g.out(2); ++ow, ++at_y)
            for (std::int64_t i = 0; i < per_in; ++i)
              for (std::int64_t kd = 0; kd < g.kernel[0]; ++kd)
                for (std::int64_t kh = 0; kh < g.kernel[1]; ++kh)
                  for (std::int64_t kw = 0; kw < g.kernel[2]; ++kw) {
                    const std::int64_t d = od * g.stride[0] - g.padding[0] + kd * g.dilation[0];
                    const std::int64_t h = oh * g.stride[1] - g.padding[1] + kh * g.dilation[1];
                    const std::int64_t v = ow * g.stride[2] - g.padding[2] + kw * g.dilation[2];
                    if (d < 0 || d >= g.in[0] || h < 0 || h >= g.in[1] || v < 0 || v >= g.in[2])
                      continue;
                    const std::int64_t c = o / per_out * per_in + i;
                    const auto at_x = static_cast<std::size_t>(
                        (((b * g.c_in + c) * g.in[0] + d) * g.in[1] + h) * g.in[2] + v);
                    const auto at_w = static_cast<std::size_t>(
                        (((o * per_in + i) * g.kernel[0] + kd) * g.kernel[1] + kh) * g.kernel[2] +
                        kw);
                    r.y[at_y] += w[at_w] * x[at_x];
                    r.dx[at_x] += w[at_w] * dy[at_y];
                    r.dw[at_w] += dy[at_y] * x[at_x];
                  }
  return r;
}

Shape shape_of(std::int64_t a, std::int64_t b, const Sizes& sizes, int axes) {
  Shape shape{a, b};
  for (int axis = 3 - axes; axis < 3; ++axis) {
    shape.push_back(sizes[static_cast<std::size_t>(axis)]);
  }
  return shape;
}

Sizes last(const Sizes& sizes, int axes) { return {sizes.end() - axes, sizes.end()}; }

double worst(const Tensor& found, const std::vector<double>& expected) {
  const std::vector<double> values = to_doubles(found);
  REQUIRE(values.size() == expected.size());
  double result = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double share = std::abs(values[i] - expected[i]) / (1 + std::abs(expected[i]));
    if (!(share <= result)) result = share;
  }
  return result;
}

Geometry random_geometry(const RandomStream& random, int axes) {
  std::uint64_t draw = 0;
  const auto pick = [&](std::int64_t low, std::int64_t high) {
    return low + random.below(high - low + 1, draw++);
  };
  Geometry g{pick(1, 3), 0, 0, pick(1, 3), {}, {}, {}, {}, {}};
  const bool depthwise = pick(0, 2) == 0;
  if (depthwise) g.groups = pick(2, 5);
  g.c_in = g.groups * (depthwise ? 1 : pick(1, 4));
  g.c_out = g.groups * pick(1, 5);
  for (int axis = 0; axis < 3; ++axis) {
    const bool there = axis >= 3 - axes;
    g.kernel.push_back(there ? pick(1, 4) : 1);
    g.stride.push_back(there ? pick(1, 3) : 1);
    g.dilation.push_back(there ? pick(1, 3) : 1);
    g.padding.push_back(there ? pick(0, 4) : 0);
    const auto a = static_cast<std::size_t>(axis);
    const std::int64_t reach = g.dilation[a] * (g.kernel[a] - 1) + 1;
    const std::int64_t least = std::max<std::int64_t>(1, reach - 2 * g.padding[a]);
    g.in.push_back(there ? pick(least, least + 8) : 1);
  }
  return g;
}

void check_against_direct(const Geometry& g, int axes, DType dtype, double tolerance) {
  const Shape y_shape = shape_of(g.batch, g.c_out, {g.out(0), g.out(1), g.out(2)}, axes);
  const Tensor x = trainable(random_tensor(shape_of(g.batch, g.c_in, g.in, axes), 1, dtype));
  const Tensor w =
      trainable(random_tensor(shape_of(g.c_out, g.c_in / g.groups, g.kernel, axes), 2, dtype));
  const Tensor dy = random_tensor(y_shape, 3, dtype);
  const ConvOptions options{last(g.stride, axes), last(g.padding, axes), last(g.dilation, axes),
                            g.groups};
  const Tensor y = ops::conv(x, w, {}, options);
  REQUIRE(y.shape() == y_shape);
  autograd::backward(y, dy);
  const Reference expected = direct(g, to_doubles(x), to_doubles(w), to_doubles(dy));
  CHECK(worst(y, expected.y) < tolerance);
  CHECK(worst(x.grad(), expected.dx) < tolerance);
  CHECK(worst(w.grad(), expected.dw) < tolerance);
}

}  // namespace

TEST_CASE("conv: output and gradients equal direct loops for random geometries", "[ops]") {
  for (int axes = 1; axes <= 3; ++axes) {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      const Geometry g = random_geometry(RandomStream(seed).fork("geometry"), axes);
      CAPTURE(axes, seed, g.batch, g.groups, g.c_in, g.c_out, g.in, g.kernel, g.stride, g.padding,
              g.dilation);
      check_against_direct(g, axes, DType::kFloat64, 1e-11);
      check_against_direct(g, axes, DType::kFloat32, 1e-4);
    }
  }
}

TEST_CASE("conv: large shapes that need many tiles equal direct loops", "[ops]") {
  // Tiles over many items, over parts of one item, split output channels, split input channels, a
  // patch embedding, two pointwise and two depthwise convolutions; calls of several items with some
  // left over, a grouped convolution, channels that fill no vector; one volume in blocks of
  // channels; volumes and images in slabs, with strides, gaps, a last slice that no output sees,
  // and groups.
  const auto g = GENERATE(
      values<Geometry>({{19, 8, 6, 1, {1, 7, 5}, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}, {1, 1, 1}},
                        {2, 3, 4, 1, {1, 50, 67}, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}, {1, 1, 1}},
                        {1, 48, 130, 1, {1, 6, 6}, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}, {1, 1, 1}},
                        {1, 40, 8, 1, {6, 9, 8}, {3, 3, 3}, {2, 2, 2}, {1, 1, 1}, {1, 1, 1}},
                        {2, 3, 16, 1, {1, 24, 32}, {1, 4, 4}, {1, 4, 4}, {0, 0, 0}, {1, 1, 1}},
                        {3, 16, 24, 2, {1, 40, 33}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}},
                        {1, 96, 150, 1, {1, 17, 19}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}},
                        {39, 8, 16, 1, {1, 9, 7}, {1, 3, 3}, {1, 2, 2}, {0, 1, 1}, {1, 1, 1}},
                        {2, 64, 32, 2, {1, 11, 10}, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}, {1, 1, 1}},
                        {34, 5, 7, 1, {1, 8, 8}, {1, 5, 3}, {1, 1, 1}, {0, 2, 2}, {1, 2, 2}},
                        {2, 4, 4, 4, {1, 70, 75}, {1, 7, 7}, {1, 1, 1}, {0, 9, 9}, {1, 3, 3}},
                        {2, 3, 6, 3, {9, 12, 11}, {3, 3, 3}, {1, 2, 2}, {1, 1, 1}, {1, 1, 1}},
                        {1, 72, 64, 1, {5, 7, 6}, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}},
                        {1, 16, 24, 1, {17, 14, 13}, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}},
                        {3, 16, 24, 1, {31, 12, 11}, {3, 3, 3}, {2, 2, 2}, {1, 1, 1}, {1, 1, 1}},
                        {1, 24, 16, 1, {33, 10, 10}, {2, 2, 2}, {2, 2, 2}, {0, 0, 0}, {1, 1, 1}},
                        {1, 24, 32, 1, {1, 60, 33}, {1, 3, 3}, {1, 1, 1}, {0, 2, 2}, {1, 2, 2}},
                        {2, 32, 64, 2, {1, 40, 33}, {1, 5, 5}, {1, 1, 1}, {0, 2, 2}, {1, 1, 1}}}));
  CAPTURE(g.c_in, g.c_out, g.in);
  check_against_direct(g, 3, DType::kFloat64, 1e-11);
  check_against_direct(g, 3, DType::kFloat32, 3e-4);
}

TEST_CASE("conv: shapes whose blocks are cut in every way equal direct loops", "[ops]") {
  // Small maps, of which items lie next to each other, in blocks with some left over, alone, and
  // with a stride, also in the gradient of the input; rows in parts, of whole vectors and not, and
  // with a stride; rows of whole vectors, of few channels and with strides and groups; a kernel
  // wider than a vector and its padding, and one of more terms than are summed at once; many
  // channels; padding that nothing reads.
  const auto g = GENERATE(
      values<Geometry>({{75, 16, 20, 1, {1, 4, 4}, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}, {1, 1, 1}},
                        {150, 5, 7, 1, {1, 1, 1}, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}, {1, 1, 1}},
                        {1, 20, 9, 1, {2, 2, 2}, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}},
                        {70, 6, 8, 2, {3, 7, 5}, {2, 3, 3}, {1, 2, 2}, {0, 1, 1}, {1, 1, 1}},
                        {70, 6, 8, 2, {1, 7, 6}, {1, 3, 4}, {1, 2, 3}, {0, 1, 1}, {1, 1, 1}},
                        {3, 40, 70, 1, {5, 21, 37}, {3, 3, 5}, {2, 2, 2}, {1, 0, 2}, {1, 1, 1}},
                        {2, 3, 5, 1, {1, 1, 2503}, {1, 1, 7}, {1, 1, 1}, {0, 0, 3}, {1, 1, 1}},
                        {2, 3, 5, 1, {1, 2, 2560}, {1, 1, 5}, {1, 1, 1}, {0, 0, 2}, {1, 1, 1}},
                        {1, 3, 5, 1, {1, 1, 5003}, {1, 1, 6}, {1, 1, 3}, {0, 0, 2}, {1, 1, 2}},
                        {3, 12, 13, 1, {1, 33, 32}, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}, {1, 1, 1}},
                        {3, 10, 14, 2, {5, 9, 64}, {2, 2, 2}, {1, 2, 2}, {0, 0, 0}, {1, 1, 1}},
                        {2, 3, 4, 1, {1, 3, 60}, {1, 1, 61}, {1, 1, 1}, {0, 0, 30}, {1, 1, 1}},
                        {1, 3, 5, 1, {1, 20, 21}, {1, 17, 17}, {1, 1, 1}, {0, 8, 8}, {1, 1, 1}},
                        {1, 5, 300, 1, {1, 12, 8}, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}, {1, 1, 1}},
                        {1, 300, 5, 1, {1, 9, 16}, {1, 3, 3}, {1, 2, 2}, {0, 1, 1}, {1, 1, 1}},
                        {2, 4, 6, 1, {1, 5, 6}, {1, 1, 1}, {1, 1, 1}, {0, 4, 4}, {1, 1, 1}}}));
  CAPTURE(g.c_in, g.c_out, g.in);
  check_against_direct(g, 3, DType::kFloat64, 1e-11);
  check_against_direct(g, 3, DType::kFloat32, 3e-4);
}

TEST_CASE("conv: kernels of one pixel equal direct loops", "[ops]") {
  // Planes on the same page and on different ones, of whole blocks and not; more channels than are
  // summed at once; few rows of the weight, and more than a piece has; groups; items in runs.
  const auto g = GENERATE(
      values<Geometry>({{3, 300, 20, 1, {1, 7, 7}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}},
                        {1, 20, 300, 1, {1, 8, 8}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}},
                        {2, 270, 14, 1, {1, 37, 29}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}},
                        {2, 13, 70, 1, {1, 32, 32}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}},
                        {1, 5, 3, 1, {1, 70, 75}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}},
                        {200, 12, 10, 2, {1, 4, 5}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}},
                        {70, 6, 8, 2, {3, 8, 43}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}}}));
  CAPTURE(g.c_in, g.c_out, g.in);
  check_against_direct(g, 3, DType::kFloat64, 1e-11);
  check_against_direct(g, 3, DType::kFloat32, 3e-4);
}

TEST_CASE("conv: an item has the same bits alone and in a batch, where asked for", "[ops][host]") {
  const Device device = make_cpu(2, /*batch_invariant=*/true);
  for (const std::int64_t side : {1, 4, 7, 8, 33}) {
    for (const std::int64_t stride : {1, 2}) {
      CAPTURE(side, stride);
      const Tensor w = random_tensor({9, 40, 3, 3}, 2, DType::kFloat32).copy_on(device);
      const Tensor b = random_tensor({9}, 3, DType::kFloat32).copy_on(device);
      const Tensor x = random_tensor({41, 40, side, side}, 1, DType::kFloat32).copy_on(device);
      const auto convolved = [&](const Tensor& of) {
        return to_doubles(ops::conv(of, w, b, {{stride}, {1}}));
      };
      const std::vector<double> all = convolved(x);
      const std::vector<double> found = convolved(ops::slice(x, 0, 33, 1));
      const auto begin = all.begin() + static_cast<std::ptrdiff_t>(33 * found.size());
      CHECK(std::equal(found.begin(), found.end(), begin));
    }
  }
}

TEST_CASE("conv: depthwise 3x3 of planes of all widths equals direct loops", "[ops]") {
  for (const std::int64_t width : {1, 2, 3, 7, 8, 9, 15, 16, 17, 32, 33, 50}) {
    for (const std::int64_t height : {1, 2, 5, 150}) {
      const Geometry g{2, 3, 3, 3, {1, height, width}, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}, {1, 1, 1}};
      CAPTURE(width, height);
      check_against_direct(g, 2, DType::kFloat64, 1e-11);
      check_against_direct(g, 2, DType::kFloat32, 1e-4);
    }
  }
}

TEST_CASE("conv: gradients of input, weight and bias", "[ops]") {
  const auto check = [](const Shape& x, const Shape& w, const ConvOptions& options) {
    CAPTURE(to_string(x), to_string(w));
    check_gradients([&](const auto& t) { return ops::conv(t[0], t[1], t[2], options); },
                    {random_tensor(x, 1), random_tensor(w, 2), random_tensor({w[0]}, 3)});
  };
  check({2, 3, 7}, {4, 3, 3}, {{2}, {1}, {1}, 1, {0}});
  check({2, 4, 5, 6}, {6, 2, 3, 2}, {{1, 2}, {2, 1}, {2, 1}, 2, {0}});
  check({1, 2, 3, 4, 5}, {3, 2, 2, 3, 1}, {{1, 2, 1}, {0, 1, 2}, {1, 1, 1}, 1, {0}});
  check({2, 3, 5, 4}, {6, 1, 3, 3}, {{2, 1}, {1}, {1}, 3, {0}});  // depthwise, two per channel
  check({1, 1, 1, 1}, {1, 1, 1, 1}, {});
  check({2, 2, 4, 4}, {3, 2, 2, 2}, {{2}, {0}, {1}, 1, {0}});
  check({1, 2, 3, 2, 3}, {2, 1, 3, 3, 3}, {{1}, {1}, {1}, 2, {0}});  // depthwise in 3D
  // The same tensor as input and as weight.
  check_gradients(
      [](const auto& t) {
        return ops::conv(t[0], t[0], {}, {{1}, {2}});
      },
      {random_tensor({2, 2, 3, 3}, 4)});
}

TEST_CASE("conv_transpose: gradients with output padding, groups and dilation", "[ops]") {
  const auto check = [](const Shape& x, const Shape& w, const ConvOptions& options) {
    CAPTURE(to_string(x), to_string(w));
    const std::int64_t c_out = w[1] * options.groups;
    check_gradients([&](const auto& t) { return ops::conv_transpose(t[0], t[1], t[2], options); },
                    {random_tensor(x, 1), random_tensor(w, 2), random_tensor({c_out}, 3)});
  };
  check({2, 3, 4}, {3, 2, 3}, {{2}, {1}, {1}, 1, {1}});
  check({2, 4, 3, 2}, {4, 3, 3, 2}, {{2, 3}, {1, 0}, {1, 2}, 2, {1, 2}});
  check({1, 2, 2, 3, 2}, {2, 2, 2, 2, 2}, {{2}, {0}, {1}, 1, {0}});
  check({1, 3, 4, 3}, {3, 2, 3, 3}, {{2}, {1}, {1}, 3, {1}});           // one channel per group
  check({2, 2, 3, 3}, {2, 3, 3, 3}, {{1}, {1}, {2}, 1, {1}});           // extra size by dilation
  check({1, 2, 3, 3}, {2, 2, 2, 2}, {{1, 2}, {1, 0}, {1}, 1, {0, 1}});  // crop and extend
}

TEST_CASE("conv_transpose: is the adjoint of conv", "[ops]") {
  const ConvOptions options{{2, 3}, {1, 2}, {2, 1}, 2, {1, 2}};
  const Tensor w = random_tensor({4, 3, 3, 4}, 1);
  const Tensor x = random_tensor({2, 4, 5, 6}, 2);
  const Tensor y = ops::conv_transpose(x, w, {}, options);
  const Tensor z = random_tensor(y.shape(), 3);
  const Tensor back = ops::conv(z, w, {}, options);
  REQUIRE(back.shape() == x.shape());
  CHECK(inner_product(y, z) == Approx(inner_product(back, x)).epsilon(1e-12));
}

TEST_CASE("conv and conv_transpose: values and gradients computed with PyTorch", "[ops]") {
  Tensor x = trainable(ramp({1, 4, 4, 5}, 7, 11));
  Tensor w = trainable(ramp({4, 2, 3, 2}, 3, 7));
  Tensor b = trainable(ramp({4}, 1, 5));
  Tensor y = ops::conv(x, w, b, {{2, 1}, {1, 0}, {1, 2}, 2, {0}});
  backward_ramp(y);
  check_values(y, {-3.3125, 1.375, -1.5,    0.3125, -4.75,   1.1875, 0.6875,  0.6875,
                   0,       1.375, -0.4375, 0.5,    -1,      1.875,  -2.8125, 1.125,
                   -1.5625, 1.25,  -0.25,   1.3125, -1.9375, 2.0625, 0.875,   0.375});
  check_values(
      x.grad(),
      {-0.75,   -0.75,  2.0625,  0.0625,  -0.25,   -0.375, -0.375,  -0.3125, 0.25,    -0.375,
       -0.75,   -0.75,  1.9375,  -0.0625, -0.375,  -0.5,   1.0625,  0.6875,  -0.4375, -0.5625,
       -0.125,  0.1875, -1.0625, -0.75,   1.6875,  0.125,  0.75,    -0.625,  -0.375,  -1.1875,
       0,       0.3125, -0.9375, -0.75,   1.6875,  0.25,   -0.0625, -0.875,  1.0625,  0.1875,
       -0.625,  0.875,  0.8125,  -0.625,  0.3125,  -1.375, 1.625,   -0.3125, -0.625,  1.25,
       -0.1875, 0.5,    -0.8125, -0.25,   0.6875,  -0.125, 0.75,    -1.125,  0,       0.3125,
       1.375,   -1.125, -0.1875, 0.875,   -0.0625, 2.5625, -1.375,  -1.8125, 1.625,   -0.25,
       -0.4375, -0.5,   0.875,   0.5,     -0.4375, -0.375, -0.25,   0.5625,  0.75,    -0.8125});
  check_values(w.grad(), {1,       0.875,   1.9375, 1.9375,  1.9375,  -1.5,    -2.3125, 1,
                          -1.5,    1.9375,  -1.5,   1.9375,  1.25,    -1.8125, -0.3125, -0.6875,
                          -0.5625, -0.9375, 0.875,  1.25,    2.125,   -0.3125, 1.875,   -0.5625,
                          1.3125,  0.8125,  2.0625, -0.75,   -1.1875, -1.25,   1.125,   1.3125,
                          -0.625,  2.0625,  2.3125, -1.1875, 0.9375,  -2.5,    -1.4375, 1.25,
                          2.875,   2.125,   0.9375, 0.9375,  -0.6875, -1.4375, -1.875,  2.875});
  check_values(b.grad(), {0, -0.5, -1, 1.75});

  x = trainable(ramp({1, 2, 2, 3}, 7, 11));
  w = trainable(ramp({2, 1, 3, 2}, 3, 7));
  b = trainable(ramp({2}, 1, 5));
  y = ops::conv_transpose(x, w, b, {{2, 3}, {1, 0}, {1, 2}, 2, {1, 2}});
  backward_ramp(y);
  check_values(
      y, {-1.4375, -0.5,  -0.1875, -0.125,  -0.5,  -0.625,  -0.875,  -0.5,  -0.375,  -0.5,  -0.5,
          -2.0625, -0.5,  0.125,   -0.4375, -0.5,  -0.75,   -0.1875, -0.5,  -0.25,   -0.5,  -0.5,
          0.4375,  -0.5,  -0.8125, -0.3125, -0.5,  -0.5625, -1.0625, -0.5,  -0.3125, -0.5,  -0.5,
          0.125,   -0.5,  -1.125,  -0.375,  -0.5,  -0.625,  -0.875,  -0.5,  -0.125,  -0.5,  -0.5,
          -0.25,   -0.25, 0.5,     -0.25,   -0.25, -0.25,   -0.25,   -0.25, -1,      -0.25, -0.25,
          -0.3125, -0.25, -0.3125, -0.3125, -0.25, -0.0625, -0.3125, -0.25, 0.1875,  -0.25, -0.25,
          -0.25,   -0.25, 0.3125,  -0.25,   -0.25, -0.4375, -0.25,   -0.25, -1.1875, -0.25, -0.25,
          -0.4375, -0.25, 0.125,   -0.1875, -0.25, -0.375,  0.0625,  -0.25, -0.875,  -0.25, -0.25});
  check_values(x.grad(),
               {-1, -0.75, 0.3125, 1.125, 1, -0.75, 1.5625, 0.4375, -1.5, -2.375, 0.3125, 0.5625});
  check_values(w.grad(), {-1.1875, -1.75, 1, -1.0625, 3.0625, 1, -0.625, 2.375, 1.0625, 1.625,
                          -2.75, 1.0625});
  check_values(b.grad(), {-1.5, 0.5});
}

TEST_CASE("conv: same bits for any number of threads", "[ops][host]") {
  const auto run = [](const Shape& x, const Shape& w, const ConvOptions& options) {
    CAPTURE(to_string(x), to_string(w));
    check_threads([&](const auto& t) { return ops::conv(t[0], t[1], t[2], options); },
                  {x, w, {w[0]}});
  };
  run({33, 16, 13, 13}, {24, 16, 3, 3}, {{1}, {1}, {1}, 1, {0}});
  run({1, 24, 40, 40}, {130, 24, 3, 3}, {{2}, {1}, {1}, 1, {0}});
  run({3, 40, 14, 14}, {300, 40, 3, 3}, {{2}, {1}, {1}, 1, {0}});
  run({37, 24, 9, 11}, {40, 24, 1, 1}, {});
  run({1, 40, 70, 66}, {200, 40, 1, 1}, {});
  run({9, 12, 17, 19}, {12, 1, 3, 3}, {{1}, {1}, {1}, 12, {0}});
  run({2, 8, 9, 10, 11}, {6, 8, 3, 3, 3}, {{2}, {1}, {1}, 1, {0}});
  run({1, 72, 7, 8, 9}, {64, 72, 3, 3, 3}, {{1}, {1}, {1}, 1, {0}});
  run({1, 24, 21, 10, 12}, {32, 24, 3, 3, 3}, {{1}, {1}, {1}, 1, {0}});
  // Large enough for more pieces.
  run({36, 32, 32, 32}, {32, 32, 3, 3}, {{1}, {1}, {1}, 1, {0}});
  run({4, 256, 32, 32}, {256, 256, 1, 1}, {});
  check_threads(
      [](const auto& t) {
        return ops::conv_transpose(t[0], t[1], t[2], {{2}, {0}});
      },
      {{3, 20, 15, 14}, {20, 12, 2, 2}, {12}});
}

TEST_CASE("conv: gradients are skipped where they are not wanted", "[ops]") {
  const Tensor x = random_tensor({1, 2, 4, 4}, 1);
  const Tensor w = trainable(random_tensor({3, 2, 3, 3}, 2));
  autograd::backward(ops::conv(x, w, {}, {}), random_tensor({1, 3, 2, 2}, 3));
  CHECK(w.grad().defined());
  CHECK_FALSE(x.grad().defined());
}

TEST_CASE("conv: counts multiply-adds, also without memory", "[ops]") {
  const Device meta = make_meta();
  autograd::Profiler profiler;
  const autograd::Profile scope(profiler);
  const auto empty = [&](const Shape& shape) {
    return Tensor::empty(shape, DType::kFloat32, meta);
  };
  const Tensor y = ops::conv(empty({2, 6, 8, 8}), empty({4, 3, 3, 3}), {}, {{2}, {1}, {1}, 2, {0}});
  CHECK(y.shape() == Shape{2, 4, 4, 4});
  CHECK(profiler.forward_macs() == 2 * 4 * 16 * 3 * 9);
  profiler.clear();
  const Tensor z = ops::conv_transpose(empty({2, 6, 5, 5}), empty({6, 2, 2, 2}), {}, {{2}});
  CHECK(z.shape() == Shape{2, 2, 10, 10});
  CHECK(profiler.forward_macs() == 2 * 6 * 25 * 2 * 4);
}

TEST_CASE("conv: wrong arguments are named", "[ops]") {
  const Tensor x = random_tensor({1, 4, 5, 5}, 1);
  const auto message = [](const std::string& text) { return Catch::Contains(text); };
  CHECK_THROWS_WITH(ops::conv(x, random_tensor({2, 3, 3, 3}, 1), {}, {}),
                    message("conv: x is (1, 4, 5, 5), weight is (2, 3, 3, 3), groups 1; expected "
                            "weight (2, 4, kernel...)"));
  CHECK_THROWS_WITH(ops::conv(x, random_tensor({3, 2, 3, 3}, 1), {}, {{1}, {0}, {1}, 2, {0}}),
                    message("channels are not divisible by groups 2"));
  CHECK_THROWS_WITH(ops::conv(x, random_tensor({2, 4, 7, 7}, 1), {}, {}),
                    message("spatial axis 0 of x (1, 4, 5, 5) is 5 with padding; the kernel of "
                            "weight (2, 4, 7, 7) reaches over 7"));
  CHECK_THROWS_WITH(ops::conv(x, random_tensor({2, 4, 3, 3}, 1), random_tensor({3}, 1), {}),
                    message("conv: bias is float64 (3); expected float64 (2)"));
  CHECK_THROWS_WITH(ops::conv(x, random_tensor({2, 4, 3, 3}, 1), {}, {{1, 1, 1}}),
                    message("stride is (1, 1, 1); expected 1 or 2 numbers"));
  CHECK_THROWS_WITH(ops::conv(x, random_tensor({2, 4, 3, 3}, 1), {}, {{0}}),
                    message("stride is 0; expected at least 1"));
  CHECK_THROWS_AS(ops::conv(x, random_tensor({2, 4, 3}, 1), {}, {}), ShapeError);
  CHECK_THROWS_AS(ops::conv(random_tensor({4, 5}, 1), x, {}, {}), ShapeError);
  CHECK_THROWS_AS(ops::conv(x, random_tensor({2, 4, 3, 3}, 1, DType::kFloat32), {}, {}),
                  ShapeError);
  CHECK_THROWS_WITH(
      ops::conv_transpose(x, random_tensor({4, 2, 2, 2}, 1), {}, {{2}, {0}, {1}, 1, {2}}),
      message("output_padding 2 is not below stride 2 or dilation 1"));
  CHECK_THROWS_WITH(ops::conv_transpose(x, random_tensor({3, 2, 2, 2}, 1), {}, {}),
                    message("expected weight (4, c_out / groups, kernel...)"));
}
