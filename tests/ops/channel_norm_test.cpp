#include "autograd/mode.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/norm.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "tests/support/ramp.h"

using namespace fovea;
using namespace fovea::test;

namespace {

Tensor vector_of(const std::vector<double>& values) {
  return Tensor::from(values, {static_cast<std::int64_t>(values.size())}, cpu());
}

}  // namespace

TEST_CASE("group_norm: gradients with and without affine parts", "[ops]") {
  const auto groups = GENERATE(1, 2, 4);
  for (const Shape& shape : {Shape{2, 4, 3}, Shape{2, 4, 3, 5}, Shape{1, 4, 2, 3, 2}}) {
    CAPTURE(groups, to_string(shape));
    check_gradients([&](const auto& t) { return ops::group_norm(t[0], groups, t[1], t[2], 1e-3); },
                    {random_tensor(shape, 1), random_tensor({4}, 2), random_tensor({4}, 3)});
    check_gradients([&](const auto& t) { return ops::group_norm(t[0], groups, {}, {}, 1e-3); },
                    {random_tensor(shape, 1)});
  }
}

TEST_CASE("batch_norm: gradients in training and evaluation", "[ops]") {
  const bool training = GENERATE(true, false);
  for (const Shape& shape :
       {Shape{5, 3}, Shape{2, 3, 7}, Shape{2, 3, 3, 5}, Shape{2, 3, 2, 3, 2}}) {
    CAPTURE(training, to_string(shape));
    const Tensor mean = random_tensor({3}, 4);
    const Tensor var = uniform_tensor({3}, 0.5, 2, 5);
    const auto run = [&](const Tensor& x, const Tensor& weight, const Tensor& bias) {
      return ops::batch_norm({weight, bias, ops::clone(mean), ops::clone(var), training, 0.1, 1e-3},
                             x);
    };
    check_gradients([&](const auto& t) { return run(t[0], t[1], t[2]); },
                    {random_tensor(shape, 1), random_tensor({3}, 2), random_tensor({3}, 3)});
    check_gradients([&](const auto& t) { return run(t[0], {}, {}); }, {random_tensor(shape, 1)});
  }
}

TEST_CASE("batch_norm: gradients with a residual and a ReLU", "[ops][long]") {
  const bool training = GENERATE(true, false);
  const bool relu = GENERATE(true, false);
  for (const Shape& shape : {Shape{5, 3}, Shape{2, 3, 3, 5}, Shape{2, 3, 6, 7}}) {
    CAPTURE(training, relu, to_string(shape));
    const Tensor mean = random_tensor({3}, 4);
    const Tensor var = uniform_tensor({3}, 0.5, 2, 5);
    const auto run = [&](const Tensor& x, const Tensor& weight, const Tensor& bias,
                         const Tensor& residual) {
      return ops::batch_norm({weight, bias, ops::clone(mean), ops::clone(var), training, 0.1, 1e-3},
                             x, residual, relu);
    };
    const Tensor weight = random_tensor({3}, 2);
    const Tensor bias = random_tensor({3}, 3);
    check_gradients([&](const auto& t) { return run(t[0], t[1], t[2], t[3]); },
                    {random_tensor(shape, 1), weight, bias, random_tensor(shape, 6)});
    check_gradients([&](const auto& t) { return run(t[0], t[1], t[2], {}); },
                    {random_tensor(shape, 1), weight, bias});
    check_gradients([&](const auto& t) { return run(t[0], {}, {}, t[0]); },
                    {random_tensor(shape, 1)});
    const Tensor x = random_tensor(shape, 1);
    check_gradients([&](const auto& t) { return run(x, {}, {}, t[0]); }, {random_tensor(shape, 6)});
    const Tensor constant = random_tensor(shape, 6);
    check_gradients([&](const auto& t) { return run(t[0], t[1], {}, constant); },
                    {random_tensor(shape, 1), weight});
  }
}

TEST_CASE("batch_norm: a residual and a ReLU inside equal those outside", "[ops]") {
  const bool training = GENERATE(true, false);
  const DType dtype = GENERATE(DType::kFloat32, DType::kFloat64);
  const double tolerance = dtype == DType::kFloat32 ? 2e-5 : 1e-12;
  const Shape shape = GENERATE(Shape{6, 5, 9, 7}, Shape{3, 40, 37, 31}, Shape{9, 33, 1, 1});
  CAPTURE(training, name_of(dtype), to_string(shape));
  const std::int64_t c = shape[1];
  const auto run = [&](bool fused) {
    const Tensor x = trainable(random_tensor(shape, 1, dtype));
    const Tensor weight = trainable(random_tensor({c}, 2, dtype));
    const Tensor bias = trainable(random_tensor({c}, 3, dtype));
    const Tensor residual = trainable(random_tensor(shape, 4, dtype));
    const Tensor mean = random_tensor({c}, 5, dtype);
    const Tensor var = ops::cast(uniform_tensor({c}, 0.5, 2, 6), dtype);
    const auto norm = [&](const Tensor& input, const Tensor& added, bool relu) {
      return ops::batch_norm({weight, bias, mean, var, training, 0.1, 1e-5}, input, added, relu);
    };
    // The inner result is used twice, so that its gradient is a sum.
    Tensor y;
    if (fused) {
      const Tensor inner = norm(x, {}, true);
      y = norm(ops::mul(inner, 0.5), ops::add(inner, residual), true);
    } else {
      const Tensor inner = ops::relu(norm(x, {}, false));
      const Tensor outer = norm(ops::mul(inner, 0.5), {}, false);
      y = ops::relu(ops::add(outer, ops::add(inner, residual)));
    }
    autograd::backward(y, random_tensor(shape, 7, dtype));
    return std::vector<Tensor>{y, x.grad(), weight.grad(), bias.grad(), residual.grad(), mean, var};
  };
  const std::vector<Tensor> fused = run(true);
  const std::vector<Tensor> composed = run(false);
  for (std::size_t i = 0; i < fused.size(); ++i) {
    CAPTURE(i);
    double largest = 1;
    for (const double value : to_doubles(composed[i])) largest = std::max(largest, std::abs(value));
    CHECK(max_difference(fused[i], composed[i]) < tolerance * largest);
  }
}

TEST_CASE("batch_norm: maps larger than the caches equal their items", "[ops]") {
  const Tensor x = random_tensor({2, 16, 368, 384}, 1, DType::kFloat32);
  const Tensor weight = random_tensor({16}, 2, DType::kFloat32);
  const ops::BatchNorm norm{weight, {}, ops::mul(weight, 0.3), ops::square(weight), false};
  for (const Tensor& residual : {Tensor(), ops::mul(x, 0.5)}) {
    for (const bool relu : {false, true}) {
      const Tensor whole = ops::batch_norm(norm, x, residual, relu);
      for (std::int64_t item = 0; item < 2; ++item) {
        CAPTURE(item, relu, residual.defined());
        const Tensor added = residual.defined() ? ops::slice(residual, 0, item, 1) : Tensor();
        const Tensor alone = ops::batch_norm(norm, ops::slice(x, 0, item, 1), added, relu);
        CHECK(max_difference(ops::slice(whole, 0, item, 1), alone) == 0);
      }
    }
  }
}

TEST_CASE("batch_norm: the gradient that came in is left alone where others hold it", "[ops]") {
  const Tensor x = trainable(random_tensor({2, 3, 4, 4}, 1));
  const Tensor residual = trainable(random_tensor({2, 3, 4, 4}, 2));
  const Tensor dy = random_tensor({2, 3, 4, 4}, 3);
  const std::vector<double> before = to_doubles(dy);
  autograd::backward(ops::batch_norm({{}, {}, {}, {}, true, 0.1, 1e-5}, x, residual, true), dy);
  CHECK(to_doubles(dy) == before);
  CHECK_FALSE(x.grad().same_storage(dy));
  CHECK_FALSE(residual.grad().same_storage(dy));
  CHECK_FALSE(residual.grad().same_storage(x.grad()));
}

TEST_CASE("batch_norm: bfloat16 activations with float32 parameters", "[ops]") {
  const Shape shape{4, 6, 9, 7};
  const auto run = [&](DType dtype) {
    const Tensor x = trainable(ops::cast(random_tensor(shape, 1, DType::kFloat32), dtype));
    const Tensor residual = trainable(ops::cast(random_tensor(shape, 2, DType::kFloat32), dtype));
    const Tensor weight = trainable(random_tensor({6}, 3, DType::kFloat32));
    const Tensor bias = trainable(random_tensor({6}, 4, DType::kFloat32));
    const Tensor mean = ops::zeros({6}, DType::kFloat32, cpu());
    const Tensor var = ops::zeros({6}, DType::kFloat32, cpu());
    const Tensor y = ops::batch_norm({weight, bias, mean, var, true, 0.1, 1e-5}, x, residual, true);
    CHECK(y.dtype() == dtype);
    autograd::backward(y, ops::cast(random_tensor(shape, 5, DType::kFloat32), dtype));
    CHECK(weight.grad().dtype() == DType::kFloat32);
    return std::vector<Tensor>{y, x.grad(), residual.grad(), weight.grad(), bias.grad(), mean, var};
  };
  const std::vector<Tensor> narrow = run(DType::kBFloat16);
  const std::vector<Tensor> wide = run(DType::kFloat32);
  for (std::size_t i = 0; i < narrow.size(); ++i) {
    CAPTURE(i);
    const std::vector<double> a = to_doubles(narrow[i]);
    const std::vector<double> b = to_doubles(wide[i]);
    double square = 0;
    double error = 0;
    for (std::size_t j = 0; j < a.size(); ++j) {
      square += b[j] * b[j];
      error += (a[j] - b[j]) * (a[j] - b[j]);
    }
    CHECK(std::sqrt(error / square) < 0.05);
  }
}

TEST_CASE("group_norm and batch_norm: values and gradients computed with PyTorch", "[ops]") {
  const auto check = [](const Function& function, const std::vector<double>& y,
                        const std::vector<double>& dx, const std::vector<double>& dw) {
    const Tensor x = trainable(ramp({2, 4, 3}, 7, 11));
    const Tensor w = trainable(ramp({4}, 3, 7));
    const Tensor b = trainable(ramp({4}, 1, 5));
    const Tensor result = function({x, w, b});
    backward_ramp(result);
    check_values(result, y);
    check_values(x.grad(), dx);
    check_values(w.grad(), dw);
    check_values(b.grad(), {-2, 1, 0.75, 0.5});
  };
  check([](const auto& t) { return ops::group_norm(t[0], 2, t[1], t[2], 0.5); },
        {0.2983002173332,
         -0.8991501086666,
         -0.2148927795239,
         -0.25,
         -0.25,
         -0.25,
         0.7759816860548,
         0.08622018733943,
         -0.603541311376,
         0.04881956287467,
         0.2787400624465,
         0.5086605620183,
         -0.6539940429412,
         0.08517736317664,
         -1.20837259753,
         -0.25,
         -0.25,
         -0.25,
         0.1539940429412,
         -0.5851773631766,
         0.7083725975296,
         0.2602662695294,
         0.5066567382354,
         0.07547341799995},
        {0.8093419420568,  0.1512881089001,  -0.8167580258264,  0.06476713158793, -0.04795734171015,
         -0.1606818150082, -0.2540604639174, 0.6466303036783,   -0.6944037995511, 0.1004425089906,
         -0.1484692212727, 0.3498606720724,  -0.4973514182817,  0.8550954209053,  0.1514491160933,
         -0.1592397084849, -0.2851356815337, -0.06481772869836, 0.8653790028623,  -0.4795888676287,
         0.2109692419653,  0.0979537150041,  -0.07665942913364, -0.6180536630693},
        {2.12030066028, -0.8926835306043, 1.981280174459, 1.55624563147});
  const Tensor mean = vector_of({0.1, 0.2, 0.3, 0.4});
  const Tensor var = vector_of({1, 2, 3, 4});
  check(
      [&](const auto& t) {
        return ops::batch_norm({t[1], t[2], mean, var, true, 0.1, 0.5}, t[0]);
      },
      {0.3603090020146,
       -0.8441236008058,
       -0.1558763991942,
       -0.25,
       -0.25,
       -0.25,
       0.7476114589021,
       0.02990445835608,
       -0.6878025421899,
       0.0007961803659687,
       0.2400318472146,
       0.4792675140633,
       -0.8441236008058,
       -0.1558763991942,
       -1.360309002015,
       -0.25,
       -0.25,
       -0.25,
       0.02990445835608,
       -0.6878025421899,
       0.5681847087656,
       0.2400318472146,
       0.4792675140633,
       0.06060509707814},
      {0.5690113925605,
       0.03622353692693,
       -1.011240405877,
       -0,
       0,
       0,
       -0.6589440267334,
       0.4401517892856,
       -0.79330014647,
       0.08491154630201,
       -0.2765092683609,
       0.1395858342344,
       -0.4799618642818,
       0.7093775981524,
       0.1765897425188,
       0,
       -0,
       0,
       0.9784320396951,
       -0.2550198960605,
       0.2886802402832,
       0.3215798987608,
       -0.03984091590206,
       -0.2297270950343},
      {1.777971937497, -1.216114639814, 1.764363043009, 1.634777056799});
  check_values(mean, {0.09, 0.2008333333333, 0.2658333333333, 0.3308333333333});
  check_values(var, {0.9825, 1.871041666667, 2.771041666667, 3.671041666667});
  check(
      [&](const auto& t) {
        return ops::batch_norm({t[1], t[2], mean, var, false, 0.1, 0.5}, t[0]);
      },
      {0.3254080701649,
       -0.7525502304236,
       -0.1365740586587,
       -0.25,
       -0.25,
       -0.25,
       0.3044478333272,
       -0.1102370701832,
       -0.5249219736936,
       0.1986897083098,
       0.3210999469345,
       0.4435101855592,
       -0.7525502304236,
       -0.1365740586587,
       -1.214532359247,
       -0.25,
       -0.25,
       -0.25,
       -0.1102370701832,
       -0.5249219736936,
       0.2007766074496,
       0.3210999469345,
       0.4435101855592,
       0.229292267966},
      {0.9239642576473,
       0.1539940429412,
       -0.6159761717649,
       -0,
       0,
       0,
       -0.2073424517552,
       0.3110136776328,
       -0.518356129388,
       -0,
       -0.1530127982809,
       0.09180767896852,
       -0.3079880858824,
       0.9239642576473,
       0.1539940429412,
       0,
       -0,
       0,
       0.6220273552656,
       -0.2073424517552,
       0.3110136776328,
       0.1530127982809,
       -0,
       -0.1530127982809},
      {1.739106058283, -0.820442902313, 0.8919181133002, 0.6840692168476});
}

TEST_CASE("batch_norm: channels have mean 0 and variance 1 also far from zero", "[ops]") {
  const Tensor x = ops::add(random_tensor({4, 3, 9, 11}, 5, DType::kFloat32), 1000.0);
  const Tensor y = ops::batch_norm({{}, {}, {}, {}, true, 0.1, 1e-6}, x);
  for (const double mean : to_doubles(ops::mean(y, {0, 2, 3}))) {
    CHECK(mean == Approx(0.0).margin(2e-4));
  }
  const Tensor squares = ops::square(ops::sub(y, ops::mean(y, {0, 2, 3}, true)));
  for (const double var : to_doubles(ops::mean(squares, {0, 2, 3}))) {
    CHECK(var == Approx(1.0).epsilon(1e-3));
  }
}

TEST_CASE("batch_norm: statistics keep their digits behind an odd first element", "[ops]") {
  const Tensor x = random_tensor({3, 2, 50, 41}, 5, DType::kFloat32);
  edit<float>(x, [](auto values) {
    for (std::size_t plane = 0; plane < 6; ++plane) values[plane * 50 * 41] = 1e5f;
  });
  const auto statistics = [](const Tensor& input) {
    const Tensor mean = ops::zeros({2}, input.dtype(), cpu());
    const Tensor var = ops::zeros({2}, input.dtype(), cpu());
    ops::batch_norm({{}, {}, mean, var, true, 1.0, 1e-5}, input);
    return std::pair(to_doubles(mean), to_doubles(var));
  };
  const auto [mean, var] = statistics(x);
  const auto [exact_mean, exact_var] = statistics(ops::cast(x, DType::kFloat64));
  for (std::size_t c = 0; c < 2; ++c) {
    CHECK(mean[c] == Approx(exact_mean[c]).epsilon(1e-6));
    CHECK(var[c] == Approx(exact_var[c]).epsilon(1e-5));
  }
}

TEST_CASE("group_norm: one group per channel ignores scale and shift of each channel", "[ops]") {
  const Tensor x = random_tensor({2, 3, 4, 5}, 6);
  const Tensor scale = Tensor::from<double>({2, 0.5, 7}, {3, 1, 1}, cpu());
  const Tensor shift = Tensor::from<double>({-1, 30, 2}, {3, 1, 1}, cpu());
  const Tensor moved = ops::add(ops::mul(x, scale), shift);
  CHECK(max_difference(ops::group_norm(x, 3, {}, {}, 1e-12),
                       ops::group_norm(moved, 3, {}, {}, 1e-12)) < 1e-9);
}

TEST_CASE("batch_norm: a constant channel is finite and its variance not negative", "[ops]") {
  const Tensor x = Tensor::from(std::vector<float>(24, 3.0f), {2, 3, 4}, cpu());
  const Tensor mean = Tensor::from<float>({0, 0, 0}, {3}, cpu());
  const Tensor var = Tensor::from<float>({1, 1, 1}, {3}, cpu());
  for (const double value : to_doubles(ops::batch_norm({{}, {}, mean, var, true, 1.0, 1e-5}, x))) {
    CHECK(value == 0.0);
  }
  for (const double value : to_doubles(var)) CHECK((value >= 0 && value < 1e-8));
  for (const double value : to_doubles(mean)) CHECK(value == 3.0);
}

TEST_CASE("channel norms: same bits for any number of threads", "[ops][host]") {
  const std::vector<Shape> shapes{{9, 12, 21, 19}, {12}, {12}};
  check_threads([](const auto& t) { return ops::group_norm(t[0], 3, t[1], t[2], 1e-5); }, shapes);
  check_threads(
      [](const auto& t) {
        return ops::batch_norm({t[1], t[2], {}, {}, true, 0.1, 1e-5}, t[0]);
      },
      shapes);
  check_threads(
      [](const auto& t) {
        return ops::batch_norm({t[1], t[2], {}, {}, true, 0.1, 1e-5}, t[0], t[3], true);
      },
      {{9, 12, 21, 19}, {12}, {12}, {9, 12, 21, 19}});
}

TEST_CASE("channel norms: wrong arguments are named", "[ops]") {
  const Tensor x = random_tensor({2, 4, 3}, 1);
  CHECK_THROWS_WITH(ops::group_norm(x, 3, {}, {}, 1e-5),
                    Catch::Contains("group_norm: 4 channels are not divisible by groups 3"));
  CHECK_THROWS_WITH(ops::group_norm(x, 2, random_tensor({3}, 1), {}, 1e-5),
                    Catch::Contains("weight is float64 (3); expected float64 (4)"));
  CHECK_THROWS_WITH(ops::batch_norm({{}, {}, {}, {}, false, 0.1, 1e-5}, x),
                    Catch::Contains("no running statistics"));
  CHECK_THROWS_WITH(ops::batch_norm({{}, {}, {}, {}, true, 0.1, 1e-5}, random_tensor({1, 4}, 1)),
                    Catch::Contains("training needs more than one value per channel"));
  CHECK_THROWS_WITH(
      ops::batch_norm({{}, {}, {}, {}, true, 0.1, 1e-5}, x, random_tensor({2, 4, 4}, 1)),
      Catch::Contains("residual is float64 (2, 4, 4); expected float64 (2, 4, 3) as x is"));
}
