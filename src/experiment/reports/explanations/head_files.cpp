#include "experiment/reports/explanations/head_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "base/csv_field.h"
#include "base/file.h"
#include "experiment/reports/explanations/estimate_value.h"
#include "experiment/tables/text_table.h"
#include "metrics/classification.h"
#include "metrics/verdict.h"
#include "visualise/plots/matrix_plot.h"

namespace fovea::experiment {
namespace {

using explain::JudgedHead;
using explain::JudgedHeads;
using explain::JudgedRun;
using schema::Value;

// One of the three tables of a run.
struct HeadQuantity {
  const char* title;
  const char* quantity;  // beside colours
  bool is_signed;
  double (*value)(const JudgedHead&);
  std::string (*text)(const JudgedHead&);
};

bool changes_loss(const JudgedHead& head) { return head.loss_p <= metrics::kAlpha; }

const std::vector<HeadQuantity>& head_quantities() {
  static const std::vector<HeadQuantity> all = {
      {"loss without the head, minus the loss", "change of the loss", true,
       [](const JudgedHead& head) { return head.loss.mean; },
       [](const JudgedHead& head) {
         return fmt::format("{:.4f}{}", head.loss.mean, changes_loss(head) ? "*" : " ");
       }},
      {"accuracy without the head, minus the accuracy (points)", "change of accuracy (points)",
       true, [](const JudgedHead& head) { return 100 * head.top1.mean; },
       [](const JudgedHead& head) { return fmt::format("{:.2f}", 100 * head.top1.mean); }},
      {"importance by the gradient", "importance", false,
       [](const JudgedHead& head) { return head.importance.mean; },
       [](const JudgedHead& head) { return fmt::format("{:.4f}", head.importance.mean); }}};
  return all;
}

std::size_t most_heads(const JudgedRun& run) {
  std::size_t most = 0;
  for (const std::vector<JudgedHead>& heads : run.heads) most = std::max(most, heads.size());
  return most;
}

TextTable head_table(const JudgedRun& run, const HeadQuantity& quantity) {
  TextTable table{{"layer"}, {}};
  for (std::size_t head = 0; head < most_heads(run); ++head)
    table.header.push_back(fmt::format("head {}", head));
  for (std::size_t layer = 0; layer < run.heads.size(); ++layer) {
    std::vector<std::string>& row = table.rows.emplace_back();
    row.push_back(run.modules[layer]);
    for (const JudgedHead& head : run.heads[layer]) row.push_back(quantity.text(head));
    row.resize(table.header.size());
  }
  return table;
}

visualise::MatrixPlot head_plot(const JudgedRun& run, const HeadQuantity& quantity) {
  visualise::MatrixPlot plot{.title = fmt::format("{}: {}", run.title, quantity.quantity),
                             .quantity = quantity.quantity,
                             .rows = run.modules,
                             .columns = {},
                             .values = {},
                             .is_signed = quantity.is_signed};
  const std::size_t columns = most_heads(run);
  for (std::size_t head = 0; head < columns; ++head)
    plot.columns.push_back(fmt::format("head {}", head));
  for (const std::vector<JudgedHead>& heads : run.heads) {
    for (std::size_t head = 0; head < columns; ++head)
      plot.values.push_back(head < heads.size() ? quantity.value(heads[head])
                                                : std::numeric_limits<double>::quiet_NaN());
  }
  return plot;
}

// A row of plots for each quantity, with one scale of colours.
std::vector<visualise::MatrixPlot> head_plots(const JudgedHeads& judged) {
  std::vector<visualise::MatrixPlot> all;
  for (const HeadQuantity& quantity : head_quantities()) {
    std::vector<visualise::MatrixPlot> row;
    for (const JudgedRun& run : judged.runs) row.push_back(head_plot(run, quantity));
    const double most = visualise::largest_size(row);
    for (visualise::MatrixPlot& plot : row) {
      plot.most = most;
      all.push_back(std::move(plot));
    }
  }
  return all;
}

// Calls visit(run, layer, head) for all heads in order.
void for_each_head(
    const JudgedHeads& judged,
    const std::function<void(const JudgedRun&, std::size_t layer, std::size_t head)>& visit) {
  for (const JudgedRun& run : judged.runs) {
    for (std::size_t layer = 0; layer < run.heads.size(); ++layer)
      for (std::size_t head = 0; head < run.heads[layer].size(); ++head) visit(run, layer, head);
  }
}

std::string csv_number(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : "";
}

std::string csv_estimate(const metrics::Estimate& e) {
  return fmt::format("{},{},{}", csv_number(e.mean), csv_number(e.low), csv_number(e.high));
}

std::string heads_csv(const JudgedHeads& judged) {
  std::string text =
      "run,layer,head,loss_change,loss_change_low,loss_change_high,loss_change_p_holm,top1_change,"
      "top1_change_low,top1_change_high,importance,importance_low,importance_high,"
      "importance_normalised\n";
  for_each_head(judged, [&](const JudgedRun& run, std::size_t layer, std::size_t h) {
    const JudgedHead& head = run.heads[layer][h];
    text +=
        fmt::format("{},{},{},{},{},{},{},{}\n", csv_field(run.title), run.modules[layer], h,
                    csv_estimate(head.loss), csv_number(head.loss_p), csv_estimate(head.top1),
                    csv_estimate(head.importance), csv_number(run.normalised_importance[layer][h]));
  });
  return text;
}

Value heads_json(const JudgedHeads& judged, Value record) {
  record.set("split", judged.split);
  record.set("samples", judged.samples);
  record.set("available", judged.available);
  Value runs = Value::array();
  for (const JudgedRun& run : judged.runs)
    runs.push_back(Value::object({{"run", run.title},
                                  {"weights", run.weights},
                                  {"loss", number_value(run.loss)},
                                  {metrics::kTop1.name, number_value(run.top1)}}));
  record.set("runs", std::move(runs));
  Value heads = Value::array();
  for_each_head(judged, [&](const JudgedRun& run, std::size_t layer, std::size_t h) {
    const JudgedHead& head = run.heads[layer][h];
    heads.push_back(Value::object(
        {{"run", run.title},
         {"layer", run.modules[layer]},
         {"head", static_cast<std::int64_t>(h)},
         {"loss_change", estimate_value(head.loss)},
         {"loss_change_p_holm", number_value(head.loss_p)},
         {"top1_change", estimate_value(head.top1)},
         {"importance", estimate_value(head.importance)},
         {"importance_normalised", number_value(run.normalised_importance[layer][h])}}));
  });
  record.set("heads", std::move(heads));
  return record;
}

}  // namespace

std::string head_tables_text(const JudgedHeads& judged) {
  std::string text;
  for (const JudgedRun& run : judged.runs) {
    text +=
        fmt::format("{}: loss {:.4f}, accuracy {:.2f} %\n\n", run.title, run.loss, 100 * run.top1);
    for (const HeadQuantity& quantity : head_quantities())
      text += fmt::format("{}\n{}\n", quantity.title, plain_table(head_table(run, quantity)));
  }
  text += fmt::format(
      "{} of {} samples of {}. *: the loss changes; sign-flip tests over samples, adjusted over "
      "the "
      "heads of a run (Holm), at {}.\n",
      judged.samples, judged.available, judged.split, metrics::kAlpha);
  return text;
}

std::vector<std::string> write_head_files(const io::fs::path& folder, const JudgedHeads& judged,
                                          Value settings) {
  io::make_directories(folder);
  io::write_atomic(folder / "heads.csv", heads_csv(judged));
  write_png(folder / "heads.png", visualise::render(head_plots(judged), std::ssize(judged.runs)));
  io::write_atomic(folder / "heads.json", heads_json(judged, std::move(settings)).dump() + "\n");
  return {"heads.json", "heads.csv", "heads.png"};
}

}  // namespace fovea::experiment
