#include "data/questions/question_set.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "schema/json/parse.h"

namespace fovea::data {

#define FOVEA_QUESTIONS_ENTRY(name) QuestionEntry fovea_questions_##name();
#include "data/questions/question_sets.def"
#undef FOVEA_QUESTIONS_ENTRY

const schema::Registry<QuestionEntry>& question_sets() {
  static const schema::Registry<QuestionEntry> all = {
#define FOVEA_QUESTIONS_ENTRY(name) fovea_questions_##name(),
#include "data/questions/question_sets.def"
#undef FOVEA_QUESTIONS_ENTRY
  };
  return all;
}

void for_each_line(const std::string& file,
                   const std::function<bool(std::string_view line, int number)>& read) {
  FOVEA_CHECK(io::exists_at_all(file), FileError,
              fmt::format("{}: not found; see datasets/questions.md", file));
  const std::string text = io::read_text(file);
  int number = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    if (!read(trimmed(rest.substr(0, end)), ++number)) return;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

void for_each_record(
    const std::string& file, std::int64_t limit,
    const std::function<void(const schema::Value& record, std::size_t place)>& read) {
  std::size_t place = 0;
  for_each_line(file, [&](std::string_view written, int line) {
    if (limit > 0 && static_cast<std::int64_t>(place) == limit) return false;
    if (written.empty()) return true;
    try {
      schema::Value record = schema::parse(written, file);
      record.set_origin_deep({file + ", line " + std::to_string(line), 0, 0});
      FOVEA_CHECK(record.is_object(), ConfigError,
                  fmt::format("{}: is of kind {}; expected an object", to_string(record.origin()),
                              record.kind_name()));
      read(record, place++);
    } catch (const ConfigError& error) {
      const std::string where = fmt::format("{}, line {}: ", file, line);
      const std::string what = error.what();
      throw FileError(what.starts_with(where) ? what : where + what);
    }
    return true;
  });
  FOVEA_CHECK(place > 0, FileError,
              fmt::format("{}: holds no question; expected a JSON object a line", file));
}

std::size_t choice_number(const schema::Value& value, std::int64_t first, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const bool same = value.is_string()    ? value.as_string() == std::to_string(first + i)
                      : value.is_integer() ? value.as_int() == first + i
                                           : false;
    if (same) return static_cast<std::size_t>(i);
  }
  throw ConfigError(fmt::format("the right answer is {}; expected a number from {} to {}",
                                value.dump(0), first, first + count - 1));
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n\v\f";
  const std::size_t begin = std::min(text.find_first_not_of(kBlank), text.size());
  return text.substr(begin, text.find_last_not_of(kBlank) + 1 - begin);
}

}  // namespace fovea::data
