#include "nn/ffn.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "nn/convolution.h"
#include "nn/dropout.h"
#include "nn/linear.h"
#include "nn/sizes.h"
#include "ops/activation.h"
#include "ops/elementwise.h"
#include "ops/shape.h"
#include "schema/fields.h"
#include "schema/registry.h"

namespace fovea::nn {
namespace {

// Where dropout acts: after fc1, after the activation, after fc2. "drop. x1" of dgsa Table 1 is
// post_act; "drop. x2" is post_act and post_proj.
const std::vector<std::string> kSites = {"post_expand", "post_act", "post_proj"};

struct Common {
  double expansion = 4;
  bool bias = true;
  std::vector<std::string> dropout_after = {"post_act", "post_proj"};
};

struct MlpOptions : Common {
  UnaryOp activation = UnaryOp::kGelu;
};

struct MixFfnOptions : MlpOptions {
  bool relu_first = false;
};

struct GatedMixFfnOptions {
  double expansion = 4;
  std::int64_t kernel_size = 3;
};

struct SwiGluOptions : Common {
  bool gate_last = false;
  bool packed = true;
};

schema::Fields<Common> common_fields() {
  return schema::Fields<Common>{}
      .add("expansion", &Common::expansion, width_ratio(),
           "width after fc1 relative to the width of the tokens (16/3 = 5.333333333333333)")
      .add("bias", &Common::bias, "biases of fc1 and fc2")
      .add("dropout_after", &Common::dropout_after, schema::one_of(kSites),
           "where dropout acts: after fc1, after the activation, after fc2");
}

schema::Fields<MlpOptions> mlp_fields() {
  return schema::Fields<MlpOptions>{}
      .include(common_fields())
      .add_enum("activation", &MlpOptions::activation,
                {{"gelu", UnaryOp::kGelu},
                 {"gelu_tanh", UnaryOp::kGeluTanh},
                 {"quick_gelu", UnaryOp::kQuickGelu},
                 {"relu", UnaryOp::kRelu},
                 {"silu", UnaryOp::kSilu}},
                "function between fc1 and fc2");
}

// fc1 as two layers: [fc1_g(x), fc1_x(x)].
class GateAndValue final : public UnaryModule {
 public:
  GateAndValue(const Build& build, std::int64_t dim, std::int64_t hidden, bool bias)
      : gate_(child<Linear>("fc1_g", build, dim, hidden, bias)),
        value_(child<Linear>("fc1_x", build, dim, hidden, bias)) {}
  std::string type() const override { return "GateAndValue"; }

 protected:
  Tensor forward(const Tensor& x) override { return ops::concat({gate_(x), value_(x)}, -1); }

 private:
  Linear& gate_;
  Linear& value_;
};

// fc1 -> non-linearity -> fc2, with dropout at the chosen sites.
class Ffn : public FeedForward {
 public:
  // `split`: fc1 is a GateAndValue.
  Ffn(const Build& build, std::int64_t dim, std::int64_t packed, std::int64_t hidden,
      const Common& options, const ops::Activation& activation, double drop_rate,
      bool split = false)
      : activation_(activation),
        fc1_(split ? static_cast<UnaryModule&>(
                         child<GateAndValue>("", build, dim, hidden, options.bias))
                   : child<Linear>("fc1", build, dim, packed, options.bias)),
        fc2_(child<Linear>("fc2", build, hidden, dim, options.bias)) {
    for (const std::string& site : kSites) {
      const auto& chosen = options.dropout_after;
      const bool on =
          drop_rate > 0 && std::find(chosen.begin(), chosen.end(), site) != chosen.end();
      drops_.push_back(on ? &child<Dropout>("drop_" + site, build, drop_rate) : nullptr);
    }
  }

 protected:
  // One name for the tokens on their way: the hidden layer is large, and nothing holds what has
  // been read.
  Tensor forward(Tensor x, const Grid& grid) override {
    x = drop(0, fc1_(x));
    x = mix(std::move(x), grid);
    x = ops::activate(activation_, std::move(x));
    return drop(2, fc2_(drop(1, x)));
  }

  // What happens between fc1 and the non-linearity.
  virtual Tensor mix(Tensor x, const Grid&) { return x; }

 private:
  Tensor drop(std::size_t site, const Tensor& x) { return drops_[site] ? (*drops_[site])(x) : x; }

  ops::Activation activation_;
  UnaryModule& fc1_;
  Linear& fc2_;
  std::vector<Dropout*> drops_;
};

// A convolution of the grid's tokens; those before it stay as they are.
Tensor on_grid(const char* name, TokenConv2d& conv, const Tensor& x, const Grid& grid) {
  FOVEA_CHECK(
      x.rank() == 3 && x.size(1) == grid.prefix + grid.h * grid.w, ShapeError,
      fmt::format("{}: {} tokens on a grid of {} x {} behind {} others; expected (b, n, dim) "
                  "with as many tokens",
                  name, x.rank() == 3 ? x.size(1) : 0, grid.h, grid.w, grid.prefix));
  if (grid.prefix == 0) return conv(x, grid.h, grid.w);
  const Tensor cells = conv(ops::slice(x, 1, grid.prefix, grid.h * grid.w), grid.h, grid.w);
  return ops::concat({ops::slice(x, 1, 0, grid.prefix), cells}, 1);
}

std::int64_t width(double expansion, double dim) {
  return static_cast<std::int64_t>(std::floor(expansion * dim + 1e-9));
}

class Mlp final : public Ffn {
 public:
  Mlp(const Build& build, std::int64_t dim, const MlpOptions& o, double drop_rate)
      : Ffn(build, dim, width(o.expansion, static_cast<double>(dim)),
            width(o.expansion, static_cast<double>(dim)), o, {.kind = o.activation}, drop_rate) {}
  std::string type() const override { return "Mlp"; }
};

// Hidden width H = floor(expansion dim / 2), projection 2 H: fc1, or fc1_g and fc1_x.
class SwiGlu final : public Ffn {
 public:
  SwiGlu(const Build& build, std::int64_t dim, const SwiGluOptions& o, double drop_rate)
      : Ffn(build, dim, 2 * hidden(o, dim), hidden(o, dim), o,
            {.kind = UnaryOp::kSilu, .gated = true, .gate_last = o.gate_last}, drop_rate,
            !o.packed) {
    FOVEA_CHECK(o.packed || !o.gate_last, ConfigError,
                "swiglu: gate_last says which half of a packed fc1 is the gate; with packed=false "
                "the gate is fc1_g");
  }
  std::string type() const override { return "SwiGLU"; }

 private:
  static std::int64_t hidden(const SwiGluOptions& o, std::int64_t dim) {
    return width(o.expansion / 2, static_cast<double>(dim));
  }
};

// A 3 x 3 depthwise convolution over the grid between fc1 and the activation (PVTv2, SegFormer;
// behind enhanced linear attention, mala 3.8, 8).
class MixFfn final : public Ffn {
 public:
  MixFfn(const Build& build, std::int64_t dim, const MixFfnOptions& o, double drop_rate)
      : Ffn(build, dim, hidden(o, dim), hidden(o, dim), o, {.kind = o.activation}, drop_rate),
        relu_first_(o.relu_first),
        dwconv_(child<TokenConv2d>("dwconv.dwconv", build, hidden(o, dim), 3)) {}
  std::string type() const override { return "MixFFN"; }

 protected:
  Tensor mix(Tensor x, const Grid& grid) override {
    if (relu_first_) x = ops::relu(std::move(x));
    return on_grid("mix_ffn", dwconv_, x, grid);
  }
  // timm has no module in between.
  std::string translated(const std::string& name) const override {
    return name == "dwconv.weight" || name == "dwconv.bias" ? "dwconv." + name : name;
  }

 private:
  static std::int64_t hidden(const MlpOptions& o, std::int64_t dim) {
    return width(o.expansion, static_cast<double>(dim));
  }
  bool relu_first_;
  TokenConv2d& dwconv_;
};

// 1x1 convolution to [a, b], SiLU, depthwise convolution over the grid, a silu(b), 1x1 convolution
// without bias. gdla 2.11, where it is called Mix-FFN.
class GatedMixFfn final : public FeedForward {
 public:
  GatedMixFfn(const Build& build, std::int64_t dim, const GatedMixFfnOptions& o, double drop_rate)
      : pwc1_(child<TokenPointwise>("pwc1", build, dim, 2 * hidden(o, dim))),
        dwc_(child<TokenConv2d>("dwc", build, 2 * hidden(o, dim), o.kernel_size)),
        pwc2_(child<TokenPointwise>("pwc2", build, hidden(o, dim), dim, false)) {
    FOVEA_CHECK(
        o.kernel_size % 2 == 1, ConfigError,
        fmt::format("gated_mix_ffn: kernel_size is {}; expected an odd number", o.kernel_size));
    if (drop_rate > 0) drop_ = &child<Dropout>("drop", build, drop_rate);
  }
  std::string type() const override { return "GatedMixFFN"; }

 protected:
  Tensor forward(Tensor x, const Grid& grid) override {
    x = ops::silu(pwc1_(x));
    x = on_grid("gated_mix_ffn", dwc_, x, grid);
    x = ops::activate({.kind = UnaryOp::kSilu, .gated = true, .gate_last = true}, std::move(x));
    x = pwc2_(x);
    return drop_ != nullptr ? (*drop_)(x) : x;
  }

 private:
  static std::int64_t hidden(const GatedMixFfnOptions& o, std::int64_t dim) {
    return width(o.expansion, static_cast<double>(dim));
  }
  TokenPointwise& pwc1_;
  TokenConv2d& dwc_;
  TokenPointwise& pwc2_;
  Dropout* drop_ = nullptr;
};

struct Entry : schema::Choice {
  static constexpr const char* kKind = "ffn";
  std::function<std::unique_ptr<FeedForward>(const schema::Component&, const Build&,
                                             std::int64_t dim, double drop_rate)>
      make;
};

template <class Class, class Options>
Entry entry(std::string name, std::string help, const schema::Fields<Options>& fields) {
  const auto shared = std::make_shared<const schema::Fields<Options>>(fields);
  return {{std::move(name), std::move(help), shared},
          [shared](const schema::Component& component, const Build& build, std::int64_t dim,
                   double drop_rate) {
            return std::make_unique<Class>(build, dim, shared->parse(component), drop_rate);
          }};
}

const schema::Registry<Entry>& entries() {
  static const schema::Registry<Entry> all = {
      entry<Mlp>("mlp", "fc1, activation, fc2 (dgsa 2.5)", mlp_fields()),
      entry<SwiGlu>("swiglu", "packed SwiGLU: fc1, silu(a) * b, fc2 (dgsa 2.5)",
                    schema::Fields<SwiGluOptions>{}
                        .include(common_fields())
                        .add("gate_last", &SwiGluOptions::gate_last,
                             "false: silu(a) * b for [a, b] = fc1(x); true: a * silu(b)")
                        .add("packed", &SwiGluOptions::packed,
                             "false: fc1 is two layers, fc1_g for a and fc1_x for b, as in timm's "
                             "SwiGLU (AIMv2), whose mlp_ratio is half of expansion")),
      entry<MixFfn>("mix_ffn",
                    "fc1, 3 x 3 depthwise convolution over the grid, activation, fc2 (PVTv2)",
                    schema::Fields<MixFfnOptions>{}
                        .include(mlp_fields())
                        .add("relu_first", &MixFfnOptions::relu_first,
                             "a ReLU between fc1 and the convolution, as in PVTv2's linear "
                             "variant")),
      entry<GatedMixFfn>(
          "gated_mix_ffn",
          "1x1 convolution to [a, b], SiLU, depthwise convolution over the grid, a silu(b), 1x1 "
          "convolution (gdla 2.11)",
          schema::Fields<GatedMixFfnOptions>{}
              .add("expansion", &GatedMixFfnOptions::expansion, width_ratio(),
                   "width of each half after the first convolution relative to that of the tokens")
              .add("kernel_size", &GatedMixFfnOptions::kernel_size, side_length(),
                   "side of the depthwise convolution; odd"))};
  return all;
}

}  // namespace

schema::Choices ffn_choices() { return entries().choices(); }

std::unique_ptr<FeedForward> make_ffn(const schema::Component& component, const Build& build,
                                      std::int64_t dim, double drop_rate) {
  return entries().find(component.type).make(component, build, dim, drop_rate);
}

}  // namespace fovea::nn
