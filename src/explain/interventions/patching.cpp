#include "explain/interventions/patching.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include "autograd/hooks.h"
#include "autograd/mode.h"
#include "base/error.h"
#include "nn/hooked_parts.h"
#include "ops/create.h"
#include "tensor/host.h"

namespace fovea::explain {
namespace {

using Activations = std::map<std::string, Tensor>;

TargetScore score_of(const Subject& subject, const Tensor& x, std::int64_t target) {
  const autograd::NoGrad no_grad;
  const std::vector<double> z = host_doubles(subject.scores(x));
  TargetScore score{z[as_index(target)], std::numeric_limits<double>::quiet_NaN()};
  if (subject.segments()) return score;
  double sum = 0;
  for (const double other : z) sum += std::exp(other - score.logit);
  score.probability = 1 / sum;
  return score;
}

// The block that an attention is a part of, "blocks.0" of "blocks.0.attn".
std::string block_of(const HeadSite& site) { return site.module.substr(0, site.module.rfind('.')); }
std::string read_by_projection(const HeadSite& site) {
  return site.linear + "." + nn::kLinearInput;
}

// What passes at the places where layers can be patched.
Activations activations_of_pass(const Subject& subject, const Tensor& x,
                                const std::vector<HeadSite>& sites) {
  Activations seen;
  for (const HeadSite& site : sites) {
    for (const std::string& place :
         {block_of(site), block_of(site) + ".mlp", read_by_projection(site)})
      seen[place] = {};
  }
  const autograd::ModuleHook see = [&](const std::string& place, const Tensor& value) {
    if (const auto found = seen.find(place); found != seen.end()) found->second = ops::clone(value);
    return value;
  };
  const autograd::NoGrad no_grad;
  const autograd::HookModules hooks(see);
  subject.scores(x);
  return seen;
}

class Patcher {
 public:
  Patcher(const Subject& subject, const Tensor& other, std::int64_t target,
          const std::vector<HeadSite>& sites)
      : subject_(subject),
        target_(target),
        own_(activations_of_pass(subject, subject.x(), sites)),
        other_(activations_of_pass(subject, other, sites)) {}

  /// Which of the numbers of an activation come from the other input: by token and channel.
  using Which = std::function<bool(std::int64_t token, std::int64_t channel)>;
  /// Nothing where no activation of (1, tokens, channels) passes there.
  std::optional<TargetScore> at(const std::string& place, const Which& which) const {
    const Tensor& own = own_.at(place);
    if (!own.defined() || own.rank() != 3) return {};
    const Tensor& other = other_.at(place);
    FOVEA_CHECK(own.shape() == other.shape(), ConfigError,
                fmt::format("--patch-from: {} has {} tokens of one input and {} of the other; "
                            "expected as many",
                            place, own.size(1), other.size(1)));
    std::vector<double> values = host_doubles(own);
    const std::vector<double> from = host_doubles(other);
    const std::int64_t channels = own.size(2);
    for (std::int64_t k = 0; k < std::ssize(values); ++k) {
      if (which(k / channels % own.size(1), k % channels)) values[as_index(k)] = from[as_index(k)];
    }
    const Tensor patched = from_doubles(values, own.shape(), own.dtype(), own.device());
    const autograd::ModuleHook replace = [&](const std::string& module, const Tensor& value) {
      return module == place ? patched : value;
    };
    const autograd::HookModules hooks(replace);
    return score_of(subject_, subject_.x(), target_);
  }

 private:
  const Subject& subject_;
  std::int64_t target_;
  Activations own_, other_;
};

PatchedLayer patched_layer(const Patcher& patcher, const HeadSite& site, std::int64_t prefix) {
  const auto everything = [](std::int64_t, std::int64_t) { return true; };
  PatchedLayer layer{.module = site.module};
  if (prefix > 0)
    layer.prefix = patcher.at(block_of(site),
                              [&](std::int64_t token, std::int64_t) { return token < prefix; });
  const std::string heads = read_by_projection(site);
  const std::optional<TargetScore> all = patcher.at(heads, everything);
  FOVEA_CHECK(all, ConfigError,
              fmt::format("--patch-from: what the heads of {} put out is not seen; expected "
                          "attention over the tokens of a network",
                          site.module));
  layer.attention = *all;
  layer.ffn = patcher.at(block_of(site) + ".mlp", everything);
  for (std::int64_t head = 0; head < site.heads; ++head) {
    const auto own = [&](std::int64_t, std::int64_t channel) {
      return site.head_of(channel) == head;
    };
    layer.heads.push_back(*patcher.at(heads, own));
  }
  return layer;
}

}  // namespace

double Patching::effect(const TargetScore& patched) const {
  if (other.logit == clean.logit) return std::numeric_limits<double>::quiet_NaN();
  if (patched.logit == clean.logit) return 0;  // and not -0
  return (patched.logit - clean.logit) / (other.logit - clean.logit);
}

Patching patch_activations(const Subject& clean, const Tensor& other, std::int64_t target,
                           const std::vector<HeadSite>& sites) {
  FOVEA_CHECK(clean.batch() == 1, ShapeError,
              fmt::format("patching: {} inputs; expected one", clean.batch()));
  const Shape &own = clean.x().shape(), &others = other.shape();
  FOVEA_CHECK(own == others, ConfigError,
              clean.reads_text()
                  ? fmt::format("--patch-from: the text has {} words and the other one {}; "
                                "expected as many",
                                own[1], others[1])
                  : fmt::format("--patch-from: the inputs are {} and {}; expected the same size",
                                to_string(own), to_string(others)));
  const Patcher patcher(clean, other, target, sites);
  Patching result{score_of(clean, clean.x(), target), score_of(clean, other, target), {}};
  const std::int64_t prefix = clean.layout().prefix;
  for (const HeadSite& site : sites) result.layers.push_back(patched_layer(patcher, site, prefix));
  return result;
}

}  // namespace fovea::explain
