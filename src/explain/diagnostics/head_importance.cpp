#include "explain/diagnostics/head_importance.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attention/probe.h"
#include "autograd/graph.h"
#include "autograd/mode.h"
#include "backend/devices.h"
#include "base/error.h"
#include "metrics/classification.h"
#include "nn/weights.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/in_place.h"
#include "ops/losses/loss.h"
#include "ops/shape.h"
#include "tensor/host.h"

namespace fovea::explain {
namespace {

using Table = std::vector<std::vector<double>>;

models::Inputs sample_at(const models::Inputs& inputs, std::int64_t i) {
  models::Inputs one;
  for (Tensor models::Inputs::*input :
       {&models::Inputs::image, &models::Inputs::tokens, &models::Inputs::valid}) {
    if ((inputs.*input).defined()) one.*input = ops::slice(inputs.*input, 0, i, 1);
  }
  return one;
}

struct Losses {
  double loss = 0, top1 = 0;
};

Losses losses_of(models::Model& model, const models::Inputs& inputs, const Tensor& labels) {
  const autograd::NoGrad no_grad;
  const Tensor logits = model(inputs).logits;
  const Tensor host =
      from_doubles(host_doubles(logits), logits.shape(), DType::kFloat32, make_cpu(1));
  const Tensor own = labels.device().is_host() ? labels : labels.copy_on(make_cpu(1));
  const auto right = static_cast<double>(metrics::top_k_correct(host, own, 1));
  return {host_doubles(ops::cross_entropy(logits, labels)).front(),
          right / static_cast<double>(labels.size(0))};
}

// sum over the rows o and the channels c of each head of W_oc dL/dW_oc, which for one sample is
// sum_ic u_ic dL/du_ic: dL/dW_oc = sum_i dL/dy_io u_ic, dL/du_ic = sum_o dL/dy_io W_oc.
std::vector<double> effects(const HeadSite& site, const Tensor& gradient) {
  const std::vector<double> w = host_doubles(site.projection), g = host_doubles(gradient);
  const auto heads = static_cast<std::size_t>(site.heads);
  const auto channels = static_cast<std::size_t>(site.projection.size(1));
  std::vector<double> sums(heads, 0.0);
  for (std::size_t k = 0; k < w.size(); ++k) sums[k % channels * heads / channels] += w[k] * g[k];
  return sums;
}

// Takes what gradients the parameters had, and gives it back.
class KeptGradients {
 public:
  explicit KeptGradients(const nn::Module& module) : parameters_(module.parameters()) {
    for (const nn::NamedTensor& p : parameters_) kept_.push_back(p.tensor.grad());
    clear();
  }
  void clear() const {
    for (const nn::NamedTensor& p : parameters_) p.tensor.set_grad({});
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

// Sets the columns of a head to 0, and gives them back.
class WithoutHead {
 public:
  WithoutHead(const HeadSite& site, std::int64_t head)
      : weight_(site.projection), whole_(ops::clone(site.projection.detach())) {
    std::vector<double> values = host_doubles(whole_);
    const std::int64_t channels = weight_.size(1);
    for (std::int64_t k = 0; k < std::ssize(values); ++k) {
      if (k % channels * site.heads / channels == head) values[static_cast<std::size_t>(k)] = 0;
    }
    const autograd::NoGrad no_grad;
    ops::copy_into(from_doubles(values, weight_.shape(), weight_.dtype(), make_cpu(1)), weight_);
  }
  ~WithoutHead() {
    const autograd::NoGrad no_grad;
    ops::copy_into(whole_, weight_);
  }
  WithoutHead(const WithoutHead&) = delete;
  WithoutHead& operator=(const WithoutHead&) = delete;

 private:
  Tensor weight_, whole_;
};

}  // namespace

std::vector<HeadSite> head_sites(models::Model& model, const models::Inputs& inputs) {
  const autograd::NoGrad no_grad;
  model.train(false);
  attention::Probe probe;
  model(inputs, &probe);
  const std::map<std::string, Tensor> own = nn::named_tensors(model);
  std::vector<HeadSite> sites;
  for (const attention::Probe::Record& record : probe.records()) {
    const bool is_map =
        record.name == "attn" || record.name == "reduced_attn" || record.name == "unit_attn";
    if (!is_map) continue;
    auto weight = own.find(record.module + ".proj.weight");
    if (weight == own.end()) weight = own.find(record.module + ".out_proj.weight");
    const std::int64_t heads = record.value.size(1);
    FOVEA_CHECK(
        weight != own.end() && weight->second.rank() == 2 && weight->second.size(1) % heads == 0,
        ConfigError,
        fmt::format("head importance: {} has no projection of its {} heads, \"proj\" or "
                    "\"out_proj\"",
                    record.module, heads));
    sites.push_back({record.module, heads, weight->second});
  }
  FOVEA_CHECK(!sites.empty(), ConfigError, "head importance: the network has no attention maps");
  return sites;
}

HeadImportance head_importance(models::Model& model, const models::Inputs& inputs,
                               const Tensor& labels) {
  const std::vector<HeadSite> sites = head_sites(model, sample_at(inputs, 0));
  const Losses whole = losses_of(model, inputs, labels);
  HeadImportance result{.loss = whole.loss, .top1 = whole.top1};
  for (const HeadSite& site : sites) {
    result.importance.emplace_back(site.heads, 0.0);
    result.ablation_loss.emplace_back();
    result.ablation_top1.emplace_back();
    for (std::int64_t head = 0; head < site.heads; ++head) {
      const WithoutHead gone(site, head);
      const Losses rest = losses_of(model, inputs, labels);
      result.ablation_loss.back().push_back(rest.loss - whole.loss);
      result.ablation_top1.back().push_back(rest.top1 - whole.top1);
    }
  }
  const KeptGradients gradients(model);
  const std::int64_t count = labels.size(0);
  for (std::int64_t i = 0; i < count; ++i) {
    gradients.clear();
    const Tensor logits = model(sample_at(inputs, i)).logits;
    autograd::backward(ops::cross_entropy(logits, ops::slice(labels, 0, i, 1)));
    for (std::size_t layer = 0; layer < sites.size(); ++layer) {
      const Tensor gradient = sites[layer].projection.grad();
      FOVEA_CHECK(gradient.defined(), ConfigError,
                  fmt::format("head importance: the loss does not depend on {}, or it is frozen",
                              sites[layer].module));
      const std::vector<double> sums = effects(sites[layer], gradient);
      for (std::size_t head = 0; head < sums.size(); ++head)
        result.importance[layer][head] += std::abs(sums[head]) / static_cast<double>(count);
    }
  }
  return result;
}

Table normalised_by_layer(Table importance) {
  for (std::vector<double>& layer : importance) {
    double squares = 0;
    for (const double value : layer) squares += value * value;
    if (!(squares > 0)) continue;
    for (double& value : layer) value /= std::sqrt(squares);
  }
  return importance;
}

}  // namespace fovea::explain
