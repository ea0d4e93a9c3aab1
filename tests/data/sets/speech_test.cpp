// Data sets of recordings: tables, lists, LibriSpeech's folders, names of spoken digits.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "data/audio/resample.h"
#include "data/audio/speech_dataset.h"
#include "tests/data/config.h"
#include "tests/data/files.h"
#include "tests/data/sounds.h"

using namespace fovea;
using namespace fovea::data;
using namespace fovea::data::test;

namespace {

const char* const kTones =
    R"({"type": "synthetic_speech", "units": "words", "features": {"num_mels": 12},
        "train_size": 12, "test_size": 4})";

std::string short_wav(std::uint32_t rate = 8000, int samples = 1600) {
  return wav_bytes(tone_samples(700, rate, samples), rate);
}

const SpeechDataset& speech(const std::shared_ptr<const Dataset>& dataset) {
  const SpeechDataset* found = find_speech(*dataset);
  REQUIRE(found != nullptr);
  return *found;
}

std::vector<std::string> transcripts(const std::shared_ptr<const Dataset>& dataset) {
  std::vector<std::string> all;
  for (std::int64_t i = 0; i < dataset->size(); ++i) all.push_back(speech(dataset).transcript(i));
  return all;
}

bool no_sndfile() { return sndfile_version().empty(); }

}  // namespace

TEST_CASE("speller: characters, words and case", "[data]") {
  const Speller characters(SpeechUnits::kCharacters, LetterCase::kLower);
  CHECK(characters.normalised("  Guten \t TAG\n") == "guten tag");
  CHECK(characters.units_of("a b\xC3\xBC") == std::vector<std::string>{"a", " ", "b", "\xC3\xBC"});
  CHECK(characters.text_of({"a", " ", "b"}) == "a b");
  const Speller words(SpeechUnits::kWords, LetterCase::kKeep);
  CHECK(words.units_of(words.normalised(" one  Two")) == std::vector<std::string>{"one", "Two"});
  CHECK(words.text_of({"one", "Two"}) == "one Two");
  CHECK(words.units_of("").empty());
}

TEST_CASE("synthetic_speech: samples are features, their length and symbols", "[data]") {
  const Splits splits = make_splits(component(kTones));
  const SpeechDataset& train = speech(splits.train);
  CHECK(train.size() == 12);
  const SampleShape shape = train.shape();
  CHECK(shape.classes == 6);  // blank, unknown, four words
  CHECK(shape.mels == 12);
  for (std::int64_t i = 0; i < train.size(); ++i) {
    const Sample sample = prepared(train, i);
    const Tensor& features = sample.at("features");
    CHECK(features.size(1) == 12);
    CHECK(features.size(0) == train.length(i));
    CHECK(features.size(0) <= shape.frames);
    CHECK(sample.at("num_frames").item<std::int64_t>() == features.size(0));
    const auto symbols = sample.at("symbols").values<std::int64_t>();
    CHECK(train.text_of({symbols.begin(), symbols.end()}) == train.transcript(i));
    for (const float value : floats(features)) CHECK(std::isfinite(value));
  }
  CHECK(speech(splits.test).vocabulary() == train.vocabulary());
  // The same seed gives the same recordings.
  const Splits again = make_splits(component(kTones));
  CHECK(floats(prepared(*again.train, 3).at("features")) ==
        floats(prepared(train, 3).at("features")));
}

TEST_CASE("recordings: noise and augmentation are functions of seed and epoch", "[data]") {
  const auto with = [](const std::string& more) {
    schema::Component tones = component(kTones);
    const schema::Value extra = schema::parse("{" + more + "}", "test.json");
    for (const char* key : {"augment", "noise", "normalise"}) {
      if (const schema::Value* value = extra.find(key)) tones.options.set(key, *value);
    }
    return make_dataset(tones, Split::kTrain);
  };
  const auto augmented = with(R"("augment": ["spec_augment"])");
  const Draw first{.seed = 1, .epoch = 1, .augment = true};
  const Draw second{.seed = 1, .epoch = 2, .augment = true};
  const auto features = [&](const auto& data, const Draw& draw) {
    return floats(prepared(*data, 0, draw).at("features"));
  };
  CHECK(features(augmented, first) == features(augmented, first));
  CHECK(features(augmented, first) != features(augmented, second));
  CHECK(features(augmented, {}) != features(augmented, first));
  const auto noisy = with("");
  const Draw white{.seed = 1, .corruption = NoiseLevel{"white", 0.4}};
  CHECK(features(noisy, white) == features(noisy, white));
  CHECK(features(noisy, white) != features(noisy, {}));
  CHECK_THROWS_AS(features(noisy, Draw{.corruption = NoiseLevel{"pink", 0.4}}), ConfigError);
}

TEST_CASE("recordings: speeds change the length of what is trained on, and nothing else",
          "[data]") {
  const auto at = [](schema::Value speeds) {
    schema::Component tones = component(kTones);
    tones.options.set("speeds", std::move(speeds));
    return make_dataset(tones, Split::kTrain);
  };
  const auto frames = [](const auto& data, const Draw& draw) {
    return static_cast<double>(prepared(*data, 0, draw).at("features").size(0));
  };
  const auto plain = at(schema::parse("[]", "test.json"));
  const auto slow = at(schema::parse("[0.5]", "test.json"));
  const auto any = at(schema::parse("[0.5, 1, 2]", "test.json"));
  const Draw training{.seed = 1, .epoch = 1, .augment = true};
  // Frames overlap, so that the ends of a recording count as one frame or two.
  CHECK(std::abs(frames(slow, training) - 2 * frames(plain, training)) <= 3);
  CHECK(floats(prepared(*slow, 0, {}).at("features")) ==
        floats(prepared(*plain, 0, {}).at("features")));
  std::set<double> lengths;
  for (std::uint64_t epoch = 1; epoch <= 20; ++epoch) {
    Draw draw = training;
    draw.epoch = static_cast<decltype(draw.epoch)>(epoch);
    lengths.insert(frames(any, draw));
    CHECK(frames(any, draw) == frames(any, draw));
  }
  CHECK(lengths.size() == 3);
}

TEST_CASE("recordings: a joined recording is as long as both and says what both say", "[data]") {
  const auto at = [](double join_prob) {
    schema::Component tones = component(kTones);
    tones.options.set("join_prob", join_prob);
    return make_dataset(tones, Split::kTrain);
  };
  const auto symbols = [](const auto& data, const Draw& draw) {
    const Tensor ids = prepared(*data, 0, draw).at("symbols");
    return std::vector<std::int64_t>(ids.data<std::int64_t>(),
                                     ids.data<std::int64_t>() + ids.size(0));
  };
  const auto alone = at(0), joined = at(1), either = at(0.5);
  const std::vector<std::int64_t> own = symbols(alone, {});
  const std::int64_t frames = prepared(*alone, 0, {}).at("features").size(0);
  const Draw training{.seed = 1, .epoch = 1, .augment = true};
  const std::vector<std::int64_t> both = symbols(joined, training);
  REQUIRE(both.size() > own.size());
  CHECK(std::equal(own.begin(), own.end(), both.begin()));
  CHECK(prepared(*joined, 0, training).at("features").size(0) > frames);
  CHECK(symbols(joined, {}) == own);  // without augmentation it is what it is
  std::set<std::vector<std::int64_t>> said;
  for (int epoch = 1; epoch <= 20; ++epoch) {
    Draw draw = training;
    draw.epoch = static_cast<decltype(draw.epoch)>(epoch);
    said.insert(symbols(either, draw));
  }
  CHECK(said.contains(own));
  CHECK(said.size() > 2);
}

TEST_CASE("recordings: batches are padded, and know where each ends", "[data]") {
  const auto data = make_dataset(component(kTones), Split::kTrain);
  Collator collator(data->fields(), 3, Device(DeviceType::kCpu, heap_memory(), nullptr));
  for (std::int64_t i = 0; i < 3; ++i) {
    Sample sample;
    collator.next(sample);
    data->prepare(i, {}, sample);
    collator.add(sample);
  }
  const Batch batch = collator.finish();
  std::int64_t longest = 0;
  for (std::int64_t i = 0; i < 3; ++i) longest = std::max(longest, data->length(i));
  CHECK(batch.at("features").shape() == Shape{3, longest, 12});
  CHECK(batch.lengths.at("features")[1] == data->length(1));
  CHECK(batch.at("num_frames").shape() == Shape{3});
}

TEST_CASE("speech: a table of which lists choose", "[data]") {
  if (no_sndfile()) return;
  const Folder folder;
  for (const char* name : {"a", "b", "c", "d"})
    folder.write(std::string("wavs/") + name + ".wav", short_wav());
  folder.write("transcripts.tsv", "a.wav\tYES NO\nb.wav\tNO\nc.wav\tYES  yes\nd.wav\t\n");
  folder.write("splits/train.txt", "a.wav\nb.wav\nd.wav\n");
  folder.write("splits/test.txt", "c.wav\n");
  const auto yesno = [&](const std::string& more = "") {
    return component("speech", folder.path,
                     R"("audio": "wavs", "units": "words", "letter_case": "upper")" + more);
  };
  const Splits splits = make_splits(yesno());
  CHECK(transcripts(splits.train) == std::vector<std::string>{"YES NO", "NO", ""});
  CHECK(transcripts(splits.test) == std::vector<std::string>{"YES YES"});
  CHECK(splits.val == nullptr);
  CHECK(prepared(*splits.train, 2).at("symbols").numel() == 0);
  CHECK(speech(splits.train).log_mel().plan().sample_rate == 8000);
  folder.write("splits/val.txt", "nowhere.wav\n");
  CHECK_THROWS_WITH(make_splits(yesno()), Catch::Contains("val.txt:1: nowhere.wav is not in"));
}

TEST_CASE("speech: a table for each part, with a header, and recordings at another rate",
          "[data]") {
  if (no_sndfile()) return;
  const Folder folder;
  folder.write("a.wav", short_wav(16000, 3200));
  folder.write("b.wav", short_wav(8000, 1600));
  folder.write("c.wav", short_wav(8000, 40));
  folder.write("train.csv", "path,client,sentence\na,x,\"Hello, you\"\nb,y,hello\n");
  folder.write("test.csv", "path,client,sentence\nc,x,hey\n");
  const schema::Component table =
      component("speech", folder.path,
                R"("ending": ".wav", "header": true, "file_column": "path",
                   "text_column": "sentence", "sample_rate": 8000)");
  const Splits splits = make_splits(table);
  CHECK(transcripts(splits.train) == std::vector<std::string>{"Hello, you", "hello"});
  // The same tone, at either rate.
  CHECK(splits.train->length(0) == splits.train->length(1));
  // Less than a window: one frame.
  CHECK(splits.test->length(0) == 1);
  CHECK(prepared(*splits.test, 0).at("features").size(0) == 1);
  // "y" is a symbol of train, "z" would not be.
  CHECK(speech(splits.test).symbols_of("z") == std::vector<std::int64_t>{Vocabulary::kUnknown});
  const Batch batch = speech(splits.test).batch_of_file(folder.path / "a.wav");
  CHECK(batch.at("features").shape() == Shape{1, splits.train->length(0), 80});
  CHECK_THROWS_WITH(
      make_splits(component("speech", folder.path, R"("header": true, "file_column": "pth")")),
      Catch::Contains("has no column \"pth\"; did you mean \"path\"?"));
}

TEST_CASE("speech: damage is an error with the file's name, or left out", "[data]") {
  if (no_sndfile()) return;
  const Folder folder;
  folder.write("a.wav", short_wav());
  folder.write("b.wav", "nothing");
  folder.write("train.tsv", "a.wav\tone\nb.wav\ttwo\n");
  folder.write("test.tsv", "a.wav\tone\n");
  CHECK_THROWS_WITH(make_splits(component("speech", folder.path)), Catch::Contains("b.wav"));
  const Splits splits = make_splits(component("speech", folder.path, R"("on_bad_sample": "skip")"));
  CHECK(splits.train->size() == 1);
  CHECK(splits.train->left_out().size() == 1);
  folder.write("test.tsv", "a.wav\tone\na.wav\ttwo\n");
  CHECK_THROWS_WITH(make_splits(component("speech", folder.path, R"("on_bad_sample": "skip")")),
                    Catch::Contains("test.tsv:2: a.wav is also in line 1"));
  CHECK_THROWS_WITH(make_splits(component("speech", folder.path / "no")),
                    Catch::Contains("not found; see datasets/speech.md"));
}

TEST_CASE("recordings: those of train that are too long are left out with a note", "[data]") {
  if (no_sndfile()) return;
  const Folder folder;
  folder.write("a.wav", short_wav(8000, 1600));
  folder.write("b.wav", short_wav(8000, 16000));
  folder.write("train.tsv", "a.wav\tone\nb.wav\ttwo\n");
  folder.write("test.tsv", "b.wav\ttwo\n");
  const Splits splits = make_splits(component("speech", folder.path, R"("max_seconds": 1)"));
  CHECK(splits.train->size() == 1);
  CHECK(splits.test->size() == 1);
  REQUIRE(splits.train->notes().size() == 1);
  CHECK_THAT(splits.train->notes()[0], Catch::Contains("1 of 2 recordings of train are left out"));
}

TEST_CASE("librispeech: chapters of its folders", "[data]") {
  if (no_sndfile()) return;
  const Folder folder;
  // (libsndfile goes by the content, not by the name.)
  for (const char* name : {"train-clean-100/19/198/19-198-0000",
                           "train-clean-100/19/198/19-198-0001", "dev-clean/84/1/84-1-0000"})
    folder.write(std::string(name) + ".flac", short_wav(16000));
  folder.write("train-clean-100/19/198/19-198.trans.txt",
               "19-198-0000 THE END\n19-198-0001 OF IT\n");
  folder.write("dev-clean/84/1/84-1.trans.txt", "84-1-0000 THE\n");
  const auto libri = [&](const std::string& more) {
    return component("librispeech", folder.path,
                     R"("train_parts": ["train-clean-100"], "test_parts": [])" + more);
  };
  const Splits splits = make_splits(libri(""));
  CHECK(transcripts(splits.train) == std::vector<std::string>{"THE END", "OF IT"});
  CHECK(transcripts(splits.val) == std::vector<std::string>{"THE"});
  CHECK(splits.test == nullptr);
  CHECK(speech(splits.train).log_mel().plan().sample_rate == 16000);
  CHECK_THROWS_WITH(make_splits(libri(R"(, "val_parts": ["dev-other"])")),
                    Catch::Contains("dev-other: not found; see datasets/librispeech.md"));
}

TEST_CASE("fsdd: digits by name, parts by index or by speaker", "[data]") {
  if (no_sndfile()) return;
  const Folder folder;
  for (const char* name : {"0_ann_0", "0_ann_7", "7_bob_4", "7_bob_5"})
    folder.write(std::string("recordings/") + name + ".wav", short_wav());
  const Splits splits = make_splits(component("fsdd", folder.path));
  CHECK(transcripts(splits.train) == std::vector<std::string>{"zero", "seven"});
  CHECK(transcripts(splits.test) == std::vector<std::string>{"zero", "seven"});
  const Splits held_out =
      make_splits(component("fsdd", folder.path, R"("test_speakers": ["bob"])"));
  CHECK(transcripts(held_out.train) == std::vector<std::string>{"zero", "zero"});
  CHECK(transcripts(held_out.test) == std::vector<std::string>{"seven", "seven"});
  CHECK_THROWS_WITH(make_splits(component("fsdd", folder.path, R"("test_speakers": ["eve"])")),
                    Catch::Contains("no recording of \"eve\""));
  folder.write("recordings/seven.wav", short_wav());
  CHECK_THROWS_WITH(make_splits(component("fsdd", folder.path)),
                    Catch::Contains("expected <digit>_<speaker>_<index>.wav"));
}
