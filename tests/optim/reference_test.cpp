// Optimisers beside those of PyTorch and timm.
#include <catch2/catch.hpp>

#include <cmath>

#include "tests/optim/optimisers.h"

using namespace fovea;
using optim::Parameter;

// Five steps, each of its own gradients, of the optimisers of torch 2.15 and timm 1.0.31 in
// float64.
TEST_CASE("optimisers: follow those of PyTorch and timm", "[optim]") {
  struct Followed {
    const char* json;
    std::vector<double> matrix, vector;
  };
  const std::string shared = R"("lr": 0.01, "betas": [0.9, 0.99], )";
  const auto followed = GENERATE(values<Followed>({
      // torch.optim.Adam
      {R"("type": "adam", "weight_decay": 0.1)",
       {0.28309393900336488, -0.19497190081456506, -0.50689746718165118, -0.33971136605311264,
        0.1286727986135327, 0.49144023452495006},
       {0.23557713534193972, -0.28643943405169425, 0.017404521007393696, 0.28341385585990009}},
      {R"("type": "adam")",
       {0.28418851356410102, -0.19668867044540997, -0.51072878028797797, -0.34102458566596611,
        0.12958526398477638, 0.49626059398380917},
       {0.2375554241311526, -0.28754185379956321, 0.017503160055041427, 0.28500926901493329}},
      // torch.optim.AdamW
      {R"("type": "adamw", "weight_decay": 0.1)",
       {0.28279648088977954, -0.19568819823719108, -0.50821058664534247, -0.33934938318466534,
        0.12891737261396252, 0.4938154788477549},
       {0.23638901396716433, -0.28613353068483577, 0.017447049299472751, 0.28360974297984626}},
      // timm.optim.Lamb with max_grad_norm=None
      {R"("type": "lamb", "weight_decay": 0.1)",
       {0.27496298353929177, -0.20699389699596177, -0.50390163959008927, -0.3316468405882268,
        0.13878088550482812, 0.49109507045215695},
       {0.22664906763075196, -0.27769010598784932, 0.010291972832225897, 0.27446518819860183}},
      {R"("type": "lamb", "weight_decay": 0)",
       {0.28418849917343481, -0.19668870737600933, -0.51072875419572128, -0.34102457142940334,
        0.12958529125427232, 0.49626056064314061},
       {0.23755538720055325, -0.28754183956300045, 0.017503126714372846, 0.28500924683805301}},
      {R"("type": "lamb", "weight_decay": 0, "always_adapt": true)",
       {0.27743813748475649, -0.20850483414004672, -0.50797929965835187, -0.33462428365605429,
        0.13984365281910666, 0.49482599439529651},
       {0.22651372359851604, -0.2784425498119113, 0.010384368984245993, 0.27486013914299495}},
      {R"("type": "lamb", "weight_decay": 0.1, "trust_clip": true)",
       {0.27652787874136953, -0.2022649095298496, -0.5020868355868594, -0.33311729186579964,
        0.13545140414177312, 0.48768211590362931},
       {0.22799830673042204, -0.27782059191823594, 0.0089337926832280205, 0.27527313020955085}},
      // timm.optim.Lion
      {R"("type": "lion", "weight_decay": 0.1)",
       {0.27878313595077786, -0.19705508986668205, -0.50250625204372645, -0.33517100630117691,
        0.13114331419127043, 0.48766955363154885},
       {0.23502212233767331, -0.28195515380134734, 0.011301124083266665, 0.28085562385225848}},
      {R"("type": "lion", "betas": [0.95, 0.98])",
       {0.28015115293406989, -0.19807341827357119, -0.50499624830022272, -0.33682181043180598,
        0.13183109273161311, 0.51008514332518295},
       {0.23617067630299138, -0.28333907856540308, 0.031327709396415236, 0.28223403443505884}},
  }));
  INFO(followed.json);
  const std::string own = followed.json;
  const bool betas = own.find("betas") != std::string::npos;
  std::vector<double> matrix, vector;
  for (int i = 0; i < 6; ++i) matrix.push_back(0.5 * std::cos(1 + i));
  for (int i = 0; i < 4; ++i) vector.push_back(0.3 * std::cos(7 + 2 * i));
  const std::vector<Parameter> parameters = {test::named("matrix", matrix, {2, 3}),
                                             test::named("vector", vector, {4})};
  const auto optimiser = test::make_optimiser("{" + (betas ? "" : shared) + own + "}", parameters);
  for (int step = 1; step <= 5; ++step) {
    for (int k = 0; k < 2; ++k) {
      const Parameter& parameter = parameters[static_cast<std::size_t>(k)];
      std::vector<double> gradient;
      for (int i = 0; i < parameter.tensor.numel(); ++i)
        gradient.push_back(std::sin(1 + 3 * step + (i + 1) * (k + 1)));
      test::set_gradient(parameter, gradient);
    }
    optimiser->step(0.01);
  }
  const auto check = [](const Tensor& value, const std::vector<double>& expected) {
    const std::vector<double> given = test::to_doubles(value);
    REQUIRE(given.size() == expected.size());
    for (std::size_t i = 0; i < given.size(); ++i) CHECK(std::abs(given[i] - expected[i]) <= 1e-12);
  };
  check(parameters[0].tensor, followed.matrix);
  check(parameters[1].tensor, followed.vector);
}
