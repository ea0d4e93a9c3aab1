#include "explain/diagnostics/head_importance.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>

#include "autograd/graph.h"
#include "autograd/hooks.h"
#include "autograd/mode.h"
#include "base/error.h"
#include "explain/maps/tokens.h"
#include "nn/hooked_parts.h"
#include "ops/elementwise.h"
#include "ops/losses/loss.h"
#include "ops/shape.h"
#include "tensor/host.h"

namespace fovea::explain {
namespace {

models::Inputs first_of(const models::Inputs& inputs) {
  models::Inputs one;
  for (Tensor models::Inputs::*input :
       {&models::Inputs::image, &models::Inputs::tokens, &models::Inputs::valid}) {
    if ((inputs.*input).defined()) one.*input = ops::slice(inputs.*input, 0, 0, 1);
  }
  return one;
}

// Of each sample, in float64.
struct SampleLosses {
  std::vector<double> loss, right;
};

SampleLosses losses_of(models::Model& model, const models::Inputs& inputs, const Tensor& labels) {
  const autograd::NoGrad no_grad;
  const Tensor logits = model(inputs).logits;
  const std::vector<double> z = host_doubles(logits), classes = host_doubles(labels);
  SampleLosses all;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const auto row = z.begin() + static_cast<std::ptrdiff_t>(i) * logits.size(1);
    const auto best = std::max_element(row, row + logits.size(1));
    double sum = 0;
    for (auto value = row; value != row + logits.size(1); ++value) sum += std::exp(*value - *best);
    const auto label = static_cast<std::ptrdiff_t>(classes[i]);
    all.loss.push_back(std::log(sum) + *best - row[label]);
    all.right.push_back(best - row == label ? 1 : 0);
  }
  return all;
}

// Takes what gradients the parameters had, and gives it back.
class KeptGradients {
 public:
  explicit KeptGradients(const nn::Module& module) : parameters_(module.parameters()) {
    for (const nn::NamedTensor& p : parameters_) {
      kept_.push_back(p.tensor.grad());
      p.tensor.set_grad({});
    }
  }
  ~KeptGradients() {
    for (std::size_t i = 0; i < kept_.size(); ++i) parameters_[i].tensor.set_grad(kept_[i]);
  }
  KeptGradients(const KeptGradients&) = delete;
  KeptGradients& operator=(const KeptGradients&) = delete;

 private:
  std::vector<nn::NamedTensor> parameters_;
  std::vector<Tensor> kept_;
};

// What a projection reads, u, and the gradient of the mean loss: once, or for each size of windows.
struct SeenHeads {
  Tensor u;
  std::shared_ptr<Tensor> gradient = std::make_shared<Tensor>();
};
using SeenParts = std::vector<SeenHeads>;

// |sum_ic u_ic dL/du_ic| of each head and sample. The mean loss of b samples has 1 / b of the
// gradient of a sample's own.
std::vector<std::vector<double>> importance_of(const HeadSite& site, const SeenParts& seen,
                                               std::int64_t samples) {
  std::vector<std::vector<double>> sums(as_index(site.heads),
                                        std::vector<double>(as_index(samples), 0.0));
  for (const SeenHeads& part : seen) {
    const std::vector<double> u = host_doubles(part.u), du = host_doubles(*part.gradient);
    const std::int64_t channels = part.u.size(-1), of_sample = std::ssize(u) / samples;
    for (std::int64_t k = 0; k < std::ssize(u); ++k) {
      sums[as_index(site.head_of(k % channels))][as_index(k / of_sample)] +=
          u[as_index(k)] * du[as_index(k)];
    }
  }
  for (std::vector<double>& head : sums)
    for (double& sum : head) sum = std::abs(sum) * static_cast<double>(samples);
  return sums;
}

std::vector<double> minus(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> difference;
  for (std::size_t i = 0; i < a.size(); ++i) difference.push_back(a[i] - b[i]);
  return difference;
}

double mean_of_samples(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

HeadTable means_of(const std::vector<HeadTable>& layers) {
  HeadTable means;
  for (const HeadTable& layer : layers) {
    means.emplace_back();
    for (const std::vector<double>& head : layer) means.back().push_back(mean_of_samples(head));
  }
  return means;
}

void append_samples(std::vector<double>& to, const std::vector<double>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

void append_samples(std::vector<HeadTable>& to, const std::vector<HeadTable>& more) {
  if (to.empty()) {
    to = more;
    return;
  }
  for (std::size_t layer = 0; layer < to.size(); ++layer)
    for (std::size_t head = 0; head < to[layer].size(); ++head)
      append_samples(to[layer][head], more[layer][head]);
}

}  // namespace

std::vector<HeadTable> head_importances(models::Model& model, const std::vector<HeadSite>& sites,
                                        const models::Inputs& inputs, const Tensor& labels) {
  const KeptGradients kept(model);
  std::map<std::string, SeenParts> seen;
  for (const HeadSite& site : sites) seen[site.linear + "." + nn::kLinearInput] = {};
  const autograd::ModuleHook see = [&](const std::string& place, const Tensor& value) {
    const auto found = seen.find(place);
    if (found == seen.end()) return value;
    const SeenHeads& part = found->second.emplace_back(SeenHeads{.u = value.detach()});
    return autograd::observed(value,
                              [gradient = part.gradient](const Tensor& du) { *gradient = du; });
  };
  {
    const autograd::EnableGrad with_grad;
    const autograd::HookModules hooks(see);
    autograd::backward(ops::cross_entropy(model(inputs).logits, labels));
  }
  std::vector<HeadTable> result;
  for (const HeadSite& site : sites) {
    const SeenParts& parts = seen.at(site.linear + "." + nn::kLinearInput);
    FOVEA_CHECK(!parts.empty() &&
                    std::ranges::all_of(
                        parts, [](const SeenHeads& part) { return part.gradient->defined(); }),
                ConfigError,
                fmt::format("head importance: the loss does not depend on {}, or it is frozen",
                            site.module));
    result.push_back(importance_of(site, parts, labels.size(0)));
  }
  return result;
}

void HeadEffects::append(const HeadEffects& more) {
  append_samples(loss, more.loss);
  append_samples(right, more.right);
  append_samples(importance, more.importance);
  append_samples(ablation_loss, more.ablation_loss);
  append_samples(ablation_right, more.ablation_right);
}

HeadImportance HeadEffects::means() const {
  return {.loss = mean_of_samples(loss),
          .top1 = mean_of_samples(right),
          .importance = means_of(importance),
          .ablation_loss = means_of(ablation_loss),
          .ablation_top1 = means_of(ablation_right)};
}

std::int64_t head_passes(const std::vector<HeadSite>& sites) {
  std::int64_t passes = 2;  // the network itself, and backward
  for (const HeadSite& site : sites) passes += site.heads;
  return passes;
}

HeadEffects head_effects(models::Model& model, const std::vector<HeadSite>& sites,
                         const models::Inputs& inputs, const Tensor& labels,
                         const std::function<void()>& step) {
  step();
  const SampleLosses whole = losses_of(model, inputs, labels);
  HeadEffects effects{whole.loss, whole.right};
  for (const HeadSite& site : sites) {
    HeadTable& losses = effects.ablation_loss.emplace_back();
    HeadTable& rights = effects.ablation_right.emplace_back();
    for (std::int64_t head = 0; head < site.heads; ++head) {
      step();
      const ScaledHeads gone(site, all_but(head, site.heads));
      const SampleLosses rest = losses_of(model, inputs, labels);
      losses.push_back(minus(rest.loss, whole.loss));
      rights.push_back(minus(rest.right, whole.right));
    }
  }
  step();
  effects.importance = head_importances(model, sites, inputs, labels);
  return effects;
}

HeadImportance head_importance(models::Model& model, const models::Inputs& inputs,
                               const Tensor& labels) {
  return head_effects(model, head_sites(model, first_of(inputs)), inputs, labels).means();
}

HeadTable normalised_by_layer(HeadTable importance) {
  for (std::vector<double>& layer : importance) {
    double squares = 0;
    for (const double value : layer) squares += value * value;
    if (!(squares > 0)) continue;
    for (double& value : layer) value /= std::sqrt(squares);
  }
  return importance;
}

}  // namespace fovea::explain
