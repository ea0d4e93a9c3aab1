// What is said of a transcription: the text of every recording beside the truth, kinds of errors.
#include <fmt/format.h>

#include "training/tasks/transcription/transcription.h"

namespace fovea::training {
namespace {

using schema::Value;

constexpr std::size_t kShownTexts = 8;

Value to_value(const metrics::EditCounts& counts) {
  return Value::object({{"reference", counts.reference()},
                        {"substitutions", counts.substituted},
                        {"deletions", counts.deleted},
                        {"insertions", counts.inserted}});
}

std::string line_of(const char* what, const metrics::EditCounts& counts) {
  return fmt::format("{}: {} of {} substituted, {} deleted, {} inserted", what, counts.substituted,
                     counts.reference(), counts.deleted, counts.inserted);
}

}  // namespace

Report Transcription::report(const ReportRequest& request) {
  Evaluation found = evaluate_in_full(request.split);
  Report report;
  report.indices = found.indices;
  const metrics::EditCounts words = metrics::word_edits(found.transcripts);
  const metrics::EditCounts characters = metrics::character_edits(found.transcripts);
  report.lines = {line_of("words", words), line_of("characters", characters)};
  report.details.set("words", to_value(words));
  report.details.set("characters", to_value(characters));
  if (language_) {
    std::vector<std::vector<std::int64_t>> sequences;
    for (const metrics::Transcript& one : found.transcripts)
      sequences.push_back(samples(request.split).symbols_of(one.reference));
    const double perplexity = language_->perplexity(sequences);
    report.details.set("ngram_perplexity", perplexity);
    report.lines.push_back(
        fmt::format("n-grams: perplexity {:.2f} of these transcripts", perplexity));
  }
  std::vector<std::string> reference, hypothesis;
  std::vector<double> wer, cer, seconds;
  for (std::size_t i = 0; i < found.transcripts.size(); ++i) {
    const metrics::Transcript& one = found.transcripts[i];
    reference.push_back(one.reference);
    hypothesis.push_back(one.hypothesis);
    wer.push_back(metrics::word_edits({one}).error_rate());
    cer.push_back(metrics::character_edits({one}).error_rate());
    seconds.push_back(samples(request.split).seconds(found.indices[i]));
  }
  const std::vector<std::string> names = names_of(found.indices, request.split);
  std::size_t shown = 0;
  for (std::size_t i = 0; i < wer.size() && shown < kShownTexts; ++i) {
    if (reference[i] == hypothesis[i]) continue;
    report.lines.push_back(
        fmt::format("{}: \"{}\" for \"{}\"", names[i], hypothesis[i], reference[i]));
    ++shown;
  }
  report.metrics = std::move(found.metrics);
  report.tables.push_back({"transcripts",
                           {{"index", found.indices},
                            {"name", names},
                            {"seconds", seconds},
                            {"reference", reference},
                            {"hypothesis", hypothesis},
                            {"wer", wer},
                            {"cer", cer}}});
  return report;
}

}  // namespace fovea::training
