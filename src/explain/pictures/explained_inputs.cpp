#include "explain/pictures/explained_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/csv_field.h"
#include "base/distinct_names.h"
#include "base/error.h"
#include "base/file.h"
#include "explain/naming.h"
#include "explain/targets.h"
#include "tensor/safetensors.h"

namespace fovea::explain {
namespace {

using visualise::ShownRun;

constexpr std::int64_t kMostLines = 65536;  // of a map in relevance.csv

Tensor map_tensor(const Explanation& found, const Device& host) {
  const auto& [h, w, d] = found.grid;
  return Tensor::from(found.values, d > 1 ? Shape{d, h, w} : Shape{h, w}, host);
}

// The lines of a map in relevance.csv. `key`: run, method and input.
std::string place_lines(const std::string& key, const ExplainedInput& one, const Explanation& found,
                        bool volumes) {
  std::string lines;
  const auto& [h, w, d] = found.grid;
  for (std::int64_t i = 0; i < std::ssize(found.values); ++i) {
    const std::string slice = volumes ? fmt::format("{},", i / (h * w)) : "";
    lines += fmt::format("{},{},{}{},{},{},{}\n", key, csv_field(one.target), slice, i / w % h,
                         i % w, one.words.empty() ? "" : csv_field(one.words.at(as_index(i))),
                         found.values[as_index(i)]);
  }
  return lines;
}

std::string summary_line(const std::string& key, const ExplainedInput& one,
                         const Explanation& found) {
  double sum = 0;
  for (const double value : found.values) sum += value;
  const auto [low, high] = std::minmax_element(found.values.begin(), found.values.end());
  return fmt::format(
      "{},{},{},{},{},{},{},{}\n", key, csv_field(one.predicted), csv_field(one.target),
      one.probability > 0 ? fmt::format("{}", one.probability) : "", *low, *high, sum,
      found.completeness_gap.empty() ? "" : fmt::format("{}", found.completeness_gap.front()));
}

// Says that a map has nothing to draw, and what to try.
void note_empty(const ExplainedRuns& asked, const ShownRun& run, const ExplainedInput& one) {
  for (std::size_t m = 0; m < one.found.size(); ++m) {
    const Explanation& found = one.found[m];
    if (std::any_of(found.values.begin(), found.values.end(), [](double v) { return v != 0; }))
      continue;
    const Method& method = *asked.methods[m].method;
    std::string line = fmt::format("{}, {}: {} is 0 everywhere for {}", run.title, one.input,
                                   method.name, one.target);
    // Maps without sign are cut off at 0: with one head of a negative weight nothing is left.
    if (!found.is_signed)
      line += ": it keeps what speaks for the class, and nothing it weighs does";
    if (method.fields->find("layer") != nullptr)
      line += fmt::format("; --option {}.layer=LAYER reads another layer", method.name);
    asked.request.note(line);
  }
}

}  // namespace

ExplainedInput explain_one(const ExplainedRuns& asked, const ShownRun& run, const Subject& subject,
                           const std::string& name, std::optional<std::int64_t> label,
                           const RandomStream& random) {
  const std::int64_t target = target_of(asked.target, run, subject, 0, label);
  ExplainedInput result{name, class_name(run, subject.predicted().front()),
                        class_name(run, target)};
  if (!subject.segments())
    result.probability = subject.target_scores(subject.x(), {target}, true).front();
  const bool absent =
      subject.segments() && !subject.has_region() && subject.pixels_predicted(0, target) == 0;
  if (absent)
    asked.request.note(
        fmt::format("{}, {}: no pixel is predicted as {}, and maps that ask for its "
                    "score are empty; --region says which pixels to look at",
                    run.name, name, result.target));
  const ExplanationRequest request{.subject = subject,
                                   .targets = {target},
                                   .random = {random},
                                   .batch_size = asked.batch_size,
                                   .colours = colours_of(run)};
  for (const AskedMethod& one : asked.methods) {
    result.found.push_back(naming(run, [&] { return one.method->explain(request, one.options); }));
  }
  if (!absent) note_empty(asked, run, result);
  return result;
}

void say_explained(const ExplainedRuns& asked, const ShownRun& run, const ExplainedInput& one) {
  const visualise::FigureRequest& request = asked.request;
  std::string line = fmt::format("{:<20} {:<20} predicted {}, explained {}", run.title, one.input,
                                 one.predicted, one.target);
  if (one.probability > 0) line += fmt::format(" ({:.1f} %)", 100 * one.probability);
  request.say(line);
  for (std::size_t m = 0; m < one.found.size(); ++m) {
    if (one.found[m].completeness_gap.empty()) continue;
    request.say(fmt::format("{:<20} {:<20} {}: completeness gap {:.3g}", run.title, one.input,
                            asked.methods[m].method->name, one.found[m].completeness_gap.front()));
  }
}

visualise::Quantity quantity_of(const Explanation& found) {
  return {found.is_signed, found.is_signed ? "relevance" : "relevance, without sign"};
}

std::vector<std::string> write_numbers(const ExplainedRuns& asked,
                                       const std::vector<ExplainedRun>& all,
                                       const std::map<std::string, std::string>& metadata) {
  const visualise::FigureRequest& request = asked.request;
  const bool volumes = reads_of(request.runs.front()) == visualise::Reads::kVolumes;
  std::string places = volumes ? "run,method,input,target,slice,row,column,word,relevance\n"
                               : "run,method,input,target,row,column,word,relevance\n";
  std::string lines = "run,method,input,predicted,target,probability,least,largest,sum,gap\n";
  TensorFile maps;
  maps.metadata.insert(metadata.begin(), metadata.end());
  bool left_out = false;
  for (std::size_t r = 0; r < all.size(); ++r) {
    const ShownRun& run = request.runs[r];
    maps.metadata.emplace(slug(run.title), run.weights);
    for (const ExplainedInput& one : all[r]) {
      for (std::size_t m = 0; m < one.found.size(); ++m) {
        const Explanation& found = one.found[m];
        const std::string& method = asked.methods[m].method->name;
        const std::string key =
            fmt::format("{},{},{}", csv_field(run.title), method, csv_field(one.input));
        maps.tensors.emplace(fmt::format("{}/{}/{}", slug(run.title), method, slug(one.input)),
                             map_tensor(found, run.host));
        const bool listed = found.grid.count() <= kMostLines;
        if (listed) places += place_lines(key, one, found, volumes);
        left_out = left_out || !listed;
        lines += summary_line(key, one, found);
      }
    }
  }
  if (left_out)
    request.note(
        fmt::format("maps of more than {} places are in maps.safetensors alone, not in "
                    "relevance.csv",
                    kMostLines));
  io::make_directories(request.out);
  io::write_atomic(request.out / "relevance.csv", places);
  io::write_atomic(request.out / "explained.csv", lines);
  write_safetensors(request.out / "maps.safetensors", maps);
  return {"relevance.csv", "explained.csv", "maps.safetensors"};
}

}  // namespace fovea::explain
