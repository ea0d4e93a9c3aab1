#include "explain/pictures/explained_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/csv_field.h"
#include "base/distinct_names.h"
#include "base/error.h"
#include "base/file.h"
#include "data/texts/text_dataset.h"
#include "explain/interventions/dropped_inputs.h"
#include "explain/pictures/text_inputs.h"
#include "explain/region.h"
#include "explain/targets.h"
#include "tensor/host.h"
#include "tensor/safetensors.h"
#include "visualise/figures/shared/image_inputs.h"
#include "visualise/figures/shared/shared_options.h"
#include "visualise/layouts/rollout_figure.h"
#include "visualise/layouts/sequences/text_figure.h"

namespace fovea::explain {
namespace {

using visualise::FigureRequest;
using visualise::ImageInput;
using visualise::Reads;
using visualise::ShownRun;

// All inputs of one run.
using ExplainedRun = std::vector<ExplainedInput>;

ExplainedInput explain_one(const ExplainedRuns& asked, const ShownRun& run, const Subject& subject,
                           const std::string& name, std::optional<std::int64_t> label,
                           const RandomStream& random) {
  const std::int64_t target = target_of(asked.target, run, subject, 0, label);
  ExplainedInput result{name, class_name(run, subject.predicted().front()),
                        class_name(run, target)};
  if (!subject.segments())
    result.probability = subject.target_scores(subject.x(), {target}, true).front();
  if (subject.segments() && !subject.has_region() && subject.pixels_predicted(0, target) == 0)
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
    try {
      result.found.push_back(one.method->explain(request, one.options));
    } catch (const ConfigError& error) {
      throw ConfigError(fmt::format("{}: {}", run.name, error.what()));
    }
  }
  return result;
}

// Nothing where no region is asked for.
Tensor asked_region(const ExplainedRuns& asked, const Tensor& image, const Device& host) {
  if (asked.region.empty()) return {};
  return region_of(asked.region, {image.size(-2), image.size(-1)}, host);
}

void say_explained(const FigureRequest& request, const ShownRun& run, const ExplainedInput& one,
                   const ExplainedRuns& asked) {
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

visualise::HeatScale own_scale() {
  return {visualise::HeatEnds::kPercentiles, visualise::HeatSharing::kImage};
}

visualise::Quantity quantity_of(const Explanation& found) {
  return {found.is_signed, found.is_signed ? "relevance" : "relevance, without sign"};
}

Tensor map_tensor(const Explanation& found, const Device& host) {
  return Tensor::from(found.values, {found.grid.h, found.grid.w}, host);
}

// The CSV files and maps of all runs.
std::vector<std::string> write_numbers(const ExplainedRuns& asked,
                                       const std::vector<ExplainedRun>& all) {
  const FigureRequest& request = asked.request;
  std::string places = "run,method,input,target,row,column,word,relevance\n";
  std::string lines = "run,method,input,predicted,target,probability,least,largest,sum,gap\n";
  TensorFile maps;
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
        double sum = 0;
        for (std::int64_t i = 0; i < std::ssize(found.values); ++i) {
          const double value = found.values[as_index(i)];
          sum += value;
          places += fmt::format(
              "{},{},{},{},{},{}\n", key, csv_field(one.target), i / found.grid.w, i % found.grid.w,
              one.words.empty() ? "" : csv_field(one.words.at(as_index(i))), value);
        }
        const auto [low, high] = std::minmax_element(found.values.begin(), found.values.end());
        lines += fmt::format(
            "{},{},{},{},{},{},{},{}\n", key, csv_field(one.predicted), csv_field(one.target),
            one.probability > 0 ? fmt::format("{}", one.probability) : "", *low, *high, sum,
            found.completeness_gap.empty() ? ""
                                           : fmt::format("{}", found.completeness_gap.front()));
      }
    }
  }
  io::make_directories(request.out);
  io::write_atomic(request.out / "relevance.csv", places);
  io::write_atomic(request.out / "explained.csv", lines);
  write_safetensors(request.out / "maps.safetensors", maps);
  return {"relevance.csv", "explained.csv", "maps.safetensors"};
}

std::string heading(const ShownRun& run, const Method& method, std::size_t runs) {
  return runs == 1 ? method.name : fmt::format("{}: {}", run.title, method.name);
}

visualise::Canvas image_picture(const ExplainedRuns& asked, const std::vector<ImageInput>& inputs,
                                const std::vector<ExplainedRun>& all) {
  const FigureRequest& request = asked.request;
  visualise::RolloutFigure figure;
  figure.title = request.runs.size() == 1 ? request.runs[0].title + ": what spoke for a class"
                                          : "what spoke for a class";
  figure.scale = own_scale();
  figure.smooth = asked.smooth;
  figure.overlay = asked.overlay;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    std::string targets = all[0][i].target;
    for (const ExplainedRun& run : all) {
      if (run[i].target != targets && !targets.ends_with(", ...")) targets += ", ...";
    }
    figure.names.push_back(fmt::format("{}, for {}", inputs[i].name, targets));
    figure.inputs.push_back(inputs[i].picture);
  }
  for (std::size_t r = 0; r < all.size(); ++r) {
    for (std::size_t m = 0; m < asked.methods.size(); ++m) {
      const Explanation& first = all[r][0].found[m];
      visualise::RolloutColumn column;
      column.heat.name = heading(request.runs[r], *asked.methods[m].method, all.size());
      column.heat.quantity = quantity_of(first);
      column.grid_h = first.grid.h;
      column.grid_w = first.grid.w;
      for (const ExplainedInput& one : all[r]) column.heat.values.push_back(one.found[m].values);
      figure.columns.push_back(std::move(column));
    }
  }
  visualise::FactorOption enlargement;
  if (asked.factor) enlargement.factor = *asked.factor;
  figure.factor = enlargement.enlargement(inputs[0].picture);
  return render(figure);
}

void explain_images(const ExplainedRuns& asked) {
  const FigureRequest& request = asked.request;
  std::vector<ImageInput> inputs = image_inputs(request);
  std::vector<ExplainedRun> all;
  for (const ShownRun& run : request.runs) {
    check_size(run, request);
    ExplainedRun& own = all.emplace_back();
    for (ImageInput& input : inputs) {
      const Tensor image = prepared(input, run, request, asked.drop);
      if (asked.drop && all.size() == 1) input.picture = picture_of(image, run);
      const Subject subject(run.model, image, {}, asked_region(asked, image, run.host));
      std::optional<std::int64_t> label;
      if (input.index && !subject.segments())
        label = run.samples.label(place_of(input, run, request));
      own.push_back(explain_one(asked, run, subject, input.name, label,
                                input.index ? explanation_stream(asked.seed, *input.index)
                                            : explanation_stream(asked.seed, input.file)));
      say_explained(request, run, own.back(), asked);
    }
  }
  const visualise::Canvas picture = image_picture(asked, inputs, all);
  io::make_directories(request.out);
  write_png(request.out / "explain.png", picture);
  std::vector<std::string> files{"explain.png"};
  const std::vector<std::string> numbers = write_numbers(asked, all);
  files.insert(files.end(), numbers.begin(), numbers.end());
  request.say_files(files);
}

ExplainedInput explain_text(const ExplainedRuns& asked, const ShownRun& run,
                            const TextInput& input) {
  const data::TextDataset& dataset = data::texts_of(run.samples);
  std::vector<std::string> words = dataset.words_of(input.text);
  const Subject subject(run.model, prepared_text(input.text, run));
  if (words.empty()) words = {dataset.vocabulary().token(data::Vocabulary::kUnknown)};
  ExplainedInput result = explain_one(asked, run, subject, input.name, input.label,
                                      input.index ? explanation_stream(asked.seed, *input.index)
                                                  : explanation_stream(asked.seed, input.text));
  result.words = std::move(words);
  return result;
}

visualise::Canvas text_picture(const ExplainedRuns& asked, const TextInput& input, std::size_t i,
                               const std::vector<ExplainedRun>& all) {
  visualise::TextFigure figure;
  figure.title = "what spoke for a class, " + input.name;
  figure.scale = own_scale();
  if (asked.factor) figure.factor = static_cast<double>(*asked.factor);
  for (std::size_t r = 0; r < all.size(); ++r) {
    const ExplainedInput& one = all[r][i];
    for (std::size_t m = 0; m < asked.methods.size(); ++m) {
      const Explanation& found = one.found[m];
      figure.panels.push_back({fmt::format("{}, {}: for {}", asked.request.runs[r].title,
                                           asked.methods[m].method->name, one.target),
                               one.words, found.values, quantity_of(found)});
    }
  }
  return render(figure);
}

void explain_texts(const ExplainedRuns& asked) {
  const FigureRequest& request = asked.request;
  const std::vector<TextInput> inputs = text_inputs(request);
  std::vector<ExplainedRun> all;
  for (const ShownRun& run : request.runs) {
    ExplainedRun& own = all.emplace_back();
    for (const TextInput& input : inputs) {
      own.push_back(explain_text(asked, run, input));
      say_explained(request, run, own.back(), asked);
    }
  }
  std::vector<std::string> files;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const visualise::Canvas picture = text_picture(asked, inputs[i], i, all);
    io::make_directories(request.out);
    write_png(request.out / inputs[i].file, picture);
    files.push_back(inputs[i].file);
  }
  const std::vector<std::string> numbers = write_numbers(asked, all);
  files.insert(files.end(), numbers.begin(), numbers.end());
  request.say_files(files);
}

}  // namespace

void explain_runs(const ExplainedRuns& asked) {
  FOVEA_CHECK(!asked.request.runs.empty() && !asked.methods.empty(), ConfigError,
              "explain: expected at least one run and one method");
  const bool texts = reads_of(asked.request.runs.front()) == Reads::kTexts;
  for (const ShownRun& run : asked.request.runs) {
    const Reads reads = reads_of(run);
    const bool images = reads == Reads::kOneGrid || reads == Reads::kSeveralGrids;
    FOVEA_CHECK(images || reads == Reads::kTexts, ConfigError,
                fmt::format("{}: reads {}; expected a network of images or texts", run.name,
                            name_of(reads)));
    FOVEA_CHECK((reads == Reads::kTexts) == texts, ConfigError,
                fmt::format("{}: reads {}, {} reads {}; explain them apart", run.name,
                            name_of(reads), asked.request.runs.front().name,
                            name_of(reads_of(asked.request.runs.front()))));
  }
  FOVEA_CHECK(!texts || asked.region.empty(), ConfigError,
              "--region: is for segmentations; these runs read texts");
  FOVEA_CHECK(!texts || !asked.drop, ConfigError,
              "--drop-patches: is for networks of images; these read texts");
  FOVEA_CHECK(texts || asked.request.texts.empty(), ConfigError,
              "--text: is for networks of texts; these read images");
  texts ? explain_texts(asked) : explain_images(asked);
}

}  // namespace fovea::explain
