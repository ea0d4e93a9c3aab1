// The schedules of experiment files. lr is the base rate, t the time since the warm-up, T the
// length of the part after it.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "optim/registry.h"

namespace fovea::optim {
namespace {

using Rate = std::function<double(double t)>;
using schema::at_least;
using schema::greater_than;
using schema::in_range;

template <class Options>
schema::Fields<Options> shared_fields() {
  return schema::Fields<Options>{}.include(schedule_fields());
}

/// Makes an entry from a function (options, span, lr) -> rate.
template <class Options, class MakeRate>
ScheduleEntry entry(const std::string& help, const schema::Fields<Options>& fields,
                    MakeRate make_rate) {
  const auto shared = std::make_shared<const schema::Fields<Options>>(fields);
  return {{"", help, shared}, [=](const schema::Component& choice, const RunLength& run) {
            const Options options = shared->parse(choice, "schedule");
            return schedule_of(options, run,
                               [&](const Span& span) { return make_rate(options, span, run.lr); });
          }};
}

double cosine_between(double from, double to, double fraction) {
  return to + 0.5 * (from - to) * (1 + std::cos(std::numbers::pi * fraction));
}

// Drops are counted from the start of the run in every recipe of the papers.
struct Step : ScheduleOptions {
  Step() { warmup_prefix = false; }
  double decay_epochs = 30;
  double decay_rate = 0.1;
};

struct MultiStep : ScheduleOptions {
  MultiStep() { warmup_prefix = false; }
  std::vector<double> milestones;
  double decay_rate = 0.1;
};

struct Cosine : ScheduleOptions {
  double min_lr = 0;
  double period_epochs = 0;
};

struct CosineRestarts : ScheduleOptions {
  double min_lr = 0;
  double cycle_epochs = 10;
  double cycle_mult = 1;
  double cycle_decay = 1;
};

struct Polynomial : ScheduleOptions {
  double power = 0.9;
  double min_lr = 0;
};

struct Linear : ScheduleOptions {
  Linear() { unit = Unit::kStep; }
  double min_lr = 0;
};

struct InverseSqrt : ScheduleOptions {
  InverseSqrt() { unit = Unit::kStep; }
  double decay_steps = 10000;
};

struct OneCycle : ScheduleOptions {
  OneCycle() { unit = Unit::kStep; }
  double pct_start = 0.3;
  double div_factor = 25;
  double final_div_factor = 1e4;
};

}  // namespace

ScheduleEntry constant_schedule() {
  return entry("lr throughout", shared_fields<ScheduleOptions>(),
               [](const ScheduleOptions&, const Span&, double lr) -> Rate {
                 return [lr](double) { return lr; };
               });
}

ScheduleEntry step_schedule() {
  return entry(
      "lr decay_rate^floor(t / decay_epochs)",
      shared_fields<Step>()
          .add("decay_epochs", &Step::decay_epochs, greater_than(0), "epochs between drops")
          .add("decay_rate", &Step::decay_rate, greater_than(0), "factor of each drop"),
      [](const Step& o, const Span& span, double lr) -> Rate {
        return [=, every = o.decay_epochs * span.epoch](double t) {
          return lr * std::pow(o.decay_rate, std::floor(t / every));
        };
      });
}

ScheduleEntry multi_step_schedule() {
  return entry(
      "lr decay_rate^(milestones passed)",
      shared_fields<MultiStep>()
          .add("milestones", &MultiStep::milestones, at_least(0),
               "epochs at which the rate drops, counted from the start of the run, or "
               "from the end of the warm-up with warmup_prefix true")
          .required()
          .add("decay_rate", &MultiStep::decay_rate, greater_than(0), "factor of each drop"),
      [](const MultiStep& o, const Span& span, double lr) -> Rate {
        return [=](double t) {
          const auto passed =
              std::count_if(o.milestones.begin(), o.milestones.end(),
                            [&](double milestone) { return milestone * span.epoch <= t; });
          return lr * std::pow(o.decay_rate, static_cast<double>(passed));
        };
      });
}

// dgsa 6.4. The cosine is not cut off after its period: it rises again, as PyTorch's does.
ScheduleEntry cosine_schedule() {
  return entry("min_lr + (lr - min_lr) (1 + cos(pi t / T)) / 2",
               shared_fields<Cosine>()
                   .add("min_lr", &Cosine::min_lr, at_least(0),
                        "rate at the end of the run, or of each cycle")
                   .add("period_epochs", &Cosine::period_epochs, at_least(0),
                        "epochs from lr to min_lr; 0 = to the end of the run"),
               [](const Cosine& o, const Span& span, double lr) -> Rate {
                 const double period =
                     std::max(o.period_epochs > 0 ? o.period_epochs * span.epoch : span.total, 1.0);
                 return [=](double t) { return cosine_between(lr, o.min_lr, t / period); };
               });
}

ScheduleEntry cosine_restarts_schedule() {
  return entry("a cosine that starts again after each cycle",
               shared_fields<CosineRestarts>()
                   .add("min_lr", &CosineRestarts::min_lr, at_least(0),
                        "rate at the end of the run, or of each cycle")
                   .add("cycle_epochs", &CosineRestarts::cycle_epochs, greater_than(0),
                        "length of the first cycle")
                   .add("cycle_mult", &CosineRestarts::cycle_mult, at_least(1),
                        "each cycle is this much longer than the one before")
                   .add("cycle_decay", &CosineRestarts::cycle_decay, in_range(0, 1),
                        "each cycle starts this much lower than the one before"),
               [](const CosineRestarts& o, const Span& span, double lr) -> Rate {
                 return [=](double t) {
                   double cycle = o.cycle_epochs * span.epoch;
                   double top = lr;
                   while (t >= cycle) {
                     t -= cycle;
                     cycle *= o.cycle_mult;
                     top *= o.cycle_decay;
                   }
                   return cosine_between(std::max(top, o.min_lr), o.min_lr, t / cycle);
                 };
               });
}

ScheduleEntry polynomial_schedule() {
  return entry("min_lr + (lr - min_lr) (1 - t / T)^power",
               shared_fields<Polynomial>()
                   .add("power", &Polynomial::power, greater_than(0), "exponent")
                   .add("min_lr", &Polynomial::min_lr, at_least(0),
                        "rate at the end of the run, or of each cycle"),
               [](const Polynomial& o, const Span& span, double lr) -> Rate {
                 const double total = std::max(span.total, 1.0);
                 return [=](double t) {
                   const double left = std::max(1 - t / total, 0.0);
                   return o.min_lr + (lr - o.min_lr) * std::pow(left, o.power);
                 };
               });
}

// dgsa 6.4 with warmup_steps: lr k / W, then lr (S - k) / (S - W) after k completed steps.
ScheduleEntry linear_schedule() {
  return entry("lr max(0, (T - t) / T), not below min_lr",
               shared_fields<Linear>().add("min_lr", &Linear::min_lr, at_least(0),
                                           "rate at the end of the run, or of each cycle"),
               [](const Linear& o, const Span& span, double lr) -> Rate {
                 const double total = std::max(span.total, 1.0);
                 return [=](double t) {
                   return o.min_lr + (lr - o.min_lr) * std::max((span.total - t) / total, 0.0);
                 };
               });
}

// Vaswani et al., "Attention is all you need": with decay_steps the steps of the warm-up
// (mala 7.5).
ScheduleEntry inverse_sqrt_schedule() {
  return entry("lr sqrt(S / (S + t)), S steps",
               shared_fields<InverseSqrt>().add(
                   "decay_steps", &InverseSqrt::decay_steps, greater_than(0),
                   "S: the rate is lr / sqrt(2) this many steps (or epochs, by unit) after the "
                   "warm-up; that of a Transformer is its warm-up"),
               [](const InverseSqrt& o, const Span&, double lr) -> Rate {
                 return
                     [=](double t) { return lr * std::sqrt(o.decay_steps / (o.decay_steps + t)); };
               });
}

// PyTorch's OneCycleLR with cosine annealing; lr is its max_lr.
ScheduleEntry one_cycle_schedule() {
  return entry("up from lr / div_factor to lr and down to lr / (div_factor final_div_factor)",
               shared_fields<OneCycle>()
                   .add("pct_start", &OneCycle::pct_start, in_range(0, 1), "share of the rise")
                   .add("div_factor", &OneCycle::div_factor, at_least(1), "lr / first rate")
                   .add("final_div_factor", &OneCycle::final_div_factor, at_least(1),
                        "first rate / last rate"),
               [](const OneCycle& o, const Span& span, double lr) -> Rate {
                 const double first = lr / o.div_factor;
                 const double last = first / o.final_div_factor;
                 const double top = o.pct_start * span.total - 1;
                 const double end = span.total - 1;
                 return [=](double t) {
                   if (t <= top && top > 0) return cosine_between(first, lr, t / top);
                   const double fall = std::max(end - std::max(top, 0.0), 1.0);
                   return cosine_between(lr, last, std::min((t - std::max(top, 0.0)) / fall, 1.0));
                 };
               });
}

}  // namespace fovea::optim
