#include "data/questions/question_set.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "tests/data/files.h"

using namespace fovea;
using namespace fovea::data;

namespace {

std::vector<Question> read(const std::string& set, const std::filesystem::path& file,
                           const std::string& more = "", const std::string& value = "") {
  schema::Value options = schema::Value::object({{"type", set}});
  options.set("file", file.string());
  if (!more.empty()) options.set(more, value);
  return question_sets().find(set).read({set, options}, "eval.questions");
}

}  // namespace

TEST_CASE("questions: the last word of a passage", "[data]") {
  const data::test::Folder folder;
  const auto questions =
      read("lambada", folder.write("a.jsonl",
                                   "{\"text\": \"He said goodbye .\\nThen left \"}\r\n"
                                   "\n{\"text\": \"two words\"}"));
  REQUIRE(questions.size() == 2);
  REQUIRE(questions[0].choices.size() == 1);
  CHECK(questions[0].choices[0].context == "He said goodbye .\nThen");
  CHECK(questions[0].choices[0].text == " left");
  CHECK(questions[0].choices[0].bytes == 4);
  CHECK(questions[1].choices[0].text == " words");
}

TEST_CASE("questions: two ways to a goal", "[data]") {
  const data::test::Folder folder;
  const auto file =
      folder.write("a.jsonl",
                   "{\"goal\": \"open a door\", \"sol1\": \"push\", \"sol2\": \"w\\u00e4it\"}\n"
                   "{\"goal\": \"g\", \"sol1\": \"x\", \"sol2\": \"y\"}\n");
  const auto questions = read("piqa", file, "labels", folder.write("a.lst", "1\n0\n").string());
  REQUIRE(questions.size() == 2);
  CHECK(questions[0].right == 1);
  CHECK(questions[1].right == 0);
  CHECK(questions[0].choices[1].context == "Question: open a door\nAnswer:");
  CHECK(questions[0].choices[1].text == " wäit");
  CHECK(questions[0].choices[1].bytes == 5);
  CHECK_THROWS_WITH(read("piqa", file, "labels", folder.write("b.lst", "1\n").string()),
                    Catch::Contains("a.jsonl, line 2: ") && Catch::Contains("has 1 labels"));
  CHECK_THROWS_WITH(read("piqa", file, "labels", folder.write("c.lst", "1\n0\n0\n").string()),
                    Catch::Contains("3 labels for the 2 questions"));
  CHECK_THROWS_WITH(read("piqa", file, "labels", folder.write("d.lst", "1\n2\n").string()),
                    Catch::Contains("d.lst, line 2: \"2\"; expected 0 or 1"));
}

TEST_CASE("questions: endings, without marks of web pages", "[data]") {
  const data::test::Folder folder;
  const auto questions = read(
      "hellaswag",
      folder.write(
          "a.jsonl",
          R"({"activity_label": "Baking", "ctx_a": "[header] How to bake [title] Mix [step] flour.", "ctx_b": "then SHE", "endings": ["eats  it.", "sleeps [substeps] now."], "label": "1"})"
          "\n"
          R"({"activity_label": "A", "ctx": "b c", "endings": ["d", "e", "f"], "label": 2})"));
  REQUIRE(questions.size() == 2);
  CHECK(questions[0].right == 1);
  CHECK(questions[0].choices[0].context == "Baking: How to bake. Mix flour. Then she");
  CHECK(questions[0].choices[0].text == " eats it.");
  CHECK(questions[0].choices[1].text == " sleeps now.");
  CHECK(questions[0].choices[1].bytes == 11);
  CHECK(questions[1].choices[2].context == "A: b c");
  CHECK(questions[1].right == 2);
}

TEST_CASE("questions: what follows a blank, behind each option", "[data]") {
  const data::test::Folder folder;
  const auto questions = read(
      "winogrande",
      folder.write(
          "a.jsonl",
          R"({"sentence": "Ann thanked Bea, as _ had helped.", "option1": "Ann", "option2": "Bea", "answer": "2"})"));
  REQUIRE(questions.size() == 1);
  CHECK(questions[0].right == 1);
  CHECK(questions[0].choices[0].context == "Ann thanked Bea, as Ann");
  CHECK(questions[0].choices[1].context == "Ann thanked Bea, as Bea");
  CHECK(questions[0].choices[1].text == " had helped.");
}

TEST_CASE("questions: only the first ones", "[data]") {
  const data::test::Folder folder;
  const auto file = folder.write("a.jsonl", "{\"text\": \"a b\"}\n{\"text\": \"c d\"}\nno JSON\n");
  schema::Value options = schema::Value::object({{"type", "lambada"}, {"limit", 2}});
  options.set("file", file.string());
  CHECK(question_sets().find("lambada").read({"lambada", options}, "q").size() == 2);
}

TEST_CASE("questions: damaged files are refused by file and line", "[data]") {
  const data::test::Folder folder;
  const auto refused = [&](const std::string& set, const std::string& text) {
    return [&folder, set, text] { read(set, folder.write("bad.jsonl", text)); };
  };
  const std::string good = "{\"text\": \"a b\"}\n";
  CHECK_THROWS_WITH(refused("lambada", good + "{\"text\": \"a b\"")(),
                    Catch::Contains("bad.jsonl, line 2: "));
  CHECK_THROWS_WITH(refused("lambada", good + "[1]")(), Catch::Contains("bad.jsonl, line 2: ") &&
                                                            Catch::Contains("expected an object"));
  CHECK_THROWS_WITH(refused("lambada", "{\"txt\": \"a b\"}")(),
                    Catch::Contains("bad.jsonl, line 1: ") && Catch::Contains("text"));
  CHECK_THROWS_WITH(refused("lambada", "{\"text\": 5}")(), Catch::Contains("bad.jsonl, line 1: "));
  CHECK_THROWS_WITH(refused("lambada", "{\"text\": \"word\"}")(), Catch::Contains("has one word"));
  CHECK_THROWS_WITH(refused("lambada", "\n\n")(), Catch::Contains("holds no question"));
  CHECK_THROWS_WITH(refused("winogrande", R"({"sentence": "a b", "option1": "x"})")(),
                    Catch::Contains("has no _"));
  CHECK_THROWS_WITH(
      refused("winogrande",
              R"({"sentence": "a _ b", "option1": "x", "option2": "y", "answer": ""})")(),
      Catch::Contains("the right answer is \"\"; expected a number from 1 to 2"));
  CHECK_THROWS_WITH(
      refused("winogrande",
              R"({"sentence": "a _ ", "option1": "x", "option2": "y", "answer": "1"})")(),
      Catch::Contains("nothing follows the blank"));
  CHECK_THROWS_WITH(
      refused("hellaswag",
              R"({"activity_label": "A", "ctx": "b", "endings": ["d"], "label": 0})")(),
      Catch::Contains("expected at least two"));
  CHECK_THROWS_WITH(read("lambada", folder.path / "none.jsonl"),
                    Catch::Contains("none.jsonl: not found; see datasets/questions.md"));
}
