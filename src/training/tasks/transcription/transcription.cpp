#include "training/tasks/transcription/transcription.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "autograd/mode.h"
#include "base/error.h"
#include "base/file.h"
#include "metrics/classification.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "training/store/weights.h"
#include "training/tasks/task_registry.h"

namespace fovea::training {
namespace {

models::Transcriber& transcriber_of(models::Model& model) {
  auto* transcriber = dynamic_cast<models::Transcriber*>(&model);
  FOVEA_CHECK(transcriber != nullptr, ConfigError,
              fmt::format("task: transcription needs {}; the network is {}",
                          models::info_of(models::Interface::kTranscriber).name,
                          models::info_of(model.interface()).name));
  return *transcriber;
}

const data::SpeechDataset& speech_of(const data::Dataset& samples) {
  const data::SpeechDataset* speech = data::find_speech(samples);
  FOVEA_CHECK(speech != nullptr, ConfigError,
              "task: transcription needs a data set of recordings with transcripts");
  return *speech;
}

// Lines of a file.
std::vector<std::string> sentences_in(const std::string& file) {
  const std::string text = io::read_text(file);
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

}  // namespace

Transcription::Transcription(models::Model& model, std::shared_ptr<BatchSource> source,
                             const schema::Component& loss)
    : Task(model, std::move(source), {"symbols"}), loss_(make_loss(loss, Compares::kSequences)) {
  transcriber_of(model);
}

data::Batch Transcription::random_batch(const models::DataShape& shape, std::int64_t size,
                                        const Device& device) {
  const std::int64_t frames = std::max<std::int64_t>(1, shape.frames);
  // About a symbol for every tenth of a second, never two equal ones in a row.
  const std::int64_t length = std::max<std::int64_t>(1, frames / 10);
  const std::int64_t kinds = std::max<std::int64_t>(1, shape.num_classes - 1);
  std::vector<std::int64_t> symbols;
  for (std::int64_t i = 0; i < size * length; ++i) symbols.push_back(1 + i % kinds);
  return batch_of(
      {{"features", ops::random_normal({size, frames, shape.mels}, 0, 1, RandomStream(1),
                                       DType::kFloat32, device)},
       {"num_frames", ops::full({size}, static_cast<double>(frames), DType::kInt64, device)},
       {"symbols", Tensor::from(symbols, {size, length}, device)}});
}

Tensor Transcription::loss_of(const models::Outputs& output, const data::Batch& batch) const {
  return loss_(output, batch.at("symbols"));
}

const data::SpeechDataset& Transcription::samples(data::Split split) const {
  check_split(split);
  return speech_of(source().at(split));
}

const data::SpeechDataset& Transcription::any_samples() const { return speech_of(source().any()); }

void Transcription::set_decoding(const DecodingOptions& options) {
  decoding_ = options;
  language_.reset();
  sentences_.clear();
  if (options.ngram_order == 0) return;
  sentences_ = counted_sentences(options);
  const data::SpeechDataset& data = any_samples();
  std::vector<std::vector<std::int64_t>> sequences;
  for (const std::string& sentence : sentences_) sequences.push_back(data.symbols_of(sentence));
  language_.emplace(sequences, options.ngram_order, data.vocabulary().size());
}

std::vector<std::string> Transcription::counted_sentences(const DecodingOptions& options) const {
  if (auto kept = sentences_beside(source().options().beside.get(), options))
    return kept->sentences;
  std::vector<std::string> sentences;
  if (options.ngram_text.empty()) {
    const data::SpeechDataset& spoken = samples(data::Split::kTrain);
    for (std::int64_t i = 0; i < spoken.size(); ++i) sentences.push_back(spoken.transcript(i));
    return sentences;
  }
  for (const std::string& line : sentences_in(options.ngram_text)) {
    std::string sentence = any_samples().normalised(line);
    if (!sentence.empty()) sentences.push_back(std::move(sentence));
  }
  return sentences;
}

std::map<std::string, std::string> Transcription::files() const {
  std::map<std::string, std::string> files = Task::files();
  if (language_) files[kSentencesFile] = to_text({decoding_.ngram_text, sentences_});
  return files;
}

std::vector<std::string> Transcription::texts_of(const models::Outputs& output) const {
  const Tensor logits = ops::cast(output.logits, DType::kFloat32);
  const std::int64_t t = logits.size(1), symbols = logits.size(2);
  const data::SpeechDataset& data = any_samples();
  FOVEA_CHECK(symbols >= data.vocabulary().size(), ConfigError,
              fmt::format("model.num_classes: {}, but the data set has {} symbols; expected {} or "
                          "null",
                          symbols, data.vocabulary().size(), data.vocabulary().size()));
  const auto values = logits.host_values<float>();
  const std::vector<std::int64_t>& frames = output.frames;
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const ops::FrameLogits own{
        std::span<const float>(values.data() + static_cast<std::int64_t>(i) * t * symbols,
                               static_cast<std::size_t>(frames[i] * symbols)),
        symbols, data::Speller::kBlank};
    if (decoding_.beam_width == 1 && !language_) {
      texts.push_back(data.text_of(ops::ctc_greedy(own)));
      continue;
    }
    const std::vector<ops::Hypothesis> found =
        ops::ctc_beam_search(own, {.width = decoding_.beam_width,
                                   .language = language_ ? &*language_ : nullptr,
                                   .language_weight = decoding_.language_weight,
                                   .symbol_bonus = decoding_.symbol_bonus});
    texts.push_back(data.text_of(found.front().symbols));
  }
  return texts;
}

std::string Transcription::text_of(const data::Batch& batch) {
  return texts_of(infer(batch)).front();
}

Transcription::Evaluation Transcription::evaluate_in_full(data::Split split,
                                                          const std::optional<NoiseLevel>& noise) {
  const data::SpeechDataset& data = samples(split);
  const autograd::NoGrad no_grad;
  metrics::RunningMean loss;
  std::vector<std::int64_t> indices;
  std::vector<metrics::Transcript> transcripts;
  for_each_batch(split, noise, [&](const data::Batch& batch, const models::Outputs& output) {
    loss.add(scalar_of(loss_of(output, batch)), static_cast<double>(batch.size()));
    std::vector<std::string> texts = texts_of(output);
    for (std::size_t i = 0; i < texts.size(); ++i)
      transcripts.push_back({data.transcript(batch.indices[i]), std::move(texts[i])});
    indices.insert(indices.end(), batch.indices.begin(), batch.indices.end());
  });
  const std::vector<std::size_t> order = ascending(indices);
  Evaluation result{{}, reordered(indices, order), reordered(transcripts, order)};
  result.metrics = metrics::measure_transcripts(loss.value(), result.transcripts);
  return result;
}

}  // namespace fovea::training

namespace {

constexpr fovea::training::TaskInfo kTranscription{
    .help = "what is said in recordings, as text",
    .data = fovea::data::Kind::kSpeech,
    .network = fovea::models::Interface::kTranscriber,
    .gives = "texts",
    .loss = "ctc",
    .usual = {"conformer_s", 16}};

}  // namespace

FOVEA_TASK(transcription, fovea::training::Transcription, kTranscription)
