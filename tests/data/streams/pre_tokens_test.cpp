#include "data/streams/pre_tokens.h"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

using namespace fovea;

namespace {

std::vector<std::string> pre_tokens(std::string_view text) {
  std::vector<std::string> pieces;
  data::for_pre_tokens(text, [&](std::string_view piece) { pieces.emplace_back(piece); });
  return pieces;
}

using Pieces = std::vector<std::string>;

}  // namespace

TEST_CASE("pre-tokens: words, numbers and signs take the blank before them", "[data]") {
  CHECK(pre_tokens("Hello world, 42 times!") ==
        Pieces{"Hello", " world", ",", " 42", " times", "!"});
  CHECK(pre_tokens("a1b ...x") == Pieces{"a", "1", "b", " ...", "x"});
  CHECK(pre_tokens("").empty());
}

TEST_CASE("pre-tokens: contractions in small letters", "[data]") {
  CHECK(pre_tokens("it's we've I'LL 'dog") ==
        Pieces{"it", "'s", " we", "'ve", " I", "'", "LL", " '", "dog"});
  CHECK(pre_tokens("'dog") == Pieces{"'d", "og"});
  CHECK(pre_tokens("!'s") == Pieces{"!'", "s"});
}

TEST_CASE("pre-tokens: of white space the last belongs to what follows", "[data]") {
  CHECK(pre_tokens("a   b") == Pieces{"a", "  ", " b"});
  CHECK(pre_tokens("a  \n b") == Pieces{"a", "  \n", " b"});
  CHECK(pre_tokens("a\n\nb") == Pieces{"a", "\n", "\n", "b"});
  CHECK(pre_tokens("a \t\n") == Pieces{"a", " \t\n"});
  CHECK(pre_tokens("a\u00a0b\u3000\u3000c") == Pieces{"a", "\u00a0", "b", "\u3000", "\u3000", "c"});
}

TEST_CASE("pre-tokens: letters and numbers of all scripts", "[data]") {
  CHECK(pre_tokens("Größe привет 漢字２ ٣٤ ²x") ==
        Pieces{"Größe", " привет", " 漢字", "２", " ٣٤", " ²", "x"});
  // Marks are no letters; emoji are signs.
  CHECK(pre_tokens("e\u0301t 😀😀") == Pieces{"e", "\u0301", "t", " 😀😀"});
}

TEST_CASE("pre-tokens: bytes that are no UTF-8 are signs", "[data]") {
  CHECK(pre_tokens("a\xff\xfe b") == Pieces{"a", "\xff\xfe", " b"});
  CHECK(pre_tokens("\xc3") == Pieces{"\xc3"});                        // cut short
  CHECK(pre_tokens("\xed\xa0\x80z") == Pieces{"\xed\xa0\x80", "z"});  // half of a pair
  CHECK(pre_tokens("\xc0\x81y") == Pieces{"\xc0\x81", "y"});          // longer than need be
}
