#include "metrics/texts/transcripts.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <limits>

using namespace fovea::metrics;

namespace {

EditCounts words(const char* reference, const char* hypothesis) {
  return word_edits({{reference, hypothesis}});
}

}  // namespace

TEST_CASE("wer: the checks of mala 8", "[metrics]") {
  CHECK(words("a b c", "a c").error_rate() == Approx(100.0 / 3));
  CHECK(words("a b", "x a b y").error_rate() == Approx(100));
  const EditCounts made_up = words("", "a");
  CHECK(made_up.errors() == 1);
  CHECK(made_up.reference() == 0);
  CHECK(made_up.error_rate() == std::numeric_limits<double>::infinity());
  CHECK(words("", "").error_rate() == 0);
  CHECK(words("one two two", "one two").error_rate() == Approx(100.0 / 3));
  CHECK(words("a b c d", "b c d a").error_rate() == Approx(50));
}

TEST_CASE("wer: kinds of errors", "[metrics]") {
  const EditCounts counts = words("the cat sat on mats", "a cat on the mats now");
  CHECK(counts.errors() == 4);
  CHECK(counts.reference() == 5);
  CHECK(counts.correct + counts.substituted + counts.inserted == 6);
  const EditCounts other = words("a b", "b");
  CHECK(other.deleted == 1);
  CHECK(other.correct == 1);
}

TEST_CASE("wer: over a corpus errors and words are summed", "[metrics]") {
  const std::vector<Transcript> all = {{"a b c d", "a b c d"}, {"x", "y z"}, {"", "q"}};
  const auto measured = measure_transcripts(0.5, all);
  REQUIRE(measured.size() == 3);
  CHECK(measured[0].value == 0.5);
  CHECK(measured[1].info == kWer);
  CHECK(measured[1].value == Approx(100.0 * 3 / 5));
  CHECK(measured[1].per_sample[0] == 0);
  CHECK(measured[1].per_sample[1] == Approx(200));
  CHECK(std::isinf(measured[1].per_sample[2]));
  CHECK_FALSE(kWer.larger_is_better);
}

TEST_CASE("cer: characters are UTF-8, and spaces count once", "[metrics]") {
  CHECK(characters_of("  a \t b ") == std::vector<std::string>{"a", " ", "b"});
  CHECK(characters_of("z\xC3\xBC\xE2\x82\xAC") ==
        std::vector<std::string>{"z", "\xC3\xBC", "\xE2\x82\xAC"});
  CHECK(characters_of("\xC3").size() == 1);
  CHECK(character_edits({{"gr\xC3\xBCn", "grun"}}).error_rate() == Approx(25));
  CHECK(character_edits({{"ab cd", "abcd"}}).error_rate() == Approx(20));
  CHECK(words_of(" one\n two ") == std::vector<std::string>{"one", "two"});
}
