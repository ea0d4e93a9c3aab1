#include "schema/describe/contents.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "base/file.h"
#include "schema/describe/describe.h"
#include "schema/fields.h"
#include "schema/identity.h"
#include "schema/json/parse.h"
#include "tests/support/run_cli.h"

using namespace fovea;
using namespace fovea::schema;

namespace {

struct Part {
  std::string weights;
};
struct Run {
  std::string list;
  Component part{"one", {}};
  std::vector<Component> parts;
  Value files = Value::object();
};

Fields<Run> run_fields() {
  const auto part = Fields<Part>{}.add("weights", &Part::weights, "file to begin with").is_file();
  const auto choices = [part] {
    return std::vector<Choice>{{"one", "", std::make_shared<Fields<Part>>(part)},
                               {"two", "", nullptr}};
  };
  return Fields<Run>{}
      .add("list", &Run::list, "name of a list, whose ending is .txt")
      .names_files([](const Value& run) -> std::vector<std::filesystem::path> {
        const std::string& name = run.at("list").as_string();
        if (name.empty()) return {};
        return {name + ".txt", name + ".more.txt"};
      })
      .add_component("part", &Run::part, {"part", choices}, "it")
      .add_component("parts", &Run::parts, {"part", choices}, "more")
      .add_any("files", &Run::files, "what is in them")
      .is_content();
}

Value noted(const std::string& text) {
  Value run = run_fields().resolve(parse(text, "x"));
  note_contents(run_fields(), run);
  return run;
}

std::string identity_of(const Value& run, const std::vector<std::string>& by_name = {}) {
  return identity(run_fields(), run, {.by_name = by_name}).dump(0);
}

}  // namespace

TEST_CASE("contents: files count by what is in them, wherever a setting names them", "[schema]") {
  const fovea::test::TestFolder folder("schema-contents");
  const std::string a = folder.write("a.bin", "weights");
  const std::string b = folder.write("b.bin", "weights");
  const auto with = [](const std::string& file) {
    return noted(R"({"parts": ["two", {"type": "one", "weights": ")" + file + R"("}]})");
  };
  const Value run = with(a);
  REQUIRE(run.at("files").size() == 1);
  CHECK(run.at("files").find("parts.1.weights") != nullptr);
  CHECK(unknown_contents(run_fields(), run).empty());
  CHECK(identity_of(run) == identity_of(with(b)));
  CHECK(identity_of(run, {"parts.1.weights"}) != identity_of(with(b), {"parts.1.weights"}));
  folder.write("b.bin", "Weights");
  CHECK(identity_of(run) != identity_of(with(b)));
  CHECK(identity_of(with("")) != identity_of(run));
  // Where no file is named nothing is said of files, as in configurations before there were any.
  CHECK(with("").at("files").size() == 0);
  CHECK_THAT(identity_of(with("")), !Catch::Contains("files"));
}

TEST_CASE("contents: any byte of a long file counts", "[schema]") {
  const fovea::test::TestFolder folder("schema-contents-long");
  std::string content((std::size_t{5} << 19) + 3, 'x');
  const auto hash = [&] {
    const std::string file = folder.write("a.bin", content);
    return noted(R"({"part": {"type": "one", "weights": ")" + file + R"("}})")
        .at("files")
        .at("part.weights")
        .as_string();
  };
  std::set<std::string> seen = {hash()};
  for (const std::size_t at : {std::size_t{0}, std::size_t{1} << 20, content.size() - 1}) {
    content[at] = 'y';
    CHECK(seen.insert(hash()).second);
  }
  content.pop_back();
  CHECK(seen.insert(hash()).second);
}

TEST_CASE("contents: what was noted stays, and is compared with what is there", "[schema]") {
  const fovea::test::TestFolder folder("schema-contents-noted");
  const std::string a = folder.write("a.bin", "weights");
  const std::string text = R"({"part": {"type": "one", "weights": ")" + a + R"("})";
  Value run = noted(text + "}");
  CHECK_NOTHROW(check_contents(run_fields(), run));
  folder.write("a.bin", "others");
  const std::string before = identity_of(run);
  note_contents(run_fields(), run);
  CHECK(identity_of(run) == before);
  CHECK_THROWS_AS(check_contents(run_fields(), run), FileError);
  CHECK_THROWS_WITH(check_contents(run_fields(), run),
                    Catch::StartsWith("part.weights: " + a + " has the content") &&
                        Catch::Contains("set files=null"));
  const Value anew = noted(text + R"(, "files": null})");
  CHECK_NOTHROW(check_contents(run_fields(), anew));
  CHECK(identity_of(anew) != before);
  // Without the file its content is what was noted, or not known.
  io::remove_all(a);
  note_contents(run_fields(), run);
  CHECK(unknown_contents(run_fields(), run).empty());
  CHECK_NOTHROW(check_contents(run_fields(), run));
  CHECK(unknown_contents(run_fields(), noted(text + "}")) ==
        std::vector<std::string>{"part.weights"});
}

TEST_CASE("contents: of several files every one counts, and their order", "[schema]") {
  const fovea::test::TestFolder folder("schema-contents-list");
  folder.write("a.txt", "1");
  const std::string list = R"({"list": ")" + folder.path("a").string() + R"("})";
  CHECK(unknown_contents(run_fields(), noted(list)) == std::vector<std::string>{"list"});
  folder.write("a.more.txt", "2");
  const std::string before = identity_of(noted(list));
  CHECK(unknown_contents(run_fields(), noted(list)).empty());
  folder.write("a.txt", "2");
  folder.write("a.more.txt", "1");
  CHECK(identity_of(noted(list)) != before);
}

TEST_CASE("contents: the documentation says how files are compared", "[schema]") {
  CHECK_THAT(describe_text(Fields<Part>{}.add("weights", &Part::weights, "a file").is_file()),
             Catch::Contains("a file (runs are compared by what is in it, not by its name)"));
}
