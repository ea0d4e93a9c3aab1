// What recordings hold, from headers and transcripts.
#include "data/audio/speech_survey.h"

#include <catch2/catch.hpp>

#include "data/audio/mel_scale.h"
#include "data/survey.h"
#include "tests/data/config.h"

using namespace fovea;
using namespace fovea::data;
using namespace fovea::data::test;

TEST_CASE("survey: recordings have seconds and symbols, streams tokens and bytes", "[data]") {
  const Survey tones =
      survey(make_splits(component(R"({"type": "synthetic_speech", "units": "words",
                                "features": {"num_mels": 12}, "train_size": 12, "test_size": 4})"),
                         {.survey = true}),
             2);
  REQUIRE(tones.parts.size() == 2);
  REQUIRE(tones.parts[0].speech);
  const SpeechSurvey& train = *tones.parts[0].speech;
  CHECK(train.seconds.size() == 12);
  CHECK(train.symbols.size() == 12);
  CHECK(train.seconds.front() > 0.1);
  CHECK(train.seconds.front() <= train.seconds.back());
  CHECK(train.vocabulary == 6);
  CHECK(train.unknown == 0);
  CHECK(train.sample_rate == 8000);
  const schema::Value json = to_json(train);
  CHECK(json.at("symbols").at("most").as_int() == train.symbols.back());
  double total = 0;
  for (const double seconds : train.seconds) total += seconds;
  CHECK(json.at("seconds").at("total").as_double() == Approx(total));
  const std::string text = to_text(tones);
  CHECK_THAT(text, Catch::Contains("seconds     ") && Catch::Contains("symbols     ") &&
                       !Catch::Contains("foreground") && !Catch::Contains("classes"));
  CHECK(lines_of(SpeechSurvey{}).empty());
}

TEST_CASE("mel scale: corners of bands lie at one distance in mel", "[data]") {
  const LogMelPlan plan{.num_mels = 3, .f_min = 100, .f_max = 4000};
  CHECK(band_corner(plan, 0) == Approx(100));
  CHECK(band_corner(plan, 4) == Approx(4000));
  const double step = mel_of(band_corner(plan, 1)) - mel_of(band_corner(plan, 0));
  CHECK(mel_of(band_corner(plan, 3)) - mel_of(band_corner(plan, 2)) == Approx(step));
  CHECK(hertz_of(mel_of(1234)) == Approx(1234));
}
