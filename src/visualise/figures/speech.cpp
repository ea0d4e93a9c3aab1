// Recordings as a transcriber hears them. mala 7.5 and 9; Graves et al., "Connectionist temporal
// classification" (ICML 2006), figure 1.
#include <fmt/format.h>

#include "base/csv_field.h"
#include "base/distinct_names.h"
#include "base/error.h"
#include "base/file.h"
#include "data/audio/mel_scale.h"
#include "data/audio/speech_dataset.h"
#include "metrics/texts/transcripts.h"
#include "visualise/figures/figure.h"
#include "visualise/figures/shared/image_inputs.h"
#include "visualise/figures/shared/rollouts.h"
#include "visualise/figures/shared/shared_options.h"
#include "visualise/layouts/sequences/speech_figure.h"
#include "visualise/maps/sequences/speech_maps.h"

namespace fovea::visualise {
namespace {

// --smooth and --overlay change nothing of recordings; scripts may give one look to runs of every
// kind.
struct SpeechOptions : RolloutSettings, HeatLook {};

const schema::Fields<SpeechOptions>& speech_fields() {
  static const auto fields =
      schema::Fields<SpeechOptions>{}.include(rollout_fields()).include(heat_look_fields());
  return fields;
}

struct SpeechInput {
  std::string name;
  Tensor features;                  // (1, t, mels)
  std::string said;                 // of samples
  std::vector<std::int64_t> truth;  // its symbols
  bool has_truth = false;
};

const data::SpeechDataset& speech_of(const ShownRun& run) {
  const data::SpeechDataset* speech = data::find_speech(run.samples);
  FOVEA_CHECK(speech != nullptr, ConfigError,
              fmt::format("{}: its data are no recordings with transcripts", run.name));
  return *speech;
}

// The runs may make other features of a recording, or have other symbols.
SpeechInput read_input(const std::string& wanted, const ShownRun& run) {
  const data::SpeechDataset& data = speech_of(run);
  SpeechInput input;
  if (!is_index(wanted)) {
    input.name = io::fs::path(wanted).filename().string();
    input.features = data.batch_of_file(wanted).at("features");
    return input;
  }
  const std::int64_t i = sample_index(wanted, data.size());
  const Tensor features = data.get(i).at("features");
  const std::string file = io::fs::path(data.name(i)).filename().string();
  input.name = file == wanted ? file : fmt::format("{}: {}", i, file);
  const auto values = features.host_values<float>();
  input.features = Tensor::from(std::vector<float>(values.begin(), values.end()),
                                {1, features.size(0), features.size(1)}, run.host);
  input.said = data.transcript(i);
  input.truth = data.symbols_of(input.said);
  input.has_truth = true;
  return input;
}

std::vector<TimedSymbol> timed(const std::vector<HeardSymbol>& symbols, const TimeGrid& tokens,
                               const data::SpeechDataset& data) {
  std::vector<TimedSymbol> result;
  for (const HeardSymbol& one : symbols) {
    const std::string& text = data.vocabulary().token(one.symbol);
    result.push_back({text == " " ? "␣" : text, tokens.middle(one.first) - tokens.step / 2,
                      tokens.middle(one.last) + tokens.step / 2, tokens.middle(one.peak)});
  }
  return result;
}

std::string text_of(const std::vector<HeardSymbol>& symbols, const data::SpeechDataset& data) {
  std::vector<std::int64_t> ids;
  for (const HeardSymbol& one : symbols) ids.push_back(one.symbol);
  return data.text_of(ids);
}

std::string errors_text(const std::string& said, const std::string& heard) {
  const std::vector<metrics::Transcript> pair{{said, heard}};
  return fmt::format("WER {:.1f} %, CER {:.1f} %", metrics::word_edits(pair).error_rate(),
                     metrics::character_edits(pair).error_rate());
}

// What is drawn of one recording, and written about it.
struct Seen {
  SpeechFigure figure;
  HeardSpeech heard;
  Matrix rollout;  // (tokens, tokens), or empty
  std::string text;
};

Seen look(const ShownRun& run, const SpeechInput& input, const SpeechOptions& options) {
  const data::SpeechDataset& data = speech_of(run);
  const data::LogMelPlan& plan = data.log_mel().plan();
  auto& network = dynamic_cast<models::Transcriber&>(run.model);
  Seen seen;
  seen.heard = observe_speech(network, input.features, input.truth, data::Speller::kBlank);
  SpeechFigure& f = seen.figure;
  const auto seconds = [&](double samples) {
    return samples / static_cast<double>(plan.sample_rate);
  };
  f.frames = {seconds(static_cast<double>(plan.win_length) / 2),
              seconds(static_cast<double>(plan.hop_length))};
  const std::int64_t frames = input.features.size(1);
  const auto values = input.features.host_values<float>();
  f.features = {frames, plan.num_mels, {values.begin(), values.end()}};
  f.seconds = seconds(static_cast<double>((frames - 1) * plan.hop_length + plan.win_length));
  for (std::int64_t band = 0; band < plan.num_mels; ++band)
    f.hertz.push_back(data::band_corner(plan, band + 1));
  f.features_name = data.options().normalise ? "ln power, normalised" : "ln power";
  const TokenTimes times = token_times(network);
  f.tokens = {f.frames.first + times.first * f.frames.step, times.step * f.frames.step};
  f.probabilities = seen.heard.probabilities;
  f.blank = data::Speller::kBlank;
  f.heard = timed(seen.heard.heard, f.tokens, data);
  f.said = timed(seen.heard.aligned, f.tokens, data);
  seen.text = text_of(seen.heard.heard, data);
  f.title = fmt::format("{}, {}", run.title, input.name);
  if (input.has_truth) {
    f.title += ": " + errors_text(input.said, seen.text);
    f.lines.push_back(fmt::format("said: \"{}\"", input.said));
  }
  f.lines.push_back(fmt::format("heard: \"{}\"", seen.text));
  if (options.factor) f.factor = static_cast<double>(*options.factor);
  if (seen.heard.layers.empty() || !run.signed_maps) return seen;
  const RolloutOptions rollout = options.options(*run.signed_maps);
  seen.rollout = attention_rollout(seen.heard.layers, rollout);
  f.looks = rows_of(seen.rollout, seen.heard.heard);
  f.quantity = rollout_quantity(rollout, *run.signed_maps);
  f.even = even_share(rollout, *run.signed_maps, seen.rollout.rows);
  f.ends = options.heat_scale().ends;
  f.sequential = options.sequential();
  return seen;
}

void add_symbols(std::string& csv, const ShownRun& run, const SpeechInput& input, const char* path,
                 const std::vector<TimedSymbol>& symbols, const std::vector<HeardSymbol>& heard) {
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    csv += fmt::format("{},{},{},{},{:.3f},{:.3f},{:.3f},{:.6f}\n", csv_field(run.title),
                       csv_field(input.name), path, csv_field(symbols[i].text), symbols[i].begin,
                       symbols[i].end, symbols[i].peak, heard[i].probability);
  }
}

void add_maps(TensorFile& file, const ShownRun& run, const SpeechInput& input, const Seen& seen) {
  const std::string key = slug(run.title) + "/" + slug(input.name);
  add_rollout(file, key, seen.heard.layers, seen.rollout, run.host);
  const Matrix& p = seen.heard.probabilities;
  file.tensors.emplace(key + "/probabilities", Tensor::from(p.values, {p.rows, p.cols}, run.host));
}

void draw_speech(const FigureRequest& request, const SpeechOptions& options) {
  FOVEA_CHECK(request.texts.empty(), ConfigError,
              fmt::format("--text: {} reads recordings; give --input", request.runs.front().name));
  const std::vector<std::string> inputs =
      request.inputs.empty() ? standard_inputs(request) : request.inputs;
  std::string csv = "run,input,path,symbol,begin_s,end_s,peak_s,probability\n";
  TensorFile maps;
  std::vector<std::string> files, lines;
  for (const ShownRun& run : request.runs) {
    maps.metadata.emplace(slug(run.title), run.weights);
    lines.push_back(fmt::format("{:<20} {}", run.title, run.weights));
    if (!run.signed_maps) request.note(run.title + ": has no attention over time to show");
    for (const std::string& wanted : inputs) {
      const SpeechInput input = read_input(wanted, run);
      const Seen seen = look(run, input, options);
      files.push_back(fmt::format("speech-{}-{}.png", slug(run.title), slug(input.name)));
      io::make_directories(request.out);
      write_png(request.out / files.back(), render(seen.figure));
      add_symbols(csv, run, input, "heard", seen.figure.heard, seen.heard.heard);
      add_symbols(csv, run, input, "said", seen.figure.said, seen.heard.aligned);
      add_maps(maps, run, input, seen);
      lines.push_back(fmt::format("{:<20} {:<20} heard \"{}\"", run.title, input.name, seen.text));
    }
  }
  write_safetensors(request.out / "maps.safetensors", maps);
  io::write_atomic(request.out / "symbols.csv", csv);
  files.insert(files.end(), {"maps.safetensors", "symbols.csv"});
  for (const std::string& line : lines) request.say(line);
  request.say_files(files);
}

FigureInfo speech_info() {
  return {.help =
              "recordings over one axis of time: their features, the probabilities of the symbols "
              "that are heard, when those of the transcript are said, and where the frame of each "
              "heard symbol looks (attention rollout)",
          .files = {"speech-<run>-<input>.png", "symbols.csv", "maps.safetensors"},
          .fits = "a network that writes down recordings",
          .misfit = [](const ShownRun& run) { return unless_reading(Reads::kRecordings, run); },
          .standard = true};
}

}  // namespace

FOVEA_FIGURE(speech, speech_info(), speech_fields(), draw_speech)

}  // namespace fovea::visualise
