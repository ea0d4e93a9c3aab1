#include "data/streams/sentence_pieces.h"

#include <catch2/catch.hpp>

#include "base/base64.h"
#include "base/error.h"
#include "data/registry.h"
#include "data/streams/sentence_piece_file.h"
#include "schema/json/parse.h"
#include "tests/data/files.h"
#include "tests/support/paths.h"

using namespace fovea;
using namespace fovea::data;

namespace {

// Small models of the Python package sentencepiece, and what it makes of some texts.
std::filesystem::path fixture(const std::string& name) {
  return fovea::test::source_dir() + "/tests/fixtures/sentencepiece/" + name;
}

bool without_sentencepiece() {
  if (has_sentencepiece()) return false;
  WARN("built without SentencePiece: no model is read");
  return true;
}

}  // namespace

TEST_CASE("sentence pieces: the ids of the Python package", "[data][fixture]") {
  if (without_sentencepiece()) return;
  const auto file = fixture("expected.json");
  const schema::Value expected = schema::parse(io::read_text(file), file.string());
  for (const schema::Value::Member& model : expected.at("models").members()) {
    const auto loaded = load_sentence_pieces(fixture(model.key));
    const auto again = parse_stream_tokeniser(loaded->to_text(), "tokeniser.json");
    for (const schema::Value& one : model.value.items()) {
      const std::string& text = one.at("text").as_string();
      INFO(model.key << ": " << text);
      StreamTokens ids;
      for (const schema::Value& id : one.at("ids").items())
        ids.push_back(static_cast<std::int32_t>(id.as_int()));
      CHECK(loaded->encode(text) == ids);
      CHECK(again->encode(text) == ids);
      // The library leaves out the blank of the first piece.
      const std::string decoded = loaded->decode(ids);
      CHECK((decoded == one.at("decoded").as_string() ||
             decoded == " " + one.at("decoded").as_string()));
    }
    CHECK(again->to_value() == loaded->to_value());
  }
}

TEST_CASE("sentence pieces: a long text has the ids of its lines", "[data]") {
  if (without_sentencepiece()) return;
  const auto words = load_sentence_pieces(fixture("unigram.model"));
  const auto bytes = load_sentence_pieces(fixture("byte_pairs.model"));
  std::string text;
  StreamTokens of_lines;
  for (int i = 0; i < 400; ++i) {
    const std::string line = "The translation of message " + std::to_string(i * 37) + " is missing";
    text += (i == 0 ? "" : i % 7 == 0 ? " \n \n" : "\n") + line;
    const StreamTokens ids = words->encode(line);
    of_lines.insert(of_lines.end(), ids.begin(), ids.end());
  }
  CHECK(bytes->decode(bytes->encode(text)) == " " + text);
  // One line, cut at blanks.
  std::string line = text;
  for (char& c : line) c = c == '\n' ? ' ' : c;
  CHECK(bytes->decode(bytes->encode(line)) == " " + line);
  const StreamTokens whole = words->encode(line);
  CHECK(whole == of_lines);
}

TEST_CASE("sentence pieces: what tokens stand for", "[data]") {
  if (without_sentencepiece()) return;
  const auto bytes = load_sentence_pieces(fixture("byte_pairs.model"));
  CHECK(bytes->piece(0) == " \xe2\x81\x87 ");  // unknown
  CHECK(bytes->piece(1).empty());              // <s>
  CHECK(bytes->piece(3 + 10) == "\n");
  CHECK(bytes->piece(3 + 255) == "\xff");
  // Bytes of a character that has no piece come one by one.
  const StreamTokens ids = bytes->encode("\U0001F600");
  REQUIRE(ids.size() == 5);
  CHECK(bytes->decode(ids) == " \U0001F600");
  CHECK_THROWS_AS(bytes->piece(bytes->size()), ConfigError);
}

TEST_CASE("sentence pieces: damaged models are refused", "[data]") {
  if (without_sentencepiece()) return;
  const std::string model = io::read_text(fixture("unigram.model"));
  const auto refused = [](const std::string& bytes) {
    return [=] { sentence_piece_tokeniser(bytes, "x.model"); };
  };
  CHECK_THROWS_WITH(refused("no model")(), Catch::Contains("x.model: "));
  CHECK_THROWS_AS(refused("")(), FileError);
  CHECK_THROWS_AS(refused(model.substr(0, model.size() - 3))(), FileError);
  CHECK_THROWS_WITH(refused(std::string("\x0b\x00", 2))(),
                    Catch::Contains("a field of the unknown type 3"));
  CHECK_THROWS_WITH(refused(model + model)(),
                    "x.model: <unk> is already defined.; expected a model of SentencePiece");
  CHECK_THROWS_WITH(refused(model + std::string("\x0a\x04\x0a\x02\0a", 6))(),
                    Catch::Contains("piece \"\\x00a\" is empty, too long, or has a zero byte"));
  CHECK_THROWS_AS(load_sentence_pieces(fixture("none.model")), FileError);
  CHECK_THROWS_WITH(parse_stream_tokeniser(R"({"type": "sentencepiece", "model": "?"})", "t.json"),
                    "t.json: model: is not in base64");
  // A table of characters in which nothing points outside, and such ones.
  const auto with_table = [&](const std::string& table) {
    const std::string inner = std::string("\x12") + static_cast<char>(0x80 | (table.size() & 127)) +
                              static_cast<char>(table.size() >> 7) + table;
    return model + '\x1a' + static_cast<char>(0x80 | (inner.size() & 127)) +
           static_cast<char>(inner.size() >> 7) + inner;
  };
  const std::string head("\x00\x04\x00\x00", 4), units(1024, '\0'), text("\0", 1);
  CHECK_NOTHROW(read_sentence_piece_file(with_table(head + units + text), "x"));
  CHECK_THROWS_WITH(refused(with_table(head + units))(), Catch::Contains("cut short"));
  CHECK_THROWS_WITH(refused(with_table(head + units + "x"))(), Catch::Contains("cut short"));
  std::string far = units;
  far[4 * 7 + 2] = 1;  // the offset of unit 7: 64
  CHECK_NOTHROW(read_sentence_piece_file(with_table(head + far + text), "x"));
  far[4 * 7 + 2] = 4;  // 256
  CHECK_THROWS_WITH(refused(with_table(head + far + text))(),
                    Catch::Contains("unit 7 points outside"));
}

TEST_CASE("sentence pieces: the switch of a model can be turned", "[data]") {
  const std::string model = io::read_text(fixture("unigram.model"));
  const SentencePieceFile file = read_sentence_piece_file(model, "x");
  CHECK(file.dummy_prefix);
  CHECK(file.untested == model);
  const std::string without = with_dummy_prefix(file, false);
  CHECK_FALSE(read_sentence_piece_file(without, "x").dummy_prefix);
  CHECK(
      read_sentence_piece_file(with_dummy_prefix(read_sentence_piece_file(without, "x"), true), "x")
          .dummy_prefix);
}

TEST_CASE("sentence pieces: a stream of text by a model", "[data]") {
  if (without_sentencepiece()) return;
  const data::test::Folder folder;
  folder.write("train.txt", "a line of words\nand another one\n");
  folder.write("test.txt", "words of a line\n");
  schema::Value options = schema::Value::object({{"type", "text_stream"}, {"context", 4}});
  options.set("root", folder.path.string());
  options.set("tokeniser",
              schema::Value::object(
                  {{"type", "sentencepiece"}, {"model", fixture("byte_pairs.model").string()}}));
  const Splits splits = make_splits({"text_stream", options});
  CHECK(splits.train->shape().vocab_size == 520);
  const std::string kept = splits.train->weight_files().at("tokeniser.json");
  CHECK(kept.find("sentencepiece") != std::string::npos);
  splits.test->check_weight_files({{"tokeniser.json", kept}}, "run");
}
