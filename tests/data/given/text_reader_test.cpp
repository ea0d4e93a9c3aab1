// Texts of one's own, read one by one.
#include <catch2/catch.hpp>

#include "base/error.h"
#include "base/file.h"
#include "data/given/text_reader.h"
#include "tests/data/files.h"

using namespace fovea;
using namespace fovea::data;

namespace {

std::vector<GivenText> read(const std::filesystem::path& file, const std::string& content,
                            const std::vector<std::string>& columns = {}) {
  io::write_atomic(file, content);
  TextReader reader(file, columns, TextEncoding::kAuto);
  std::vector<GivenText> all;
  while (auto text = reader.next()) all.push_back(std::move(*text));
  return all;
}

}  // namespace

TEST_CASE("text reader: lines of a file, but for blank ones", "[data]") {
  const test::Folder folder;
  const auto texts = read(folder.path / "a.txt", "\xef\xbb\xbfone\r\n\n  \ntwo, 2\nlast");
  REQUIRE(texts.size() == 3);
  CHECK(texts[0].text == "one");
  CHECK(texts[1].text == "two, 2");
  CHECK(texts[1].name == "a.txt:4");
  CHECK(texts[1].file == (folder.path / "a.txt").string());
  CHECK(texts[2].text == "last");
  CHECK(read(folder.path / "empty.txt", "").empty());
  // Longer than what is read at once.
  const std::string longer(3'000'000, 'x');
  const auto two = read(folder.path / "long.txt", longer + "\n" + longer + "y\n");
  REQUIRE(two.size() == 2);
  CHECK(two[0].text == longer);
  CHECK(two[1].text == longer + "y");
}

TEST_CASE("text reader: a column of a table", "[data]") {
  const test::Folder folder;
  const auto texts =
      read(folder.path / "a.csv",
           "id,text\n1,\"good, \"\"very\"\" good\nindeed\"\n2,bad\n3\n4,\"open\n", {});
  REQUIRE(texts.size() == 4);
  CHECK(texts[0].text == "good, \"very\" good\nindeed");
  CHECK(texts[0].name == "a.csv:2");
  CHECK(texts[1].text == "bad");
  CHECK(texts[1].name == "a.csv:4");
  CHECK_THAT(texts[2].problem, Catch::EndsWith("a.csv:5: has 1 fields; expected 2 as in the first "
                                               "row"));
  CHECK_THAT(texts[3].problem, Catch::Contains("a.csv:6: the quote that opens a field here"));
  const auto joined = read(folder.path / "b.tsv", "title\tbody\nA \"b\tc\n", {"title", "body"});
  REQUIRE(joined.size() == 1);
  CHECK(joined[0].text == "A \"b c");
  CHECK_THROWS_WITH(read(folder.path / "a.csv", "review,stars\ngood,5\n", {"reviews"}),
                    Catch::Contains("has no column \"reviews\"; did you mean \"review\"? (its "
                                    "columns: review, stars); choose with --column"));
  CHECK_THROWS_AS(read(folder.path / "a.csv", "", {}), FileError);
  // A quote in the middle of a field is text: the rows behind it are there.
  const auto inches = read(folder.path / "c.csv", "text\n5\" pipe\n\"7\"\"\"\nlast\n");
  REQUIRE(inches.size() == 3);
  CHECK(inches[0].text == "5\" pipe");
  CHECK(inches[1].text == "7\"");
  CHECK(inches[2].text == "last");
  CHECK_THROWS_AS(read(folder.path / "a.txt", "a\n", {"text"}), ConfigError);
}

TEST_CASE("text reader: members of JSON lines", "[data]") {
  const test::Folder folder;
  const auto texts = read(folder.path / "a.jsonl",
                          "{\"id\": 1, \"text\": \"a\\nb\"}\n{\"text\": 3}\n{broken\n"
                          "{\"text\": \"c\"}\n");
  REQUIRE(texts.size() == 4);
  CHECK(texts[0].text == "a\nb");
  CHECK_THAT(texts[1].problem, Catch::Contains("a.jsonl:2:10: ") && Catch::Contains("\"text\"") &&
                                   !Catch::Contains("line:"));
  CHECK_THAT(texts[2].problem, Catch::Contains("a.jsonl:3:2: ") && !Catch::Contains("a.jsonl:3: "));
  CHECK(texts[3].text == "c");
  CHECK(texts[3].name == "a.jsonl:4");
}

TEST_CASE("text reader: UTF-16 is refused", "[data]") {
  const test::Folder folder;
  CHECK_THROWS_WITH(read(folder.path / "a.txt", std::string("\xff\xfe"
                                                            "a\0",
                                                            4)),
                    Catch::Contains("is UTF-16; expected UTF-8"));
}
