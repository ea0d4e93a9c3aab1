// LAMBADA: the last word of a passage. Paperno et al., "The LAMBADA dataset", 2016. A line is
// {"text": PASSAGE}.
#include "data/questions/question_set.h"

#include "base/error.h"

namespace fovea::data {
namespace {

std::vector<Question> read_lambada(const QuestionOptions& o) {
  std::vector<Question> questions;
  for_each_record(o.file, o.limit, [&](const schema::Value& record, std::size_t) {
    const std::string_view text = trimmed(record.at("text").as_string());
    const std::size_t gap = text.find_last_of(" \t\n");
    FOVEA_CHECK(gap != std::string_view::npos, ConfigError,
                "text: has one word; expected a passage, whose last word is asked for");
    const std::string word(text.substr(gap + 1));
    questions.push_back({{{std::string(text.substr(0, gap)), std::string(text.substr(gap)),
                           static_cast<std::int64_t>(word.size())}}});
  });
  return questions;
}

}  // namespace

FOVEA_QUESTIONS(lambada, "LAMBADA: the last word of a passage", QuestionKind{.words = true},
                read_lambada,
                schema::Fields<QuestionOptions>({"datasets/lambada/lambada_test.jsonl"})
                    .add("file", &QuestionOptions::file, "passages, {\"text\"} a line")
                    .is_file())

}  // namespace fovea::data
