#include "verify/recipe.h"

#include <set>
#include <string>
#include <utility>

#include "base/error.h"
#include "verify/options.h"

namespace fovea::verify {
namespace {

using optim::NoDecay;
using schema::Value;

std::set<std::string> exempt_by(NoDecay rule, const std::vector<optim::Parameter>& parameters) {
  std::set<std::string> names;
  for (const optim::Parameter& p : parameters) {
    if (!optim::decays(p, rule)) names.insert(p.name);
  }
  return names;
}

}  // namespace

schema::Component adamw_of(const Case& c, const std::vector<optim::Parameter>& parameters) {
  std::set<std::string> wanted;
  if (c.given("no_decay")) {
    for (const Value& name : c.config().at("no_decay").items()) wanted.insert(name.as_string());
  }
  constexpr std::pair<NoDecay, const char*> kRules[] = {
      {NoDecay::kNone, "none"},
      {NoDecay::kNormAndBias, "norm_and_bias"},
      {NoDecay::kOneDimensional, "one_dimensional"}};
  for (const auto& [rule, name] : kRules) {
    if (exempt_by(rule, parameters) != wanted) continue;
    return resolved(optim::optimiser_choices(),
                    Value::object({{"type", "adamw"},
                                   {"weight_decay", c.number("weight_decay", 0.01)},
                                   {"betas", c.config().at("betas")},
                                   {"eps", c.number("eps", 1e-8)},
                                   {"lr", c.number("lr", 1e-3)},
                                   {"no_decay", name}}));
  }
  throw Error("verify: no rule of optimizer.no_decay leaves out what the case's no_decay names");
}

schema::Component cosine_of(const Case& c) {
  return resolved(optim::schedule_choices(), Value::object({{"type", "cosine"},
                                                            {"unit", "epoch"},
                                                            {"min_lr", c.number("eta_min")},
                                                            {"period_epochs", c.number("T_max")}}));
}

schema::Component warmup_linear_of(const Case& c) {
  return resolved(
      optim::schedule_choices(),
      Value::object(
          {{"type", "linear"}, {"unit", "step"}, {"warmup_steps", c.integer("warmup_steps")}}));
}

}  // namespace fovea::verify
