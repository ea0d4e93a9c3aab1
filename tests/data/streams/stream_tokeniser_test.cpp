#include "data/streams/stream_tokeniser.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "data/streams/byte_pairs.h"
#include "tests/data/files.h"

using namespace fovea;
using namespace fovea::data;

namespace {

const std::string kAll = [] {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) bytes += static_cast<char>(byte);
  return bytes;
}();

// By its text and back.
std::shared_ptr<const StreamTokeniser> again(const StreamTokeniser& tokeniser) {
  return parse_stream_tokeniser(tokeniser.to_text(), "tokeniser.json");
}

constexpr const char* kRhyme =
    "low low low low low lower lower newest newest newest newest newest newest widest widest "
    "widest";

}  // namespace

TEST_CASE("stream tokenisers: bytes are their own ids", "[data]") {
  const auto bytes = byte_tokeniser();
  CHECK(bytes->size() == 256);
  CHECK(bytes->encode("A\xff") == StreamTokens{65, 255});
  CHECK(bytes->decode(bytes->encode(kAll)) == kAll);
  CHECK(again(*bytes)->size() == 256);
  CHECK_THROWS_WITH(bytes->piece(256), "tokeniser: token 256 is outside [0, 256)");
}

TEST_CASE("stream tokenisers: words and the ends of lines", "[data]") {
  const std::string text = " the cat \n sat on the mat\n";
  const auto words = word_tokeniser(stream_words(text, 1, 0));
  CHECK(words->size() == 2 + 6);
  // Frequent ones first, then in byte order.
  CHECK(words->encode("the <unk> cat\n") == StreamTokens{3, 1, 4, 2});
  CHECK(words->decode(words->encode("the dog sat\n")) == " the <unk> sat\n");
  CHECK(again(*words)->to_value() == words->to_value());
  CHECK(word_tokeniser(stream_words(text, 2, 0))->size() == 2 + 2);
  CHECK(word_tokeniser(stream_words(text, 1, 5))->size() == 5);
}

TEST_CASE("byte pairs: the pairs of Sennrich's example", "[data]") {
  const auto learned = train_byte_pairs(kRhyme, 256 + 6, 2);
  const std::vector<std::string> expected = {"es", "est", "lo", "low", " n", " ne"};
  for (std::size_t i = 0; i < 2; ++i)
    CHECK(learned->piece(256 + static_cast<std::int64_t>(i)) == expected[i]);
  CHECK(learned->size() == 262);
  CHECK(learned->decode(learned->encode(kRhyme)) == kRhyme);
  CHECK(learned->encode(kRhyme).size() < std::string(kRhyme).size());
}

TEST_CASE("byte pairs: any bytes come back", "[data]") {
  const auto learned = train_byte_pairs(kRhyme, 300, 2);
  for (const std::string& text : {kAll, std::string("Größe 漢字 😀\n\n  x"), std::string()})
    CHECK(learned->decode(learned->encode(text)) == text);
  CHECK(again(*learned)->to_value() == learned->to_value());
  CHECK(again(*learned)->encode(kRhyme) == learned->encode(kRhyme));
}

TEST_CASE("byte pairs: learning ends where no pair is frequent enough", "[data]") {
  CHECK(train_byte_pairs("abcd", 1000, 2)->size() == 256);
  CHECK(train_byte_pairs("abcd", 1000, 1)->size() == 256 + 3);
  CHECK(train_byte_pairs("", 1000, 1)->size() == 256);
  CHECK(train_byte_pairs("aaaa aaaa", 1000, 2)->encode("aaaaaa").size() == 2);
  CHECK_THROWS_WITH(train_byte_pairs("x", 200, 2), Catch::Contains("expected at least 256"));
}

TEST_CASE("byte pairs: files of GPT-2", "[data]") {
  const data::test::Folder folder;
  const auto learned = train_byte_pairs(kRhyme, 262, 2);
  const schema::Value value = learned->to_value();
  schema::Value ids = schema::Value::object();
  std::string merges = "#version: 0.2\n";
  const std::int64_t n = learned->size();
  for (std::int64_t id = 0; id < n; ++id)
    ids.set(value.at("vocab").at(static_cast<std::size_t>(id)).as_string(), n - 1 - id);
  for (const schema::Value& merge : value.at("merges").items()) merges += merge.as_string() + "\n";
  const auto vocab_file = folder.write("vocab.json", ids.dump());
  const auto loaded = load_gpt2_tokeniser(vocab_file, folder.write("merges.txt", merges));
  StreamTokens expected = learned->encode(kRhyme);
  for (std::int32_t& id : expected) id = static_cast<std::int32_t>(n) - 1 - id;
  CHECK(loaded->encode(kRhyme) == expected);

  const auto refused = [&](const std::string& text) {
    return [=, &folder] { load_gpt2_tokeniser(vocab_file, folder.write("bad.txt", text)); };
  };
  CHECK_THROWS_WITH(refused("lo\n")(), Catch::Contains("expected two tokens with a blank"));
  CHECK_THROWS_WITH(refused("q zz\n")(), Catch::Contains("\"zz\" is no token"));
  CHECK_THROWS_WITH(refused("q z\n")(), Catch::Contains("\"qz\" is no token"));
  CHECK_THROWS_WITH(refused("e s\ne s\n")(), Catch::Contains("the merge \"e s\" is there twice"));
  ids.set("es", n + 5);
  CHECK_THROWS_WITH(
      load_gpt2_tokeniser(folder.write("hole.json", ids.dump()), folder.path / "merges.txt"),
      Catch::Contains("expected each of 0 to"));
  CHECK_THROWS_AS(load_gpt2_tokeniser(folder.path / "none.json", folder.path / "merges.txt"),
                  FileError);
}

TEST_CASE("stream tokenisers: a damaged file is refused", "[data]") {
  const auto refused = [](const std::string& text) {
    return [=] { parse_stream_tokeniser(text, "t.json"); };
  };
  CHECK_THROWS_AS(refused("")(), FileError);
  CHECK_THROWS_AS(refused("[1]")(), FileError);
  CHECK_THROWS_WITH(refused(R"({"type": "wordpiece"})")(), Catch::Contains("expected byte, word"));
  CHECK_THROWS_AS(refused(R"({"type": "word", "words": [1]})")(), FileError);
  CHECK_THROWS_WITH(refused(R"({"type": "bpe", "vocab": ["a"], "merges": []})")(),
                    Catch::Contains("is no token; expected every byte"));
  CHECK_THROWS_WITH(refused("{\"type\": \"bpe\", \"vocab\": [\"\\u4e00\"], \"merges\": []}")(),
                    Catch::Contains("no letter of GPT-2's alphabet"));
}
