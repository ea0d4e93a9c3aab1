// Inputs of one's own are prepared as the samples of a data set.
#include <catch2/catch.hpp>

#include "backend/devices.h"
#include "base/file.h"
#include "data/files/pictures/image_file.h"
#include "data/given/given_samples.h"
#include "data/loader.h"
#include "tests/data/config.h"
#include "tests/data/files.h"

using namespace fovea;
using namespace fovea::data;
using fovea::data::test::component;

TEST_CASE("given pictures: what the data set makes of the same files", "[data]") {
  const test::Folder folder;
  for (const char* name : {"cat/0", "cat/1", "dog/0"}) {
    Image picture{9, 7, 3, {}};
    for (int k = 0; k < 9 * 7 * 3; ++k)
      picture.pixels.push_back(static_cast<std::uint8_t>(k * name[4] % 256));
    for (const char* part : {"train", "test"}) {
      const auto file = folder.path / part / (std::string(name) + ".png");
      io::make_directories(file.parent_path());
      write_png(file, picture);
    }
  }
  const auto set = make_splits(component("image_folder", folder.path,
                                         "\"img_size\": 8, \"mean\": [0.5, 0.4, "
                                         "0.3], \"std\": [0.1, 0.2, 0.3]"));
  const ImageDataset& images = images_of(*set.test);
  std::vector<std::filesystem::path> files;
  for (std::int64_t i = 0; i < images.size(); ++i) files.emplace_back(images.name(i));
  files.insert(files.begin() + 1, folder.path / "none.png");
  Loader loader(given_pictures(images, files), {.batch_size = 2}, make_device("cpu"));
  loader.start(0);
  std::vector<std::int64_t> read;
  while (const auto batch = loader.next()) {
    const std::vector<float> values = test::floats(batch->at("image"));
    for (std::int64_t k = 0; k < batch->size(); ++k) {
      const std::int64_t i = batch->indices[static_cast<std::size_t>(k)];
      read.push_back(i);
      const std::vector<float> expected =
          test::image_of(test::prepared(images, i == 0 ? 0 : i - 1));
      const auto size = std::ssize(expected);
      CHECK(std::vector(values.begin() + k * size, values.begin() + (k + 1) * size) == expected);
      CHECK(batch->geometry[static_cast<std::size_t>(k)].original_size ==
            std::vector<std::int64_t>{9, 7});
    }
  }
  CHECK(read == std::vector<std::int64_t>{0, 2, 3});
  REQUIRE(loader.skipped().size() == 1);
  CHECK_THAT(loader.skipped().front(), Catch::Contains("none.png"));
}

TEST_CASE("given texts: the same tokens, in the order of the texts", "[data]") {
  const test::Folder folder;
  io::write_atomic(folder.path / "train.csv", test::text_table(43));
  io::write_atomic(folder.path / "test.csv", test::text_table(10));
  const auto texts = test::make_texts(component("text_csv", folder.path));
  std::vector<std::string> own;
  for (std::int64_t i = 0; i < texts.test->size(); ++i) own.push_back(texts.test->text(i));
  own.emplace_back("?!");
  const auto given = given_texts(*texts.test, own);
  for (std::int64_t i = 0; i < texts.test->size(); ++i) {
    const auto tokens = test::prepared(*given, i).at("tokens").values<std::int64_t>();
    CHECK(Ids(tokens.begin(), tokens.end()) == texts.test->encode(i));
  }
  Loader loader(given, {.batch_size = 4}, make_device("cpu"));
  loader.start(0);
  CHECK(loader.next()->indices == std::vector<std::int64_t>{0, 1, 2, 3});
}
