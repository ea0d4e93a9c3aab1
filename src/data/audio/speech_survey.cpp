#include "data/audio/speech_survey.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "data/audio/speech_dataset.h"

namespace fovea::data {
namespace {

template <class T>
T median_of(const std::vector<T>& ascending) {
  return ascending[(ascending.size() - 1) / 2];
}

template <class T>
T total_of(const std::vector<T>& values) {
  return std::accumulate(values.begin(), values.end(), T{});
}

// "1 h 2 min", "3 min 20 s", "12.5 s".
std::string duration_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(seconds);
  if (whole >= 3600) return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
  if (whole >= 60) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{:.1f} s", seconds);
}

}  // namespace

SpeechSurvey speech_survey(const SpeechDataset& dataset) {
  SpeechSurvey found;
  found.vocabulary = dataset.vocabulary().size();
  found.sample_rate = dataset.log_mel().plan().sample_rate;
  for (std::int64_t i = 0; i < dataset.size(); ++i) {
    const std::vector<std::int64_t> symbols = dataset.symbols_of(dataset.transcript(i));
    found.seconds.push_back(dataset.seconds(i));
    found.symbols.push_back(std::ssize(symbols));
    found.unknown += std::count(symbols.begin(), symbols.end(), Vocabulary::kUnknown);
  }
  std::sort(found.seconds.begin(), found.seconds.end());
  std::sort(found.symbols.begin(), found.symbols.end());
  return found;
}

schema::Value to_json(const SpeechSurvey& s) {
  using schema::Value;
  Value object = Value::object({{"sample_rate", s.sample_rate}, {"vocabulary", s.vocabulary}});
  if (s.seconds.empty()) return object;
  object.set("seconds", Value::object({{"least", s.seconds.front()},
                                       {"median", median_of(s.seconds)},
                                       {"most", s.seconds.back()},
                                       {"total", total_of(s.seconds)}}));
  object.set("symbols", Value::object({{"least", s.symbols.front()},
                                       {"median", median_of(s.symbols)},
                                       {"most", s.symbols.back()},
                                       {"total", total_of(s.symbols)},
                                       {"unknown", s.unknown}}));
  return object;
}

std::vector<std::pair<std::string, std::string>> lines_of(const SpeechSurvey& s) {
  if (s.seconds.empty()) return {};
  const std::int64_t symbols = total_of(s.symbols);
  const double unknown =
      symbols > 0 ? static_cast<double>(s.unknown) / static_cast<double>(symbols) : 0;
  return {
      {"seconds", fmt::format("{:.2f} to {:.2f}, median {:.2f}; {} together, features at {} Hz",
                              s.seconds.front(), s.seconds.back(), median_of(s.seconds),
                              duration_text(total_of(s.seconds)), s.sample_rate)},
      {"symbols", fmt::format("{} to {} a transcript, median {}; {} together, {:.2f} % unknown; "
                              "the vocabulary has {}, with the blank and the unknown one",
                              s.symbols.front(), s.symbols.back(), median_of(s.symbols), symbols,
                              100 * unknown, s.vocabulary)}};
}

}  // namespace fovea::data
