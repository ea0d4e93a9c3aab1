#include "verify/recipe.h"

#include "verify/options.h"

namespace fovea::verify {
using schema::Value;

schema::Component adamw_of(const Case& c) {
  Value options = Value::object({{"type", "adamw"},
                                 {"weight_decay", c.number("weight_decay", 0.01)},
                                 {"betas", c.value("betas")},
                                 {"eps", c.number("eps", 1e-8)},
                                 {"lr", c.number("lr", 1e-3)},
                                 {"no_decay", "none"}});
  if (c.given("no_decay")) options.set("no_decay_names", c.value("no_decay"));
  return resolved(optim::optimiser_choices(), options);
}

schema::Component cosine_of(const Case& c) {
  return resolved(optim::schedule_choices(), Value::object({{"type", "cosine"},
                                                            {"unit", "epoch"},
                                                            {"min_lr", c.number("eta_min", 0)},
                                                            {"period_epochs", c.number("T_max")}}));
}

schema::Component warmup_linear_of(const Case& c) {
  return resolved(
      optim::schedule_choices(),
      Value::object(
          {{"type", "linear"}, {"unit", "step"}, {"warmup_steps", c.integer("warmup_steps")}}));
}

}  // namespace fovea::verify
