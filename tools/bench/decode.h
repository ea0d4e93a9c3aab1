// What a language model takes to write a token, at the start of a text and far into it.
#pragma once

#include "experiment/file/experiment.h"

namespace fovea::bench {

struct Decoding {
  std::int64_t tokens = 0;
  double first_cpu_ms = 0;       // of the processor a token, mean of the first eighth
  double last_cpu_ms = 0;        // of the last eighth
  std::int64_t state_bytes = 0;  // what the decoder keeps of all tokens at the end
};

/// Writes `tokens` tokens one after the other with random weights. Throws ConfigError unless the
/// experiment has a language model.
Decoding decode(const experiment::Experiment& experiment, const Device& device,
                std::int64_t tokens);

schema::Value to_json(const experiment::Experiment& experiment, const Decoding& decoding);
std::string to_text(const experiment::Experiment& experiment, const Decoding& decoding);

}  // namespace fovea::bench
