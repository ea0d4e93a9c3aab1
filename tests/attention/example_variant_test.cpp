// A complete attention variant, as docs/adding-an-attention.md describes it: every token receives
// the mean of all values. In src/attention/ it would be one file and one line in variants.def.
#include "attention/attention.h"
#include "nn/linear.h"
#include "ops/create.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "tests/support/tensors.h"

namespace {

using namespace fovea;
using attention::Context;
using attention::Slot;

struct Options {
  bool bias = true;
};

const attention::Info kInfo{.title = "Mean attention",
                            .source = "an example",
                            .map = attention::MapKind::kStochastic,
                            .masks = false,
                            .needs_grid = false};

class Mean final : public attention::Attention {
 public:
  Mean(const Slot& slot, const Options& o)
      : v_(child<nn::Linear>("v", slot.build, slot.dim, slot.dim, o.bias)),
        proj_(child<nn::Linear>("proj", slot.build, slot.dim, slot.dim, o.bias)) {}
  std::string type() const override { return "MeanAttention"; }

 protected:
  Tensor forward(const Tensor& x, const Context& ctx) override {
    if (ctx.probe != nullptr) {
      const double share = 1.0 / static_cast<double>(x.size(1));
      ctx.probe->record(
          "attn", ops::full({x.size(0), 1, x.size(1), x.size(1)}, share, x.dtype(), x.device()));
    }
    return proj_(ops::expand(ops::mean(v_(x), {1}, true), x.shape()));
  }

 private:
  nn::Linear& v_;
  nn::Linear& proj_;
};

}  // namespace

FOVEA_ATTENTION(mean_example, Mean, kInfo,
                fovea::schema::Fields<Options>{}.add("bias", &Options::bias,
                                                     "biases of both projections"))

using namespace fovea::test;

TEST_CASE("example variant: built from its options, differentiable, with a map", "[attention]") {
  const attention::Variant variant = fovea_attention_mean_example();
  const schema::Value given = schema::Value::object({{"type", "mean_example"}, {"bias", false}});
  const schema::Component component{variant.name,
                                    variant.fields->resolve_component(given, "attention")};
  const nn::Build build{cpu(), DType::kFloat64, RandomStream(1), nn::Init::kTorch};
  const auto module = variant.make({build, 4, 1, 1}, component);
  CHECK(module->parameter_count() == 2 * 4 * 4);
  std::vector<Tensor> inputs{random_tensor({2, 3, 4}, 2)};
  for (const nn::NamedTensor& named : module->parameters()) inputs.push_back(named.tensor);
  check_gradients([&](const auto& t) { return (*module)(t[0], {}); }, inputs);
  attention::Probe probe;
  Context context;
  context.probe = &probe;
  (*module)(inputs[0], context);
  for (const double sum : to_doubles(ops::sum(probe.all("attn")[0], {-1})))
    CHECK(sum == Approx(1.0));
}
