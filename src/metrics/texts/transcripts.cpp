#include "metrics/texts/transcripts.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace fovea::metrics {
namespace {

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// Bytes of the UTF-8 character that begins at `at`; 1 for what is none.
std::size_t character_bytes(std::string_view text, std::size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  const std::size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
  if (at + bytes > text.size()) return 1;
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((static_cast<unsigned char>(text[at + i]) & 0xC0) != 0x80) return 1;
  }
  return bytes;
}

using Tokenise = std::vector<std::string> (*)(std::string_view);

EditCounts sum_of(const std::vector<Transcript>& transcripts, Tokenise tokens) {
  EditCounts sum;
  for (const Transcript& one : transcripts)
    sum += count_edits(tokens(one.reference), tokens(one.hypothesis));
  return sum;
}

Measurement measured(const MetricInfo& info, const std::vector<Transcript>& transcripts,
                     Tokenise tokens) {
  Measurement metric{info, 0, {}};
  EditCounts sum;
  for (const Transcript& one : transcripts) {
    const EditCounts own = count_edits(tokens(one.reference), tokens(one.hypothesis));
    metric.per_sample.push_back(own.error_rate());
    sum += own;
  }
  metric.value = sum.error_rate();
  return metric;
}

}  // namespace

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  bool inside = false;
  for (const char c : text) {
    if (!is_space(c) && !inside) words.emplace_back();
    inside = !is_space(c);
    if (inside) words.back() += c;
  }
  return words;
}

std::vector<std::string> characters_of(std::string_view text) {
  std::vector<std::string> characters;
  for (const std::string& word : words_of(text)) {
    if (!characters.empty()) characters.emplace_back(" ");
    for (std::size_t at = 0; at < word.size();) {
      const std::size_t bytes = character_bytes(word, at);
      characters.push_back(word.substr(at, bytes));
      at += bytes;
    }
  }
  return characters;
}

EditCounts& EditCounts::operator+=(const EditCounts& other) {
  correct += other.correct;
  substituted += other.substituted;
  deleted += other.deleted;
  inserted += other.inserted;
  return *this;
}

double EditCounts::error_rate() const {
  if (errors() == 0) return 0;
  if (reference() == 0) return std::numeric_limits<double>::infinity();
  return 100.0 * static_cast<double>(errors()) / static_cast<double>(reference());
}

// Row by row: the counts of the best way from a beginning of the reference to one of the
// hypothesis.
EditCounts count_edits(const std::vector<std::string>& reference,
                       const std::vector<std::string>& hypothesis) {
  const auto order = [](const EditCounts& c) {
    return std::tuple(c.errors(), c.inserted + c.deleted);
  };
  std::vector<EditCounts> row(hypothesis.size() + 1), next(row);
  for (std::size_t j = 1; j < row.size(); ++j) row[j].inserted = static_cast<std::int64_t>(j);
  for (const std::string& wanted : reference) {
    next[0] = row[0];
    ++next[0].deleted;
    for (std::size_t j = 1; j < row.size(); ++j) {
      const bool same = wanted == hypothesis[j - 1];
      EditCounts best = row[j - 1];
      ++(same ? best.correct : best.substituted);
      EditCounts without = row[j];
      ++without.deleted;
      if (order(without) < order(best)) best = without;
      EditCounts with = next[j - 1];
      ++with.inserted;
      if (order(with) < order(best)) best = with;
      next[j] = best;
    }
    std::swap(row, next);
  }
  return row.back();
}

EditCounts word_edits(const std::vector<Transcript>& transcripts) {
  return sum_of(transcripts, words_of);
}

EditCounts character_edits(const std::vector<Transcript>& transcripts) {
  return sum_of(transcripts, characters_of);
}

std::vector<Measurement> measure_transcripts(double loss,
                                             const std::vector<Transcript>& transcripts) {
  return {{kLoss, loss, {}},
          measured(kWer, transcripts, words_of),
          measured(kCer, transcripts, characters_of)};
}

std::vector<MetricInfo> transcript_metrics() { return infos_of(measure_transcripts(0, {})); }

}  // namespace fovea::metrics
