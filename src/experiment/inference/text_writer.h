// A trained language model that goes on with a text, token by token. It needs a run's checkpoint
// alone: the data may be elsewhere.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "data/streams/stream_tokeniser.h"
#include "experiment/run/open_run.h"
#include "models/sequences/language_model.h"
#include "models/sequences/sampling.h"

namespace fovea::experiment {

struct WriteRequest {
  std::string prompt = "\n";
  std::int64_t tokens = 256;  // to be written
  models::SamplingOptions sampling = {};
  std::uint64_t seed = 0;
};

struct Written {
  std::string text;  // without the prompt; its last character may be cut
  std::int64_t prompt_tokens = 0;
  std::int64_t tokens = 0;
  std::int64_t state_bytes = 0;  // what the decoder kept of all tokens at the end
  double prompt_s = 0, tokens_s = 0;
};

class TextWriter {
 public:
  /// Throws FileError and ConfigError; so for a run that is of no language model.
  explicit TextWriter(const TrainedRun& run);

  const WeightsUsed& weights() const { return weights_; }
  const data::StreamTokeniser& tokeniser() const { return *tokeniser_; }
  /// Writes; a function of the weights and the request alone. `piece` gets the bytes of each token
  /// as soon as it is drawn, and may end the text by false. Throws ConfigError for an empty prompt
  /// and for sampling options outside their ranges.
  using Piece = std::function<bool(std::string_view bytes)>;
  Written write(const WriteRequest& request, const Piece& piece);

 private:
  WeightsUsed weights_;
  std::shared_ptr<const data::StreamTokeniser> tokeniser_;
  Device device_;
  std::unique_ptr<models::Model> model_;
  models::LanguageModel* decoder_ = nullptr;
};

}  // namespace fovea::experiment
