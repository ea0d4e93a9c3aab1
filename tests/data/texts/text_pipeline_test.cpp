// Words, vocabularies, encodings and noise, against golden values where there are some.
#include <catch2/catch.hpp>

#include "base/error.h"
#include "base/file.h"
#include "data/files/csv.h"
#include "data/files/text_decode.h"
#include "data/texts/text_noise.h"
#include "data/texts/tokeniser.h"
#include "data/texts/vocabulary.h"
#include "schema/json/parse.h"
#include "schema/json/utf8.h"
#include "tests/support/paths.h"

using namespace fovea;
using namespace fovea::data;
using schema::Value;

namespace {

Value golden() {
  const auto file =
      std::filesystem::path(fovea::test::source_dir()) / "tests/fixtures/dgsa/text_pipeline.json";
  return schema::parse(io::read_text(file), file.string());
}

Tokeniser tokeniser_of(const std::string& name) {
  if (name == "whitespace") return Tokeniser::kWhitespace;
  if (name == "word") return Tokeniser::kWord;
  return name == "wordpunct" ? Tokeniser::kWordpunct : Tokeniser::kBasicEnglish;
}

std::vector<std::string> strings(const Value& list) {
  std::vector<std::string> all;
  for (const Value& item : list.items()) all.push_back(item.as_string());
  return all;
}

Vocabulary golden_vocabulary(const Value& all, std::size_t index) {
  const Value& v = all.at("vocab").at(index);
  WordCounts counts;
  for (const Value& document : all.at("documents").items()) {
    const auto words = tokenise(tokeniser_of(v.at("tokeniser").as_string()), document.as_string());
    for (const std::string& word : words) ++counts[word];
  }
  return Vocabulary::build(counts, v.at("min_freq").as_int(), v.at("max_vocab").as_int());
}

}  // namespace

TEST_CASE("tokenisers: the golden texts", "[data][fixture]") {
  const Value all = golden();
  for (const Value& item : all.at("tokenise").items()) {
    for (const char* name : {"basic_english", "whitespace", "word", "wordpunct"}) {
      INFO(name << ": " << item.at("text").as_string());
      CHECK(tokenise(tokeniser_of(name), item.at("text").as_string()) == strings(item.at(name)));
    }
  }
}

TEST_CASE("vocabulary: the golden ones, and golden encodings", "[data][fixture]") {
  const Value all = golden();
  for (std::size_t i = 0; i < all.at("vocab").size(); ++i) {
    const Vocabulary vocabulary = golden_vocabulary(all, i);
    const auto expected = strings(all.at("vocab").at(i).at("itos"));
    REQUIRE(vocabulary.size() == std::ssize(expected));
    for (std::int64_t id = 0; id < vocabulary.size(); ++id)
      CHECK(vocabulary.token(id) == expected[static_cast<std::size_t>(id)]);
  }
  const Vocabulary vocabulary = golden_vocabulary(all, 1);
  for (const Value& item : all.at("encode").items()) {
    Ids ids;
    for (const std::string& word : tokenise(Tokeniser::kBasicEnglish, item.at("text").as_string()))
      ids.push_back(vocabulary.id(word));
    if (ids.empty()) ids.push_back(Vocabulary::kUnknown);
    const auto most = static_cast<std::size_t>(item.at("max_len").as_int());
    ids.resize(std::min(ids.size(), most));
    Value list = Value::array(ids);
    CHECK(list == item.at("ids"));
  }
}

TEST_CASE("vocabulary: a file of it, and what is wrong with others", "[data]") {
  const Vocabulary words = Vocabulary::build({{"b", 3}, {"a", 3}, {"c", 1}, {"<pad>", 9}}, 2, 0);
  CHECK(words.to_text() == "<pad>\n<unk>\na\nb\n");
  CHECK(Vocabulary::parse(words.to_text(), "v") == words);
  CHECK(words.id("b") == 3);
  CHECK(words.id("<pad>") == Vocabulary::kUnknown);  // a text cannot mask itself
  CHECK(Vocabulary::build({}, 1, 1).size() == 2);
  const auto refuses = [](const std::string& text, const std::string& message) {
    CHECK_THROWS_WITH(Vocabulary::parse(text, "v.txt"), Catch::Contains(message));
    CHECK_THROWS_AS(Vocabulary::parse(text, "v.txt"), FileError);
  };
  refuses("", "v.txt:1: expected <pad>");
  refuses("<pad>\na\n", "v.txt:2: expected <unk>");
  refuses("<pad>\n<unk>\na\nb\na\n", "v.txt:5: \"a\" stands on line 3 already");
  refuses("<pad>\n<unk>\n\n", "v.txt:3: is empty");
  refuses("<pad>\n<unk>\nwor", "v.txt:3: has no line break at its end");
}

TEST_CASE("encodings: any bytes become UTF-8", "[data]") {
  CHECK(to_utf8("caf\xE9 \x85", TextEncoding::kAuto) == "café …");
  CHECK(to_utf8("caf\xC3\xA9", TextEncoding::kAuto) == "café");
  CHECK(to_utf8("\xEF\xBB\xBF"
                "a",
                TextEncoding::kAuto) == "a");
  CHECK(to_utf8("caf\xE9", TextEncoding::kUtf8) == "caf\xEF\xBF\xBD");
  CHECK(to_utf8("\xC3\xA9", TextEncoding::kLatin1) == "Ã©");
  CHECK(to_utf8(std::string("\xFF\xFE"
                            "a\0\xE9\0\x3D\xD8\x00\xDE",
                            10),
                TextEncoding::kAuto) == "aé😀");
  CHECK(to_utf8(std::string("\xFE\xFF\0a\xD8\x3D\0", 7), TextEncoding::kAuto) ==
        "a\xEF\xBF\xBD\xEF\xBF\xBD");
  const RandomStream random(3);
  for (std::uint64_t i = 0; i < 200; ++i) {
    std::string bytes;
    for (std::int64_t k = 0; k < random.fork(i).below(40, 0); ++k)
      bytes += static_cast<char>(random.fork(i).below(256, static_cast<std::uint64_t>(k) + 1));
    for (const TextEncoding e :
         {TextEncoding::kAuto, TextEncoding::kUtf8, TextEncoding::kLatin1, TextEncoding::kUtf16}) {
      const std::string text = to_utf8(bytes, e);
      CHECK(schema::is_utf8(text));
      for (const Tokeniser t : {Tokeniser::kBasicEnglish, Tokeniser::kWord, Tokeniser::kWordpunct})
        CHECK_NOTHROW(tokenise(t, bytes));
    }
  }
}

TEST_CASE("csv: quotes, line breaks in fields, and what is broken", "[data]") {
  const auto rows = parse_csv("a,\"b, \"\"c\"\"\nd\",\r\n\n\"\",x\\\"y,z", ',', true, "t.csv");
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].fields == std::vector<std::string>{"a", "b, \"c\"\nd", ""});
  CHECK(rows[1].fields == std::vector<std::string>{"", "x\\\"y", "z"});
  CHECK(rows[1].line == 4);
  CHECK(parse_csv("\"a\tb\n", '\t', false, "t.tsv")[0].fields ==
        std::vector<std::string>{"\"a", "b"});
  CHECK(parse_csv("", ',', true, "t.csv").empty());
  CHECK_THROWS_WITH(parse_csv("a,b\nc,\"d\ne,f\n", ',', true, "t.csv"),
                    Catch::Contains("t.csv:2: the quote that opens a field here is never closed"));
  CHECK_THROWS_WITH(parse_csv("a\n\"b\"c,d\n", ',', true, "t.csv"),
                    Catch::Contains("t.csv:2: text behind a closing quote"));
}

TEST_CASE("text noise: levels, limits and the stream", "[data]") {
  const Ids ids = {5, 6, 7, 8, 9, 10, 11, 12};
  const RandomStream stream(9);
  for (const TextCorruption type : all_text_corruptions()) {
    INFO(name_of(type));
    CHECK(text_corruption_from_name(name_of(type)) == type);
    const Ids once = corrupt(ids, {type, 0.5}, stream, 40);
    CHECK(once == corrupt(ids, {type, 0.5}, stream, 40));
    CHECK(once != ids);
    for (const std::int64_t id : once) CHECK((id >= 1 && id < 40));
    CHECK_FALSE(corrupt(ids, {type, 0.999}, stream, 40).empty());
    CHECK(corrupt({}, {type, 0.5}, stream, 40).empty());
    CHECK_THROWS_WITH(corrupt(ids, {type, 1.0}, stream, 40), Catch::Contains("outside (0, 1)"));
  }
  // Nothing to draw from.
  CHECK(corrupt(ids, {TextCorruption::kReplace, 0.9}, stream, 2) == ids);
  CHECK(corrupt(ids, {TextCorruption::kInsert, 0.9}, stream, 2) == ids);
  CHECK_THROWS_WITH(text_corruption_from_name("insrt"), Catch::Contains("insert"));
  int changed = 0;
  const Noise noise{.types = {"delete"}, .levels = {0.9}};
  for (std::uint64_t i = 0; i < 200; ++i) {
    const RandomStream own = stream.fork(i);
    const auto drawn = draw_noise(noise, own);
    changed += drawn && corrupt(ids, *drawn, own, 40) != ids ? 1 : 0;
  }
  CHECK(changed > 70);
  CHECK(changed < 130);
}

TEST_CASE("csv and vocabulary: damaged files throw FileError or are read", "[data]") {
  const std::string table = "\"1\",\"a \"\"b\"\"\",\"c\nd\"\r\n2,x,y\n\"3\",\"\",z";
  const std::string words = "<pad>\n<unk>\nthe\na\n";
  const RandomStream random(17);
  int broken = 0;
  for (std::uint64_t i = 0; i < 400; ++i) {
    const auto damaged = [&](std::string text) {
      text.resize(static_cast<std::size_t>(random.fork(i).below(std::ssize(text) + 1, 0)));
      for (std::uint64_t k = 1; k < 3 && !text.empty(); ++k) {
        const auto at = static_cast<std::size_t>(random.fork(i).below(std::ssize(text), k));
        text[at] = "\",\n\r\0a\xFF"[random.fork(i).below(7, k + 9)];
      }
      return text;
    };
    try {
      parse_csv(damaged(table), ',', true, "t");
      Vocabulary::parse(damaged(words), "v");
    } catch (const FileError&) {
      ++broken;
    }
  }
  CHECK(broken > 100);
}
