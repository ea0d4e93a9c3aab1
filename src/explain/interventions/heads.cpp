#include "explain/interventions/heads.h"

#include <fmt/format.h>

#include <map>

#include "autograd/mode.h"
#include "backend/devices.h"
#include "base/error.h"
#include "explain/maps/tokens.h"
#include "nn/weights.h"
#include "ops/create.h"
#include "ops/in_place.h"
#include "tensor/host.h"
#include "visualise/maps/map_signs.h"

namespace fovea::explain {
namespace {

// The projection of an attention with so many heads. Throws ConfigError where there is none.
HeadSite site_of(const std::string& module, std::int64_t heads,
                 const std::map<std::string, Tensor>& parameters) {
  for (const char* name : {".proj", ".out_proj"}) {
    const auto weight = parameters.find(module + name + ".weight");
    if (weight == parameters.end() || weight->second.rank() != 2) continue;
    const std::int64_t dim = weight->second.size(0), channels = weight->second.size(1);
    const std::int64_t branches = channels > dim && channels % dim == 0 ? channels / dim : 1;
    if (channels % (branches * heads) != 0) continue;
    return {module, heads, weight->second, module + name, branches};
  }
  throw ConfigError(
      fmt::format("heads: {} has no projection of its {} heads, \"proj\" or \"out_proj\"; "
                  "expected attentions that end in one",
                  module, heads));
}

}  // namespace

std::vector<HeadSite> head_sites(models::Model& model, const ProbedPass& pass) {
  const autograd::NoGrad no_grad;
  model.train(false);
  attention::Probe probe;
  probe.only({0, 0});  // the number of heads is all that is read of a map
  pass(probe);
  const std::map<std::string, Tensor> parameters = nn::named_tensors(model);
  std::vector<HeadSite> sites;
  for (const attention::Probe::Record& record : probe.records()) {
    if (visualise::is_attention_map(record))
      sites.push_back(site_of(record.module, record.value.size(1), parameters));
  }
  FOVEA_CHECK(!sites.empty(), ConfigError,
              "heads: the network has no attention over tokens; expected one");
  return sites;
}

std::vector<HeadSite> head_sites(models::Model& model, const models::Inputs& inputs) {
  return head_sites(model, [&](attention::Probe& probe) { model(inputs, &probe); });
}

ScaledHeads::ScaledHeads(const HeadSite& site, const std::vector<double>& factors)
    : weight_(site.projection), whole_(ops::clone(site.projection.detach())) {
  std::vector<double> values = host_doubles(whole_);
  const std::int64_t channels = weight_.size(1);
  for (std::int64_t k = 0; k < std::ssize(values); ++k)
    values[as_index(k)] *= factors[as_index(site.head_of(k % channels))];
  const autograd::NoGrad no_grad;
  ops::copy_into(from_doubles(values, weight_.shape(), weight_.dtype(), make_cpu(1)), weight_);
}

ScaledHeads::~ScaledHeads() {
  const autograd::NoGrad no_grad;
  ops::copy_into(whole_, weight_);
}

std::vector<double> all_but(std::int64_t head, std::int64_t heads) {
  std::vector<double> factors(as_index(heads), 1.0);
  factors[as_index(head)] = 0;
  return factors;
}

}  // namespace fovea::explain
