// What a language model says next, and what it looks at for it. mala 3.4 and 9.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/csv_field.h"
#include "base/distinct_names.h"
#include "base/error.h"
#include "base/file.h"
#include "data/streams/stream_dataset.h"
#include "visualise/figures/figure.h"
#include "visualise/figures/shared/image_inputs.h"
#include "visualise/figures/shared/rollouts.h"
#include "visualise/figures/shared/shared_options.h"
#include "visualise/layouts/sequences/text_figure.h"
#include "visualise/layouts/sequences/token_matrix.h"
#include "visualise/maps/rollouts/own_weight.h"
#include "visualise/maps/sequences/next_token_maps.h"
#include "visualise/pages/explorer.h"

namespace fovea::visualise {
namespace {

constexpr std::int64_t kMostTokens = 1024;  // maps are kept whole
constexpr std::size_t kStandardInputs = 2;
constexpr double kUnseen = std::numeric_limits<double>::quiet_NaN();

// --smooth and --overlay change nothing of texts; scripts may give one look to runs of every kind.
struct NextTokenOptions : RolloutSettings, HeatLook, ExplorerOption {
  std::int64_t length = 48;
  std::int64_t tokens = 1;
  std::optional<std::int64_t> token;
};

const schema::Fields<NextTokenOptions>& next_token_fields() {
  using O = NextTokenOptions;
  static const auto fields =
      schema::Fields<O>{}
          .include(rollout_fields())
          .include(heat_look_fields())
          .include(explorer_field())
          .add("length", &O::length, schema::in_range(1, kMostTokens),
               "tokens of a sample that are read (48); words of --text are read whole")
          .add("tokens", &O::tokens, schema::in_range(1, 256),
               "tokens that the network writes behind the text, always the most probable one; the "
               "last of them is explained (1)")
          .add("token", &O::token, schema::at_least(0),
               "number of the token, from 0, whose look is shown instead of that of the last one");
  return fields;
}

const data::StreamDataset& stream_of(const ShownRun& run) {
  const auto* stream = dynamic_cast<const data::StreamDataset*>(&run.samples);
  FOVEA_CHECK(stream != nullptr, ConfigError,
              fmt::format("{}: its data are no stream of text", run.name));
  return *stream;
}

struct StreamInput {
  std::string name, file;  // "text 1"; in names of files
  std::optional<std::int64_t> sample;
  std::string text;
};

std::vector<StreamInput> stream_inputs(const FigureRequest& request) {
  const data::StreamDataset& first = stream_of(request.runs.front());
  std::vector<std::string> numbers = request.inputs;
  if (numbers.empty() && request.texts.empty()) numbers = standard_inputs(request);
  if (request.inputs.empty()) numbers.resize(std::min(numbers.size(), kStandardInputs));
  std::vector<StreamInput> inputs;
  for (const std::string& number : numbers) {
    FOVEA_CHECK(is_index(number), ConfigError,
                fmt::format("--input {}: expected the number of a sample of the split; give words "
                            "with --text",
                            number));
    const std::int64_t i = sample_index(number, first.size());
    inputs.push_back({fmt::format("sample {}", i), std::to_string(i), i, {}});
  }
  for (std::size_t k = 1; k <= request.texts.size(); ++k) {
    inputs.push_back(
        {fmt::format("text {}", k), fmt::format("text-{}", k), {}, request.texts[k - 1]});
  }
  return inputs;
}

std::vector<std::int64_t> tokens_of(const StreamInput& input, const data::StreamDataset& data,
                                    std::int64_t length) {
  if (!input.sample) {
    const data::StreamTokens ids = data.tokeniser().encode(input.text);
    FOVEA_CHECK(!ids.empty() && std::ssize(ids) <= kMostTokens, ConfigError,
                fmt::format("--text \"{}\": has {} tokens; expected 1 to {}", input.text,
                            ids.size(), kMostTokens));
    return {ids.begin(), ids.end()};
  }
  FOVEA_CHECK(*input.sample < data.size(), ConfigError,
              fmt::format("--input {}: the split has {} samples", *input.sample, data.size()));
  const data::Sample sample = data.get(*input.sample);
  const auto ids = sample.at("tokens").values<std::int64_t>();
  const auto next = sample.at("next").values<std::int64_t>();
  std::vector<std::int64_t> tokens;
  for (std::size_t i = 0; i < ids.size() && std::ssize(tokens) < length; ++i) {
    if (next[i] != data::StreamDataset::kNoToken) tokens.push_back(ids[i]);
  }
  return tokens;
}

// What one run makes of one text.
struct Told {
  std::vector<std::string> tokens;  // as text
  std::vector<std::string> next;    // behind each
  std::vector<double> probability;  // of these
  std::int64_t query = 0;           // the token whose look is shown
  std::vector<AttentionMap> layers;
  Matrix rollout;
  std::vector<double> weights, change;  // of the query; NaN behind it
};

// Where every token begins with a space, as words do, it says nothing.
void drop_spaces(Told& told) {
  const auto plain = [](const std::string& token) { return token.size() > 1 && token[0] == ' '; };
  const auto fits = [&](const std::string& token) {
    return plain(token) || token.find('\n') != std::string::npos;
  };
  if (!std::all_of(told.tokens.begin(), told.tokens.end(), fits)) return;
  for (std::vector<std::string>* texts : {&told.tokens, &told.next}) {
    for (std::string& token : *texts) {
      if (plain(token)) token.erase(0, 1);
    }
  }
}

Told tell(const ShownRun& run, const StreamInput& input, const NextTokenOptions& options,
          const RolloutOptions& rollout) {
  const data::StreamDataset& data = stream_of(run);
  auto& network = dynamic_cast<models::LanguageModel&>(run.model);
  const std::int64_t known = data.tokeniser().size();
  std::vector<std::int64_t> ids = tokens_of(input, data, options.length);
  write_on(network, ids, options.tokens - 1, known);
  ReadText read = read_text(network, ids, known);
  FOVEA_CHECK(!read.layers.empty(), ConfigError, run.title + ": has no attention to show");
  Told told;
  told.query = options.token.value_or(std::ssize(ids) - 1);
  FOVEA_CHECK(told.query < std::ssize(ids), ConfigError,
              fmt::format("--token {}: {} has {} tokens, counted from 0", told.query, input.name,
                          ids.size()));
  for (std::size_t i = 0; i < ids.size(); ++i) {
    told.tokens.push_back(data.tokeniser().piece(ids[i]));
    told.next.push_back(data.tokeniser().piece(read.next[i].token));
    told.probability.push_back(read.next[i].probability);
  }
  drop_spaces(told);
  told.layers = std::move(read.layers);
  told.rollout = attention_rollout(told.layers, rollout);
  const auto query = static_cast<std::size_t>(told.query);
  const auto row = told.rollout.values.begin() + told.query * told.rollout.cols;
  told.weights = without_own_peak({row, row + told.query + 1}, told.query);
  told.change =
      erasure(network, {ids.begin(), ids.begin() + told.query + 1}, read.next[query].token);
  told.weights.resize(ids.size(), kUnseen);
  told.change.resize(ids.size(), kUnseen);
  return told;
}

std::string said(const Told& told, std::size_t i) {
  return fmt::format("“{}” {:.0f} %", visible_token(told.next[i]), 100 * told.probability[i]);
}

struct Drawn {
  const ShownRun& run;
  RolloutOptions rollout;
  bool signed_maps = false;
  std::vector<Told> told;  // of every input
  Quantity quantity() const { return rollout_quantity(rollout, signed_maps); }
};

std::vector<Drawn> all_told(const FigureRequest& request, const std::vector<StreamInput>& inputs,
                            const NextTokenOptions& options) {
  std::vector<Drawn> all;
  for (const ShownRun& run : request.runs) {
    FOVEA_CHECK(run.signed_maps, ConfigError, run.title + ": has no attention to show");
    Drawn& one =
        all.emplace_back(Drawn{run, options.options(*run.signed_maps), *run.signed_maps, {}});
    for (const StreamInput& input : inputs)
      one.told.push_back(tell(run, input, options, one.rollout));
  }
  return all;
}

Canvas text_picture(const std::vector<Drawn>& all, const StreamInput& input, std::size_t i,
                    const NextTokenOptions& options) {
  TextFigure figure;
  figure.title = options.token ? fmt::format("what the token behind {} depends on, {}",
                                             *options.token, input.name)
                               : "what the next token depends on, " + input.name;
  figure.scale = options.heat_scale();
  figure.sequential = options.sequential();
  if (options.factor) figure.factor = static_cast<double>(*options.factor);
  for (const Drawn& one : all) {
    const Told& told = one.told[i];
    const auto query = static_cast<std::size_t>(told.query);
    const double even = even_share(one.rollout, one.signed_maps, told.query + 1);
    figure.panels.push_back({fmt::format("{}: next {}", one.run.title, said(told, query)),
                             told.tokens, told.weights, one.quantity(), even});
    figure.panels.push_back({"its ln p, without each token",
                             told.tokens,
                             told.change,
                             {true, "ln p with the token − ln p without it"}});
  }
  return render(figure);
}

Canvas triangle(const Drawn& one, const StreamInput& input, std::size_t i,
                const NextTokenOptions& options) {
  const Told& told = one.told[i];
  TokenMatrix figure;
  figure.title = fmt::format("{}, {}", one.run.title, input.name);
  figure.tokens = told.tokens;
  for (std::size_t k = 0; k < told.tokens.size(); ++k) figure.notes.push_back("→ " + said(told, k));
  figure.weights = told.rollout;
  figure.quantity = one.quantity();
  figure.ends = options.heat_scale().ends;
  figure.sequential = options.sequential();
  if (options.factor) figure.factor = static_cast<double>(*options.factor);
  return render(figure);
}

std::string weights_csv(const std::vector<Drawn>& all, const std::vector<StreamInput>& inputs) {
  std::string csv = "run,input,position,token,weight,change_of_ln_p,next,probability\n";
  for (const Drawn& one : all) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Told& told = one.told[i];
      for (std::size_t k = 0; k < told.tokens.size(); ++k) {
        const bool seen = static_cast<std::int64_t>(k) <= told.query;
        const double weight = told.rollout.at(told.query, static_cast<std::int64_t>(k));
        csv += fmt::format("{},{},{},{},{},{},{},{}\n", csv_field(one.run.title),
                           csv_field(inputs[i].name), k, csv_field(told.tokens[k]),
                           seen ? fmt::format("{}", weight) : "",
                           seen ? fmt::format("{}", told.change[k]) : "", csv_field(told.next[k]),
                           told.probability[k]);
      }
    }
  }
  return csv;
}

void write_maps(const io::fs::path& path, const std::vector<Drawn>& all,
                const std::vector<StreamInput>& inputs) {
  TensorFile file;
  for (const Drawn& one : all) {
    file.metadata.emplace(slug(one.run.title), one.run.weights);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Told& told = one.told[i];
      add_rollout(file, slug(one.run.title) + "/" + slug(inputs[i].name), told.layers, told.rollout,
                  one.run.host);
    }
  }
  write_safetensors(path, file);
}

Explorer token_explorer(const std::vector<Drawn>& all, const std::vector<StreamInput>& inputs,
                        const HeatLook& look) {
  Explorer explorer;
  explorer.scale = look.heat_scale();
  explorer.sequential = look.sequential();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    ExplorerSample sample{inputs[i].name, {}, {}};
    for (const Drawn& one : all) {
      const Told& told = one.told[i];
      ExplorerModel model;
      model.name = one.run.title;
      model.note = "next " + said(told, told.next.size() - 1);
      model.layers = told.layers;
      model.attention = attention_quantity(one.signed_maps);
      model.rollout = told.rollout;
      model.rolled_out = one.quantity();
      // Those of the last token, which sees all.
      model.attention_even = even_share(model.attention, told.rollout.rows);
      model.rollout_even = even_share(one.rollout, one.signed_maps, told.rollout.rows);
      model.policy =
          fmt::format("{}, {}", name_of(one.rollout.sign), name_of(one.rollout.normalise));
      for (const std::string& token : told.tokens) model.tokens.push_back(visible_token(token));
      sample.models.push_back(std::move(model));
    }
    explorer.samples.push_back(std::move(sample));
  }
  return explorer;
}

void draw_next_token(const FigureRequest& request, const NextTokenOptions& options) {
  const std::vector<StreamInput> inputs = stream_inputs(request);
  const std::vector<Drawn> all = all_told(request, inputs, options);
  std::vector<std::string> files;
  io::make_directories(request.out);
  const auto write = [&](std::string name, const Canvas& picture) {
    write_png(request.out / name, picture);
    files.push_back(std::move(name));
  };
  for (const Drawn& one : all)
    request.say(fmt::format("{:<20} {}", one.run.title, one.run.weights));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    write(fmt::format("next-{}.png", inputs[i].file), text_picture(all, inputs[i], i, options));
    for (const Drawn& one : all) {
      write(fmt::format("triangle-{}-{}.png", slug(one.run.title), inputs[i].file),
            triangle(one, inputs[i], i, options));
      request.say(fmt::format("{:<20} {:<20} next {}", one.run.title, inputs[i].name,
                              said(one.told[i], static_cast<std::size_t>(one.told[i].query))));
    }
  }
  write_maps(request.out / "maps.safetensors", all, inputs);
  io::write_atomic(request.out / "weights.csv", weights_csv(all, inputs));
  files.insert(files.end(), {"maps.safetensors", "weights.csv"});
  if (!options.no_explorer) {
    write_explorer(request.out / "explorer.html", token_explorer(all, inputs, options));
    files.emplace_back("explorer.html");
  }
  request.say_files(files);
}

FigureInfo next_token_info() {
  return {.help =
              "what a language model says next and what for: the text on the colours of what its "
              "last token looked at (attention rollout) and of how the next one's probability "
              "changes without each token, and the rollout of every token as a triangle",
          .files = {"next-<text>.png", "triangle-<run>-<text>.png", "weights.csv",
                    "maps.safetensors", "explorer.html"},
          .fits = "a language model",
          .misfit = [](const ShownRun& run) { return unless_reading(Reads::kStreams, run); },
          .standard = true};
}

}  // namespace

FOVEA_FIGURE(next_token, next_token_info(), next_token_fields(), draw_next_token)

}  // namespace fovea::visualise
