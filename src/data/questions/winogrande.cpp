// WinoGrande: which of two words a blank stands for. Sakaguchi et al., "WinoGrande: An Adversarial
// Winograd Schema Challenge at Scale", 2019. A line is {"sentence", "option1", "option2",
// "answer"}, the sentence with a _ for the blank. What follows the blank is scored behind each
// option: partial evaluation (Trinh & Le, "A Simple Method for Commonsense Reasoning", 2018).
#include "base/error.h"
#include "data/questions/question_set.h"

namespace fovea::data {
namespace {

std::vector<Question> read_winogrande(const QuestionOptions& o) {
  std::vector<Question> questions;
  for_each_record(o.file, o.limit, [&](const schema::Value& record, std::size_t) {
    const std::string& sentence = record.at("sentence").as_string();
    const std::size_t blank = sentence.find('_');
    FOVEA_CHECK(blank != std::string::npos, ConfigError, "sentence: has no _ for the blank");
    const std::string rest(trimmed(std::string_view(sentence).substr(blank + 1)));
    FOVEA_CHECK(!rest.empty(), ConfigError,
                "sentence: nothing follows the blank; expected what can be scored");
    Question& question = questions.emplace_back();
    for (const char* key : {"option1", "option2"})
      question.choices.push_back(
          {sentence.substr(0, blank) + record.at(key).as_string(), " " + rest, std::ssize(rest)});
    question.right = choice_number(record.at("answer"), 1, 2);
  });
  return questions;
}

}  // namespace

FOVEA_QUESTIONS(winogrande, "WinoGrande: which of two words a blank stands for", QuestionKind{},
                read_winogrande,
                schema::Fields<QuestionOptions>({"datasets/winogrande/dev.jsonl"})
                    .add("file", &QuestionOptions::file,
                         "{\"sentence\", \"option1\", \"option2\", \"answer\"} a line")
                    .is_file())

}  // namespace fovea::data
