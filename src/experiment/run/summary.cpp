#include "experiment/run/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "autograd/mode.h"
#include "autograd/profiler.h"
#include "backend/devices.h"

namespace fovea::experiment {
namespace {

models::Inputs batch_of(const models::Model& model, const Shape& sample, std::int64_t size,
                        const Device& device) {
  models::Inputs inputs;
  for (const models::InputField& field : models::info_of(model.interface()).reads) {
    Shape shape{size};
    for (const std::int64_t axis : field.of_sample.value_or(sample)) shape.push_back(axis);
    inputs.*field.tensor = Tensor::empty(shape, field.dtype, device);
  }
  return inputs;
}

// What the events inside a module add up to, and the shape of the last one's result.
struct Inside {
  std::int64_t macs = 0;
  Shape output;
};

// For every module at once: each event counts for its module and for those around it.
std::unordered_map<std::string, Inside> sums_by_module(const std::vector<autograd::Event>& events) {
  std::unordered_map<std::string, Inside> sums;
  for (const autograd::Event& event : events) {
    const auto add = [&](const std::string& name) {
      Inside& sum = sums[name];
      sum.macs += event.macs;
      sum.output = event.output;
    };
    add("");
    const std::string& module = event.module;
    for (std::size_t dot = module.find('.'); dot != std::string::npos;
         dot = module.find('.', dot + 1))
      add(module.substr(0, dot));
    if (!module.empty()) add(module);
  }
  return sums;
}

std::int64_t peak_of_inference(
    const std::function<std::unique_ptr<models::Model>(const Device&)>& make, const Shape& input,
    std::int64_t batch_size) {
  const Device meta = make_meta();
  const auto model = make(meta);
  const autograd::NoGrad no_grad;
  model->forward_dummy(batch_of(*model, input, batch_size, meta));
  return meta.allocator().stats().peak_bytes;
}

int level_of(const std::string& name) {
  return name.empty() ? 0 : 1 + static_cast<int>(std::count(name.begin(), name.end(), '.'));
}

std::string scaled(double value, double base, std::initializer_list<const char*> units) {
  auto unit = units.begin();
  while (value >= base && unit + 1 != units.end()) {
    value /= base;
    ++unit;
  }
  return unit == units.begin() ? fmt::format("{:.0f}{}", value, *unit)
                               : fmt::format("{:.3g}{}", value, *unit);
}

}  // namespace

Summary summarise(const std::function<std::unique_ptr<models::Model>(const Device&)>& make,
                  const Shape& input, std::int64_t batch_size) {
  const Device meta = make_meta();
  const auto model = make(meta);
  model->train(false);
  autograd::Profiler profiler;
  {
    const autograd::NoGrad no_grad;
    const autograd::Profile profile(profiler);
    model->forward_dummy(batch_of(*model, input, 1, meta));
  }
  Summary summary;
  summary.parameters = model->parameter_count();
  summary.macs = profiler.forward_macs();
  summary.macs_paper = model->paper_macs(profiler.events());
  summary.batch_size = batch_size;
  summary.infer_peak_bytes = peak_of_inference(make, input, batch_size);
  const std::unordered_map<std::string, Inside> sums = sums_by_module(profiler.events());
  std::set<std::string> seen;
  model->visit([&](const std::string& name, nn::Module& module) {
    if (!seen.insert(name).second) return;  // a child without a name of its own
    ModuleSummary row{name, module.type(), level_of(name), module.parameter_count(), 0, {}};
    if (const auto sum = sums.find(name); sum != sums.end()) {
      row.macs = sum->second.macs;
      row.output = sum->second.output;
    }
    summary.modules.push_back(std::move(row));
  });
  return summary;
}

schema::Value to_json(const Summary& summary) {
  using schema::Value;
  Value modules = Value::array();
  for (const ModuleSummary& row : summary.modules) {
    modules.push_back(Value::object({{"name", row.name},
                                     {"type", row.type},
                                     {"parameters", row.parameters},
                                     {"macs", row.macs},
                                     {"output_shape", Value::array(row.output.to_vector())}}));
  }
  Value object = Value::object({{"parameters", summary.parameters}, {"macs", summary.macs}});
  if (summary.macs_paper) object.set("macs_paper", *summary.macs_paper);
  object.set("flops", 2 * summary.macs);
  object.set("batch_size", summary.batch_size);
  object.set("train_peak_bytes", summary.train_peak_bytes);
  object.set("infer_peak_bytes", summary.infer_peak_bytes);
  object.set("modules", modules);
  return object;
}

std::string count_text(std::int64_t count) {
  return scaled(static_cast<double>(count), 1000, {"", " k", " M", " G", " T"});
}

std::string bytes_text(std::int64_t bytes) {
  return scaled(static_cast<double>(bytes), 1024, {" B", " KiB", " MiB", " GiB", " TiB"});
}

std::string to_text(const Summary& summary, int depth) {
  std::vector<std::array<std::string, 5>> rows = {
      {"module", "type", "output", "parameters", "MACs"}};
  for (const ModuleSummary& row : summary.modules) {
    if (row.level > depth) continue;
    rows.push_back({std::string(static_cast<std::size_t>(2 * row.level), ' ') +
                        (row.name.empty() ? "(all)" : row.name),
                    row.type, row.output.empty() ? "" : to_string(row.output),
                    fmt::format("{}", row.parameters), fmt::format("{}", row.macs)});
  }
  std::array<std::size_t, 5> widths{};
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < 5; ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    text += fmt::format("{:<{}}  {:<{}}  {:<{}}  {:>{}}  {:>{}}\n", row[0], widths[0], row[1],
                        widths[1], row[2], widths[2], row[3], widths[3], row[4], widths[4]);
  }
  const std::string paper = summary.macs_paper
                                ? "; " + count_text(*summary.macs_paper) +
                                      " MACs as the paper counts, by modules, without the "
                                      "products of attention"
                                : "";
  text += fmt::format(
      "\n{} parameters, {} MACs ({} FLOPs{}) per sample; peak memory at batch {}: {} training, {} "
      "inference\n",
      count_text(summary.parameters), count_text(summary.macs), count_text(2 * summary.macs), paper,
      summary.batch_size, bytes_text(summary.train_peak_bytes),
      bytes_text(summary.infer_peak_bytes));
  return text;
}

}  // namespace fovea::experiment
