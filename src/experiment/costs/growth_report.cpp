// Growth as JSON and as tables.
#include <fmt/format.h>

#include <cmath>

#include "experiment/costs/growth.h"
#include "experiment/run/summary.h"
#include "experiment/tables/text_table.h"

namespace fovea::experiment {
namespace {

schema::Value cost_json(const std::string& prefix, const Cost& cost) {
  schema::Value object = schema::Value::object(
      {{prefix + "macs", cost.macs}, {prefix + "train_peak_bytes", cost.peak_bytes}});
  object.set(prefix + "ms", cost.ms);  // NaN is written as null
  object.set(prefix + "ms_spread", cost.ms_spread);
  return object;
}

schema::Value depth_json(const Depth& depth, const std::string& prefix, const Cost& cost) {
  schema::Value row = schema::Value::object({{"blocks", depth.blocks}, {"layers", depth.layers}});
  const schema::Value costs = cost_json(prefix, cost);
  for (const auto& member : costs.members()) row.set(member.key, member.value);
  return row;
}

schema::Value rate_json(const GrowthRate& rate) {
  return schema::Value::object(
      {{"exponent", rate.exponent}, {"last_exponent", rate.last}, {"square_part", rate.square}});
}

// "1.33 (1.52, 55 %)": over all depths, between the last two, part of the square.
std::string rate_text(const GrowthRate& rate) {
  if (std::isnan(rate.exponent)) return "-";
  if (std::isnan(rate.square)) return fmt::format("{:.2f} ({:.2f})", rate.exponent, rate.last);
  const double percent = std::round(100 * rate.square) + 0.0;  // no -0
  return fmt::format("{:.2f} ({:.2f}, {:.0f} %)", rate.exponent, rate.last, percent);
}

}  // namespace

schema::Value to_json(const Experiment& e, const GrowthSettings& settings,
                      const std::vector<Depth>& depths) {
  using schema::Value;
  Value backbone = Value::array();
  for (const Depth& depth : depths) backbone.push_back(depth_json(depth, "", depth.backbone));
  Value attentions = Value::array();
  const std::vector<Growth> growth = growth_of(depths);
  for (std::size_t i = 0; i < growth.size(); ++i) {
    Value rows = Value::array();
    for (const Depth& depth : depths) rows.push_back(depth_json(depth, "added_", depth.added[i]));
    attentions.push_back(Value::object(
        {{"name", settings.layer_attentions[i]},
         {"depths", rows},
         {"growth", Value::object({{"macs", rate_json(growth[i].macs)},
                                   {"train_peak_bytes", rate_json(growth[i].peak_bytes)},
                                   {"ms", rate_json(growth[i].ms)}})}}));
  }
  return Value::object({{"name", e.name},
                        {"batch_size", e.train.batch_size},
                        {"timed_steps", settings.steps},
                        {"memory", settings.steps > 0 ? "measured" : "counted"},
                        {"backbone", backbone},
                        {"layer_attention", attentions}});
}

std::string to_text(const GrowthSettings& settings, const std::vector<Depth>& depths) {
  const bool timed = settings.steps > 0;
  TextTable costs{{"adds", "blocks", "layers", "MACs", "memory"}, {}};
  if (timed) costs.header.insert(costs.header.end(), {"ms", "+-"});
  const auto add = [&](const std::string& name, const Depth& depth, const Cost& cost) {
    costs.rows.push_back({name, fmt::format("{}", depth.blocks), fmt::format("{}", depth.layers),
                          count_text(cost.macs), bytes_text(cost.peak_bytes)});
    if (!timed) return;
    costs.rows.back().push_back(fmt::format("{:.2f}", cost.ms));
    costs.rows.back().push_back(fmt::format("{:.2f}", cost.ms_spread));
  };
  for (const Depth& depth : depths) add("(backbone)", depth, depth.backbone);
  TextTable rates{{"grows with layers", "MACs", "memory"}, {}};
  if (timed) rates.header.emplace_back("time");
  const std::vector<Growth> growth = growth_of(depths);
  for (std::size_t i = 0; i < growth.size(); ++i) {
    const std::string& name = settings.layer_attentions[i];
    for (const Depth& depth : depths) add(name, depth, depth.added[i]);
    rates.rows.push_back({name, rate_text(growth[i].macs), rate_text(growth[i].peak_bytes)});
    if (timed) rates.rows.back().push_back(rate_text(growth[i].ms));
  }
  std::string text = plain_table(costs);
  if (depths.size() < 2) return text;
  return text + "\n" + plain_table(rates) +
         "\nExponent over all depths (between the last two, part of a + b n + c n^2 that is the "
         "square at the last).\n";
}

}  // namespace fovea::experiment
