// What the recordings of a part hold: how long they are and what is said.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "schema/json/value.h"

namespace fovea::data {

class SpeechDataset;

struct SpeechSurvey {
  std::vector<double> seconds;        // of each recording, ascending
  std::vector<std::int64_t> symbols;  // of each transcript, ascending
  std::int64_t unknown = 0;           // symbols that are not in the vocabulary
  std::int64_t vocabulary = 0;        // symbols of the network, with the blank and the unknown one
  std::int64_t sample_rate = 0;       // hertz, at which features are made
};

/// From headers of files and transcripts; no samples are read.
SpeechSurvey speech_survey(const SpeechDataset& dataset);

schema::Value to_json(const SpeechSurvey& survey);
/// What they are called, and the numbers.
std::vector<std::pair<std::string, std::string>> lines_of(const SpeechSurvey& survey);

}  // namespace fovea::data
