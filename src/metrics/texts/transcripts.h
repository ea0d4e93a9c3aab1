// Word and character error rates of transcripts. mala 8.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/metric_info.h"

namespace fovea::metrics {

inline const MetricInfo kWer{.name = "wer",
                             .unit = "%",
                             .larger_is_better = false,
                             .decimals = 2,
                             .per_sample = true,
                             .aliases = {"word_error_rate"}};
inline const MetricInfo kCer{.name = "cer",
                             .unit = "%",
                             .larger_is_better = false,
                             .decimals = 2,
                             .per_sample = true,
                             .aliases = {"character_error_rate"}};

/// Words between white space.
std::vector<std::string> words_of(std::string_view text);
/// UTF-8 characters without white space at the ends, where several spaces in a row are one; bytes
/// that are no UTF-8 count one each.
std::vector<std::string> characters_of(std::string_view text);

/// What must be done to a reference to get a hypothesis with the fewest changes.
struct EditCounts {
  std::int64_t correct = 0, substituted = 0, deleted = 0, inserted = 0;

  std::int64_t errors() const { return substituted + deleted + inserted; }
  std::int64_t reference() const { return correct + substituted + deleted; }
  EditCounts& operator+=(const EditCounts& other);
  /// Percent of the reference; of an empty one 0 without insertions, else infinity.
  double error_rate() const;
};
/// Of several ways with equally few changes that with the fewest insertions and deletions.
EditCounts count_edits(const std::vector<std::string>& reference,
                       const std::vector<std::string>& hypothesis);

struct Transcript {
  std::string reference, hypothesis;
};
/// Summed over all transcripts.
EditCounts word_edits(const std::vector<Transcript>& transcripts);
EditCounts character_edits(const std::vector<Transcript>& transcripts);

/// Loss, WER and CER; a value for each transcript too.
std::vector<Measurement> measure_transcripts(double loss,
                                             const std::vector<Transcript>& transcripts);
std::vector<MetricInfo> transcript_metrics();

}  // namespace fovea::metrics
