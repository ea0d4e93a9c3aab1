#include "experiment/inference/lost_words.h"

#include <fmt/format.h>

namespace fovea::experiment {

void LostWords::add(const data::ReadText& read) {
  const std::int64_t unknown = std::ssize(read.unknown());
  ++texts_;
  words_ += std::ssize(read.words) + read.cut;
  unknown_ += unknown;
  texts_with_unknown_ += unknown > 0 ? 1 : 0;
  cut_ += read.cut;
  texts_cut_ += read.cut > 0 ? 1 : 0;
}

std::string LostWords::text() const {
  std::string text;
  if (unknown_ > 0)
    text = fmt::format("{} of {} words are not in the vocabulary, in {} of {} texts", unknown_,
                       words_, texts_with_unknown_, texts_);
  if (cut_ > 0)
    text += fmt::format("{}{} of {} texts are longer than dataset.max_len: {} words were cut",
                        text.empty() ? "" : "; ", texts_cut_, texts_, cut_);
  return text;
}

}  // namespace fovea::experiment
