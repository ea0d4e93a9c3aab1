// PIQA: which of two ways leads to a goal. Bisk et al., "PIQA: Reasoning about Physical Commonsense
// in Natural Language", 2020. A line is {"goal", "sol1", "sol2"}; a second file has the number of
// the right one, 0 or 1, a line.
#include <fmt/format.h>

#include "base/error.h"
#include "data/questions/question_set.h"

namespace fovea::data {
namespace {

struct PiqaOptions : QuestionOptions {
  std::string labels;
};

std::vector<std::size_t> read_labels(const std::string& file) {
  std::vector<std::size_t> labels;
  int blank = 0;  // lines, which may stand at the end alone
  for_each_line(file, [&](std::string_view label, int number) {
    if (label.empty()) {
      blank = blank > 0 ? blank : number;
      return true;
    }
    FOVEA_CHECK(blank == 0, FileError,
                fmt::format("{}, line {}: \"\"; expected 0 or 1", file, blank));
    FOVEA_CHECK(label == "0" || label == "1", FileError,
                fmt::format("{}, line {}: \"{}\"; expected 0 or 1", file, number, label));
    labels.push_back(label == "1" ? 1 : 0);
    return true;
  });
  return labels;
}

std::vector<Question> read_piqa(const PiqaOptions& o) {
  const std::vector<std::size_t> labels = read_labels(o.labels);
  std::vector<Question> questions;
  for_each_record(o.file, o.limit, [&](const schema::Value& record, std::size_t place) {
    FOVEA_CHECK(
        place < labels.size(), ConfigError,
        fmt::format("{} has {} labels; expected one for every line", o.labels, labels.size()));
    Question& question = questions.emplace_back();
    question.right = labels[place];
    const std::string context = "Question: " + record.at("goal").as_string() + "\nAnswer:";
    for (const char* key : {"sol1", "sol2"}) {
      const std::string& answer = record.at(key).as_string();
      question.choices.push_back({context, " " + answer, std::ssize(answer)});
    }
  });
  FOVEA_CHECK(o.limit > 0 || questions.size() == labels.size(), FileError,
              fmt::format("{}: {} labels for the {} questions of {}; expected as many", o.labels,
                          labels.size(), questions.size(), o.file));
  return questions;
}

PiqaOptions usual() {
  PiqaOptions options;
  options.file = "datasets/piqa/valid.jsonl";
  options.labels = "datasets/piqa/valid-labels.lst";
  return options;
}

}  // namespace

FOVEA_QUESTIONS(piqa, "PIQA: which of two ways leads to a goal", QuestionKind{.normalised = true},
                read_piqa,
                schema::Fields<PiqaOptions>(usual())
                    .add("file", &PiqaOptions::file, "{\"goal\", \"sol1\", \"sol2\"} a line")
                    .is_file()
                    .add("labels", &PiqaOptions::labels, "the right one, 0 or 1 a line")
                    .is_file())

}  // namespace fovea::data
