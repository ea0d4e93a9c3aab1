// What a new data set takes: a source file like the upper part of this one, and a line.
#include <catch2/catch.hpp>

#include <memory>

#include "data/registry.h"
#include "tests/data/config.h"

namespace fovea::data {
namespace {

struct ToyOptions : ImageOptions {
  std::int64_t side = 2;
};

// Four pictures of two classes: all black, all white.
class Toy final : public Source {
 public:
  explicit Toy(const ToyOptions& o)
      : Source({.class_names = {"black", "white"},
                .channels = 1,
                .height = o.side,
                .width = o.side,
                .pixel_max = 255.0f,
                .mean = {0.5},
                .std = {0.5}}) {
    labels_ = {0, 1, 0, 1};
  }
  Image read(std::int64_t index) const override {
    const auto value = static_cast<std::uint8_t>(255 * (index % 2));
    return {info_.height, info_.width, 1,
            std::vector<std::uint8_t>(static_cast<std::size_t>(info_.height * info_.width), value)};
  }
  std::string name(std::int64_t index) const override { return "toy:" + std::to_string(index); }
  std::vector<std::filesystem::path> files() const override { return {}; }
};

std::unique_ptr<Source> open_toy(const Place& place, const ToyOptions& o) {
  if (place.split == Split::kVal) return nullptr;
  return std::make_unique<Toy>(o);
}

FOVEA_DATASET(toy, open_toy, "black and white squares", "datasets/digits/README.md",
              schema::Fields<ToyOptions>{}.add("side", &ToyOptions::side, schema::at_least(1),
                                               "height and width"))

}  // namespace
}  // namespace fovea::data

using namespace fovea;

TEST_CASE("data sets: a new one is a source file and a line", "[data]") {
  auto& datasets = data::datasets();
  datasets.add(data::dataset_entry_toy());
  const auto toy = [](std::int64_t side) {
    return schema::Component{"toy", schema::Value::object({{"side", side}})};
  };
  const auto train = data::make_dataset(toy(3), data::Split::kTrain);
  REQUIRE(train->size() == 4);
  const data::Sample white = train->get(1);
  CHECK(white.at("image").shape() == Shape{1, 3, 3});
  CHECK(data::test::image_of(white) == std::vector<float>(9, 1.0F));
  CHECK(white.at("label").item<std::int64_t>() == 1);
  CHECK_THROWS_WITH(data::make_dataset(toy(3), data::Split::kVal), Catch::Contains("val"));
  CHECK_THROWS_WITH(data::make_dataset(toy(0), data::Split::kTrain),
                    Catch::Contains("dataset.side"));
  // It divides, and is refused with the nearest name, as every data set.
  const schema::Component divided{
      "toy", schema::Value::object({{"split", schema::Value::object({{"val", 0.5}})}})};
  CHECK(data::make_splits(divided).val->size() == 2);
  CHECK_THROWS_WITH(data::make_splits(schema::Component{"toi", {}}), Catch::Contains("toy"));
}
