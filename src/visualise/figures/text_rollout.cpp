// Attention rollouts of texts. dgsa section 9, figure 3.
#include <fmt/format.h>

#include <algorithm>

#include "base/csv_field.h"
#include "base/error.h"
#include "base/file.h"
#include "data/texts/text_dataset.h"
#include "ops/elementwise.h"
#include "visualise/figures/shared/image_inputs.h"
#include "visualise/figures/shared/rollouts.h"
#include "visualise/layouts/sequences/text_figure.h"

namespace fovea::visualise {
namespace {

constexpr const char* kClassToken = "<cls>";

// --smooth and --overlay change nothing of texts; scripts may give one look to runs of every kind.
struct TextRolloutOptions : RolloutSettings, HeatLook, ExplorerOption {};

const schema::Fields<TextRolloutOptions>& text_rollout_fields() {
  static const auto fields = schema::Fields<TextRolloutOptions>{}
                                 .include(rollout_fields())
                                 .include(heat_look_fields())
                                 .include(explorer_field());
  return fields;
}

struct TextInput {
  std::string name;  // "7: positive" or "text 1"
  std::string file;  // rollout-7.png
  std::string text;
};

using Readings = std::vector<std::vector<data::ReadText>>;  // by run, by input

std::vector<TextInput> text_inputs(const FigureRequest& request) {
  const data::TextDataset& dataset = data::texts_of(request.runs.front().samples);
  std::vector<std::string> numbers = request.inputs;
  if (numbers.empty() && request.texts.empty()) numbers = standard_inputs(request);
  std::vector<TextInput> inputs;
  for (const std::string& number : numbers) {
    FOVEA_CHECK(is_index(number), ConfigError,
                fmt::format("--input {}: expected the number of a text of the split; give words "
                            "with --text",
                            number));
    const std::int64_t i = sample_index(number, dataset.size());
    const auto label = static_cast<std::size_t>(dataset.label(i));
    inputs.push_back({fmt::format("{}: {}", i, dataset.class_names()[label]),
                      fmt::format("rollout-{}.png", i), dataset.text(i)});
  }
  for (std::size_t k = 1; k <= request.texts.size(); ++k) {
    const std::string& text = request.texts[k - 1];
    FOVEA_CHECK(!dataset.words_of(text).empty(), ConfigError,
                fmt::format("--text \"{}\": holds no word", text));
    inputs.push_back({fmt::format("text {}", k), fmt::format("rollout-text-{}.png", k), text});
  }
  return inputs;
}

// Runs the network and says what its tokens are.
data::ReadText read_text(RolledOut& one, const std::string& text) {
  data::ReadText reading = data::texts_of(one.run.samples).read(text);
  const Tensor batch = Tensor::from(reading.ids, {1, std::ssize(reading.ids)}, one.run.host);
  one.seen.push_back(observe(one.run.model, ops::to(batch, one.run.device)));
  return reading;
}

Canvas text_picture(const std::vector<RolledOut>& all, const Readings& readings,
                    const TextInput& input, std::size_t i, const HeatLook& look) {
  TextFigure figure;
  figure.title = "attention rollout, " + input.name;
  figure.scale = look.heat_scale();
  figure.sequential = look.sequential();
  if (look.factor) figure.factor = static_cast<double>(*look.factor);
  for (std::size_t k = 0; k < all.size(); ++k) {
    const RolledOut& one = all[k];
    figure.panels.push_back(
        {fmt::format("{} ({}): {}", one.run.title, one.policy(), one.predicted(i)),
         readings[k][i].words, token_weights(one.seen[i], one.rollout), one.quantity(),
         one.even_share_of(i), readings[k][i].unknown(), readings[k][i].cut});
  }
  return render(figure);
}

std::string word_weights(const std::vector<RolledOut>& all, const std::vector<TextInput>& inputs,
                         const Readings& readings) {
  std::string csv = "run,input,prediction,position,word,weight,unknown\n";
  for (std::size_t k = 0; k < all.size(); ++k) {
    const RolledOut& one = all[k];
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const auto weights = token_weights(one.seen[i], one.rollout);
      const auto& [words, ids, cut] = readings[k][i];
      for (std::size_t word = 0; word < words.size(); ++word) {
        csv += fmt::format("{},{},{},{},{},{},{}\n", csv_field(one.run.title),
                           csv_field(inputs[i].name), csv_field(one.predicted(i)), word,
                           csv_field(words[word]), weights[word],
                           ids[word] == data::Vocabulary::kUnknown ? 1 : 0);
      }
    }
  }
  return csv;
}

Explorer word_explorer(const std::vector<RolledOut>& all, const std::vector<TextInput>& inputs,
                       const Readings& readings, const HeatLook& look) {
  Explorer explorer;
  explorer.scale = look.heat_scale();
  explorer.sequential = look.sequential();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    ExplorerSample sample{inputs[i].name, {}, {}};
    for (std::size_t k = 0; k < all.size(); ++k) {
      const data::ReadText& reading = readings[k][i];
      ExplorerModel model = explorer_model(all[k], i);
      if (const std::size_t unknown = reading.unknown().size(); unknown > 0)
        model.note += fmt::format(", {} of {} words unknown", unknown, reading.words.size());
      if (reading.cut > 0) model.note += fmt::format(", {} more words cut", reading.cut);
      model.tokens.assign(static_cast<std::size_t>(model.prefix_tokens), kClassToken);
      model.tokens.insert(model.tokens.end(), reading.words.begin(), reading.words.end());
      sample.models.push_back(std::move(model));
    }
    explorer.samples.push_back(std::move(sample));
  }
  return explorer;
}

void draw_text_rollout(const FigureRequest& request, const TextRolloutOptions& options) {
  std::vector<RolledOut> all = rolled_out(request, options);
  const std::vector<TextInput> inputs = text_inputs(request);
  Readings readings;
  for (RolledOut& one : all) {
    std::vector<data::ReadText>& own = readings.emplace_back();
    for (const TextInput& input : inputs) own.push_back(read_text(one, input.text));
  }
  std::vector<std::string> names, files;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    names.push_back(inputs[i].name);
    files.push_back(inputs[i].file);
    const Canvas picture = text_picture(all, readings, inputs[i], i, options);
    io::make_directories(request.out);
    write_png(request.out / inputs[i].file, picture);
  }
  write_rollout_maps(request.out / "maps.safetensors", all, names);
  io::write_atomic(request.out / "weights.csv", word_weights(all, inputs, readings));
  files.insert(files.end(), {"maps.safetensors", "weights.csv"});
  if (!options.no_explorer) {
    write_explorer(request.out / "explorer.html", word_explorer(all, inputs, readings, options));
    files.emplace_back("explorer.html");
  }
  say_rollouts(request, all, names, files);
}

FigureInfo text_rollout_info() {
  return {.help =
              "attention rollouts of texts, every word on the colour of its weight, the maps as "
              "numbers, and a page for the browser",
          .files = {"rollout-<text>.png", "weights.csv", "maps.safetensors", "explorer.html"},
          .fits = "a network of texts",
          .misfit = [](const ShownRun& run) { return unless_reading(Reads::kTexts, run); },
          .network =
              [](const ShownRun& run) {
                return run.signed_maps && can([&] { observe(run.model, first_sample(run)); });
              },
          .standard = true};
}

}  // namespace

FOVEA_FIGURE(text_rollout, text_rollout_info(), text_rollout_fields(), draw_text_rollout)

}  // namespace fovea::visualise
