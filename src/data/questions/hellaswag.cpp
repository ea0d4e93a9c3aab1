// HellaSwag: which of four endings follows. Zellers et al., "HellaSwag: Can a Machine Really Finish
// Your Sentence?", 2019. A line is {"activity_label", "ctx_a", "ctx_b", "endings", "label"}; "ctx"
// may stand for both contexts.
#include <cctype>

#include "base/error.h"
#include "data/questions/question_set.h"

namespace fovea::data {
namespace {

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

// Marks in brackets are left from the web pages that the texts were taken from.
std::string cleaned(std::string_view raw) {
  std::string text(trimmed(raw));
  replace_all(text, " [title]", ". ");
  for (std::size_t open = 0; (open = text.find('[', open)) != std::string::npos;) {
    const std::size_t close = text.find_first_of("]\n", open);
    if (close != std::string::npos && text[close] == ']') {
      text.erase(open, close + 1 - open);
    } else {
      ++open;
    }
  }
  replace_all(text, "  ", " ");
  return text;
}

// The first letter large, all others small.
std::string capitalised(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

std::vector<Question> read_hellaswag(const QuestionOptions& o) {
  std::vector<Question> questions;
  for_each_record(o.file, o.limit, [&](const schema::Value& record, std::size_t) {
    const bool whole = record.find("ctx_a") == nullptr && record.find("ctx") != nullptr;
    const std::string context =
        whole ? record.at("ctx").as_string()
              : record.at("ctx_a").as_string() + " " + capitalised(record.at("ctx_b").as_string());
    const std::string asked = cleaned(record.at("activity_label").as_string() + ": " + context);
    Question& question = questions.emplace_back();
    for (const schema::Value& ending : record.at("endings").items()) {
      const std::string answer = cleaned(ending.as_string());
      question.choices.push_back({asked, " " + answer, std::ssize(answer)});
    }
    FOVEA_CHECK(question.choices.size() >= 2, ConfigError, "endings: expected at least two");
    question.right = choice_number(record.at("label"), 0, std::ssize(question.choices));
  });
  return questions;
}

}  // namespace

FOVEA_QUESTIONS(hellaswag, "HellaSwag: which of four endings follows",
                QuestionKind{.normalised = true}, read_hellaswag,
                schema::Fields<QuestionOptions>({"datasets/hellaswag/hellaswag_val.jsonl"})
                    .add("file", &QuestionOptions::file,
                         "{\"activity_label\", \"ctx_a\", \"ctx_b\" or \"ctx\", \"endings\", "
                         "\"label\"} a line")
                    .is_file())

}  // namespace fovea::data
