#include "experiment/inference/text_writer.h"

#include <fmt/format.h>

#include <chrono>

#include "backend/devices.h"
#include "base/error.h"
#include "data/streams/stream_dataset.h"
#include "nn/weights.h"
#include "ops/elementwise.h"

namespace fovea::experiment {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

TextWriter::TextWriter(const TrainedRun& from) {
  const StoredRun stored = read_run(from);
  weights_ = stored.weights;
  const Experiment experiment = parse(stored.config);
  const auto file = stored.checkpoint.files.find(data::kTokeniserFile);
  FOVEA_CHECK(file != stored.checkpoint.files.end(), ConfigError,
              fmt::format("{}: task {} writes no texts; expected a run of language_modelling",
                          from.folder.string(), experiment.task));
  tokeniser_ =
      data::parse_stream_tokeniser(file->second, (stored.folder / data::kTokeniserFile).string());
  const auto& train = experiment.train;
  const int threads = from.threads > 0 ? from.threads : static_cast<int>(train.threads);
  device_ = make_device(train.device, train.device_settings(threads));
  models::DataShape shape;
  shape.vocab_size = tokeniser_->size();
  model_ = make_model(experiment, device_, shape);
  nn::load_weights(*model_, stored.tensors(), stored.file);
  model_->train(false);
  decoder_ = dynamic_cast<models::LanguageModel*>(model_.get());
  FOVEA_CHECK(decoder_ != nullptr, ConfigError,
              fmt::format("model.type: {} writes no texts", experiment.model.type));
}

Written TextWriter::write(const WriteRequest& request, const Piece& piece) {
  data::StreamTokens next = tokeniser_->encode(request.prompt);
  FOVEA_CHECK(!next.empty(), ConfigError, "prompt: is empty; expected at least one token");
  Written written;
  written.prompt_tokens = std::ssize(next);
  const RandomStream random = RandomStream(request.seed).fork("generate");
  models::DecoderState state;
  auto start = std::chrono::steady_clock::now();
  for (; written.tokens < request.tokens; ++written.tokens) {
    const std::vector<std::int64_t> ids(next.begin(), next.end());
    const Tensor logits = decoder_->next(Tensor::from(ids, {1, std::ssize(ids)}, device_), state);
    const auto values = logits.host_values<float>();
    if (written.tokens == 0) {
      written.prompt_s = seconds_since(start);
      start = std::chrono::steady_clock::now();
    }
    // A network may have more rows than there are tokens.
    const auto known = static_cast<std::size_t>(tokeniser_->size());
    const double u = random.uniform(static_cast<std::uint64_t>(written.tokens));
    const std::int64_t id =
        models::sample_token(std::span<const float>(values).first(known), request.sampling, u);
    const std::string bytes = tokeniser_->piece(id);
    written.text += bytes;
    next = {static_cast<std::int32_t>(id)};
    if (!piece(bytes)) {
      ++written.tokens;
      break;
    }
  }
  written.tokens_s = seconds_since(start);
  written.state_bytes = state.bytes();
  return written;
}

}  // namespace fovea::experiment
