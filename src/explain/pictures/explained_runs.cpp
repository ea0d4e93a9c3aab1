#include "explain/pictures/explained_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/distinct_names.h"
#include "base/error.h"
#include "base/file.h"
#include "data/texts/text_dataset.h"
#include "explain/interventions/dropped_inputs.h"
#include "explain/pictures/explained_inputs.h"
#include "explain/pictures/explained_page.h"
#include "explain/pictures/explained_volumes.h"
#include "explain/pictures/text_inputs.h"
#include "explain/region.h"
#include "explain/targets.h"
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

// Nothing where no region is asked for.
Tensor asked_region(const ExplainedRuns& asked, const Tensor& image, const Device& host) {
  if (asked.region.empty()) return {};
  return region_of(asked.region, {image.size(-2), image.size(-1)}, host);
}

visualise::HeatScale own_scale() {
  return {visualise::HeatEnds::kPercentiles, visualise::HeatSharing::kImage};
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

// Numbers and the page, after the pictures `files`.
void write_rest(const ExplainedRuns& asked, std::vector<std::string> files,
                const std::vector<PageInput>& inputs, const std::vector<ExplainedRun>& all) {
  const std::vector<std::string> numbers = write_numbers(asked, all);
  files.insert(files.end(), numbers.begin(), numbers.end());
  if (asked.page) {
    write_relevance_page(asked, inputs, all);
    files.emplace_back(kExplainedPage);
  }
  asked.request.say_files(files);
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
      say_explained(asked, run, own.back());
    }
  }
  const visualise::Canvas picture = image_picture(asked, inputs, all);
  io::make_directories(request.out);
  write_png(request.out / "explain.png", picture);
  std::vector<PageInput> shown;
  for (ImageInput& input : inputs) shown.push_back({input.name, std::move(input.picture)});
  write_rest(asked, {"explain.png"}, shown, all);
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
  // A row for each run, where its methods fit into one.
  if (all.size() > 1) figure.columns = std::min(figure.columns, std::ssize(asked.methods));
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
      say_explained(asked, run, own.back());
    }
  }
  std::vector<std::string> files;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const visualise::Canvas picture = text_picture(asked, inputs[i], i, all);
    io::make_directories(request.out);
    write_png(request.out / inputs[i].file, picture);
    files.push_back(inputs[i].file);
  }
  std::vector<PageInput> shown;
  for (const TextInput& input : inputs) shown.push_back({input.name});
  write_rest(asked, files, shown, all);
}

}  // namespace

void explain_runs(const ExplainedRuns& asked) {
  FOVEA_CHECK(!asked.request.runs.empty() && !asked.methods.empty(), ConfigError,
              "explain: expected at least one run and one method");
  const Reads first = reads_of(asked.request.runs.front());
  const bool texts = first == Reads::kTexts, volumes = first == Reads::kVolumes;
  for (const ShownRun& run : asked.request.runs) {
    const Reads reads = reads_of(run);
    const bool images = reads == Reads::kOneGrid || reads == Reads::kSeveralGrids;
    FOVEA_CHECK(images || reads == Reads::kTexts || reads == Reads::kVolumes, ConfigError,
                fmt::format("{}: reads {}; expected a network of images, volumes or texts",
                            run.name, name_of(reads)));
    FOVEA_CHECK((reads == Reads::kTexts) == texts && (reads == Reads::kVolumes) == volumes,
                ConfigError,
                fmt::format("{}: reads {}, {} reads {}; explain them apart", run.name,
                            name_of(reads), asked.request.runs.front().name,
                            name_of(reads_of(asked.request.runs.front()))));
  }
  FOVEA_CHECK(!texts || asked.region.empty(), ConfigError,
              "--region: is for segmentations; these runs read texts");
  FOVEA_CHECK(!texts || !asked.drop, ConfigError,
              "--drop-patches: is for networks of images; these read texts");
  FOVEA_CHECK(texts || asked.request.texts.empty(), ConfigError,
              "--text: is for networks of texts; these read others");
  if (volumes) return explain_volumes(asked);
  texts ? explain_texts(asked) : explain_images(asked);
}

}  // namespace fovea::explain
