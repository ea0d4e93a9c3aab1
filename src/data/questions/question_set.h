// Questions to language models: contexts with ways to go on, one of which is right, in the formats
// of LAMBADA, PIQA, HellaSwag and WinoGrande. A new format is a source file that ends in
// FOVEA_QUESTIONS and a line in question_sets.def. mala 8; contexts and continuations are put
// together as the tasks of lm-evaluation-harness do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schema/fields.h"
#include "schema/json/value.h"
#include "schema/registry.h"

namespace fovea::data {

/// A way to go on with a context. The text to be scored begins with the blank between the two.
struct Continuation {
  std::string context, text;
  std::int64_t bytes = 0;  // of the answer, without that blank
};

struct Question {
  std::vector<Continuation> choices;
  std::size_t right = 0;  // which of them
};

/// What is measured of a set.
struct QuestionKind {
  bool words = false;  // the only choice is the next word: is it the most probable, how probable
  bool normalised = false;  // choices of several lengths are also compared per byte
};

/// The keys of all sets.
struct QuestionOptions {
  std::string file;
  std::int64_t limit = 0;  // questions, from the beginning; 0: all
};

struct QuestionEntry : schema::Choice {
  static constexpr const char* kKind = "question_set";
  QuestionKind kind;
  /// Throws FileError that names file and line.
  std::function<std::vector<Question>(const schema::Component&, const std::string& path)> read;
};

/// All of question_sets.def.
const schema::Registry<QuestionEntry>& question_sets();

/// Calls read(line, number) for every line of a file, without white space at both ends, as long as
/// it returns true. Throws FileError.
void for_each_line(const std::string& file,
                   const std::function<bool(std::string_view line, int number)>& read);

/// Calls read(record) for every line of a file of JSON objects, as many as `limit` says; lines
/// without any character are passed over. Throws FileError "FILE, line N: ..." for what read()
/// finds wrong with it (ConfigError), and for a file without records.
void for_each_record(
    const std::string& file, std::int64_t limit,
    const std::function<void(const schema::Value& record, std::size_t place)>& read);

/// A number from 0 to `count` - 1, written as a number or in quotes, `first` being the first.
/// Throws ConfigError.
std::size_t choice_number(const schema::Value& value, std::int64_t first, std::int64_t count);

/// Without white space at both ends.
std::string_view trimmed(std::string_view text);

template <class Options>
QuestionEntry make_question_entry(std::string name, std::string help, QuestionKind kind,
                                  std::vector<Question> (*read)(const Options&),
                                  schema::Fields<Options> fields) {
  fields.add("limit", &Options::limit, schema::at_least(0),
             "only so many, the first ones; 0 = all");
  const auto shared = std::make_shared<const schema::Fields<Options>>(std::move(fields));
  return {{std::move(name), std::move(help), shared},
          kind,
          [shared, read](const schema::Component& component, const std::string& path) {
            return read(shared->parse(component, path));
          }};
}

}  // namespace fovea::data

/// Registers a format: a name, a line of help, a QuestionKind, a function from options, which
/// derive from QuestionOptions, to questions, and the keys of these options but `limit`.
#define FOVEA_QUESTIONS(name, help, kind, read, ...)                                 \
  ::fovea::data::QuestionEntry fovea_questions_##name() {                            \
    return ::fovea::data::make_question_entry(#name, help, kind, read, __VA_ARGS__); \
  }
