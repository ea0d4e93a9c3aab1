#include "visualise_attention/texts.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/csv_field.h"
#include "base/error.h"
#include "base/file.h"
#include "data/texts/text_dataset.h"
#include "ops/elementwise.h"
#include "visualise/layouts/text_figure.h"
#include "visualise_attention/image_inputs.h"

namespace fovea::apps {
namespace {

constexpr const char* kClassToken = "<cls>";

struct Input {
  std::string name;  // "7: positive" or "text 1"
  std::string file;  // rollout-7.png
  std::string text;
};

// One text as a run reads it.
struct Reading {
  std::vector<std::string> words;
  std::int64_t unknown = 0;  // words that are not in the vocabulary
};

const data::TextDataset& texts_of(const Subject& s, const Arguments& args) {
  return data::texts_of(s.run->task().source().at(split_of(args, *s.run)));
}

std::vector<Input> read_inputs(const data::TextDataset& dataset, const Arguments& args) {
  std::vector<std::string> numbers = args.inputs;
  if (numbers.empty() && args.texts.empty()) numbers = standard_inputs(dataset);
  std::vector<Input> inputs;
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
  for (std::size_t k = 1; k <= args.texts.size(); ++k) {
    const std::string& text = args.texts[k - 1];
    FOVEA_CHECK(!dataset.words_of(text).empty(), ConfigError,
                fmt::format("--text \"{}\": holds no word", text));
    inputs.push_back({fmt::format("text {}", k), fmt::format("rollout-text-{}.png", k), text});
  }
  return inputs;
}

// Runs the network and says what its tokens are.
Reading read(Subject& s, const data::TextDataset& dataset, const std::string& text) {
  Reading reading;
  reading.words = dataset.words_of(text);
  const data::Ids ids = dataset.ids_of(reading.words);
  reading.unknown = std::count(ids.begin(), ids.end(), data::Vocabulary::kUnknown);
  if (reading.words.empty())
    reading.words = {dataset.vocabulary().token(data::Vocabulary::kUnknown)};
  const Tensor batch =
      Tensor::from(ids, {1, std::ssize(ids)}, s.run->task().source().options().host);
  s.seen.push_back(visualise::observe(s.run->model(), ops::to(batch, s.run->device())));
  return reading;
}

using Readings = std::vector<std::vector<Reading>>;  // by run, by input

void write_figures(const std::vector<Subject>& subjects, const std::vector<Input>& inputs,
                   const Readings& readings, const Arguments& args) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    visualise::TextFigure figure;
    figure.title = "attention rollout, " + inputs[i].name;
    figure.scale = scale_of(args);
    figure.sequential = colours_of(args);
    if (args.factor > 0) figure.factor = static_cast<double>(args.factor);
    for (std::size_t k = 0; k < subjects.size(); ++k) {
      const Subject& s = subjects[k];
      figure.panels.push_back({fmt::format("{} ({}): {}", s.name, s.policy(), s.predicted(i)),
                               readings[k][i].words, visualise::token_weights(s.seen[i], s.rollout),
                               s.quantity(), s.even_share(i)});
    }
    const visualise::Canvas picture = visualise::render(figure);
    io::make_directories(args.out);
    visualise::write_png(io::fs::path(args.out) / inputs[i].file, picture);
  }
}

void write_weights(const std::vector<Subject>& subjects, const std::vector<Input>& inputs,
                   const Readings& readings, const io::fs::path& path) {
  std::string csv = "run,input,prediction,position,word,weight\n";
  for (std::size_t k = 0; k < subjects.size(); ++k) {
    const Subject& s = subjects[k];
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const auto weights = visualise::token_weights(s.seen[i], s.rollout);
      const std::vector<std::string>& words = readings[k][i].words;
      for (std::size_t word = 0; word < words.size(); ++word) {
        csv += fmt::format("{},{},{},{},{},{}\n", csv_field(s.name), csv_field(inputs[i].name),
                           csv_field(s.predicted(i)), word, csv_field(words[word]), weights[word]);
      }
    }
  }
  io::write_atomic(path, csv);
}

visualise::Explorer explorer_of(const std::vector<Subject>& subjects,
                                const std::vector<Input>& inputs, const Readings& readings,
                                const Arguments& args) {
  visualise::Explorer explorer;
  explorer.scale = scale_of(args);
  explorer.sequential = colours_of(args);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    visualise::ExplorerSample sample{inputs[i].name, {}, {}};
    for (std::size_t k = 0; k < subjects.size(); ++k) {
      const Reading& reading = readings[k][i];
      visualise::ExplorerModel model = explorer_model(subjects[k], i);
      if (reading.unknown > 0) {
        model.note +=
            fmt::format(", {} of {} words unknown", reading.unknown, reading.words.size());
      }
      model.tokens.assign(static_cast<std::size_t>(model.prefix_tokens), kClassToken);
      model.tokens.insert(model.tokens.end(), reading.words.begin(), reading.words.end());
      sample.models.push_back(std::move(model));
    }
    explorer.samples.push_back(std::move(sample));
  }
  return explorer;
}

}  // namespace

Drawn draw_texts(std::vector<Subject>& subjects, const Arguments& args) {
  FOVEA_CHECK(!args.heads, ConfigError,
              "--heads: draws images; explorer.html shows every layer and head of a text");
  const std::vector<Input> inputs = read_inputs(texts_of(subjects[0], args), args);
  Readings readings;
  for (Subject& s : subjects) {
    const data::TextDataset& dataset = texts_of(s, args);
    std::vector<Reading>& own = readings.emplace_back();
    for (const Input& input : inputs) own.push_back(read(s, dataset, input.text));
  }
  const io::fs::path out = args.out;
  Drawn drawn;
  for (const Input& input : inputs) {
    drawn.inputs.push_back(input.name);
    drawn.files.push_back(input.file);
  }
  write_figures(subjects, inputs, readings, args);
  write_maps(out / "maps.safetensors", subjects, drawn.inputs);
  write_weights(subjects, inputs, readings, out / "weights.csv");
  drawn.files.insert(drawn.files.end(), {"maps.safetensors", "weights.csv"});
  if (!args.no_explorer) {
    visualise::write_explorer(out / "explorer.html", explorer_of(subjects, inputs, readings, args));
    drawn.files.push_back("explorer.html");
  }
  return drawn;
}

}  // namespace fovea::apps
