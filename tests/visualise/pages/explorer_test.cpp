#include "visualise/pages/explorer.h"

#include <bit>
#include <catch2/catch.hpp>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "tests/visualise/explorer_samples.h"
#include "tests/visualise/packed_page.h"
#include "visualise/pages/explorer_maps.h"
#include "visualise/pages/page_parts.h"

using namespace fovea;
using namespace fovea::visualise;

namespace {

// What the page's script makes of packed maps, map after map.
std::vector<double> unpacked(const std::string& base64, std::size_t maps, std::size_t n) {
  const std::string bytes = test::unpacked_bytes(base64, maps * n * (4 + n));
  std::vector<double> weights;
  for (std::size_t row = 0; row < maps * n; ++row) {
    float scale = 0;
    std::memcpy(&scale, &bytes[4 * row], 4);
    for (std::size_t i = 0; i < n; ++i) {
      const double q = static_cast<signed char>(bytes[4 * maps * n + row * n + i]) / 127.0;
      weights.push_back(static_cast<double>(scale) * (q < 0 ? -q * q : q * q));
    }
  }
  return weights;
}

}  // namespace

TEST_CASE("explorer: packed weights come back within the documented error", "[visualise]") {
  const std::int64_t n = 37, heads = 3;
  ExplorerModel model = test::pattern_model("m", 2, heads, n, true);
  for (std::int64_t i = 0; i < n; ++i) model.layers[0].values[static_cast<std::size_t>(i)] = 0;
  model.layers[1].values[5] = -1e-30;
  std::vector<double> exact;
  for (const auto& layer : model.layers) {
    exact.insert(exact.end(), layer.values.begin(), layer.values.end());
  }
  exact.insert(exact.end(), model.rollout.values.begin(), model.rollout.values.end());
  const auto back = unpacked(pack_maps(model.layers, model.rollout), 7, 37);
  REQUIRE(back.size() == exact.size());
  double worst = 0;
  for (std::size_t row = 0; row < exact.size(); row += 37) {
    double largest = 0;
    for (std::size_t i = row; i < row + 37; ++i) largest = std::max(largest, std::abs(exact[i]));
    for (std::size_t i = row; i < row + 37; ++i) {
      if (largest == 0) CHECK(back[i] == 0);
      if (largest == 0) continue;
      worst = std::max(worst, std::abs(back[i] - exact[i]) / largest);
      CHECK(back[i] * exact[i] >= 0);
      if (std::abs(exact[i]) == largest) CHECK(back[i] == Approx(exact[i]).epsilon(1e-6));
    }
  }
  CHECK(worst <= kPackedError);
  CHECK(worst > kPackedError / 4);  // 8 bits, not more
}

TEST_CASE("explorer: refuses maps that do not fit", "[visualise]") {
  const Explorer good = test::text_explorer(6, 1, 2);
  CHECK_THROWS_WITH(explorer_page(Explorer{}), Catch::Contains("no samples"));
  Explorer bad = good;
  bad.samples[0].models.clear();
  CHECK_THROWS_AS(explorer_page(bad), ShapeError);
  bad = good;
  bad.samples[0].models[0].tokens.pop_back();
  CHECK_THROWS_WITH(explorer_page(bad), Catch::Contains("5 words; its maps have 6 tokens"));
  bad = good;
  bad.samples[0].models[0].prefix_tokens = 6;
  CHECK_THROWS_AS(explorer_page(bad), ShapeError);
  bad = good;
  bad.samples[0].models[0].layers[0].values.pop_back();
  CHECK_THROWS_AS(explorer_page(bad), ShapeError);
  bad = good;
  bad.samples[0].models[0].rollout = {2, 2, {1, 0, 0, 1}};
  CHECK_THROWS_WITH(explorer_page(bad), Catch::Contains("rollout is (2, 2)"));
  bad = good;
  bad.samples[0].models[1].layers[0].values[3] = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_WITH(explorer_page(bad), Catch::Contains("layer 0, head 0 holds nan"));
  bad.samples[0].models[1].layers[0].values[3] = 1e300;
  CHECK_THROWS_AS(explorer_page(bad), NumericError);
  bad = test::picture_explorer();
  bad.samples[0].models[0].grid_w = 7;
  CHECK_THROWS_WITH(explorer_page(bad), Catch::Contains("8 x 7 patches"));
}

TEST_CASE("explorer: text stays text", "[visualise]") {
  Explorer explorer = test::text_explorer(6, 1, 2);
  const std::vector<std::string> tokens = {"</script><script>alert(1)</script>",
                                           "\"'\\&amp;<!--",
                                           "\xff\xc3(",
                                           "{{packed}}{{data}}",
                                           "שלום",
                                           std::string(100000, 'x')};
  explorer.samples[0].models[0].tokens = tokens;
  explorer.samples[0].models[0].name = "</title><b>\xf0\x28";
  explorer.title = "{{style}}<img src=x onerror=alert(1)>";
  const std::string page = explorer_page(explorer);
  CHECK(page.find("<script>alert") == std::string::npos);
  CHECK(page.find("<img") == std::string::npos);
  CHECK(page.find("<!--") == std::string::npos);
  const auto model = test::data_of_page(page)["samples"][0]["models"][0];
  CHECK(model["tokens"][0] == tokens[0]);
  CHECK(model["tokens"][1] == tokens[1]);
  CHECK(model["tokens"][2] == "\xEF\xBF\xBD\xEF\xBF\xBD(");
  CHECK(model["tokens"][3] == tokens[3]);
  CHECK(model["tokens"][4] == tokens[4]);
  CHECK(model["tokens"][5] == tokens[5]);
  CHECK(model["name"] == "</title><b>\xEF\xBF\xBD(");
}

TEST_CASE("explorer: signs and palette come from what is shown, not from its values",
          "[visualise]") {
  Explorer explorer = test::text_explorer(6, 1, 2);
  for (auto& layer : explorer.samples[0].models[1].layers) {
    for (double& w : layer.values) w = std::abs(w);
  }
  explorer.samples[0].models[1].rolled_out = {false, "rollout of |attention|, share"};
  const auto data = test::data_of_page(explorer_page(explorer));
  const auto& models = data["samples"][0]["models"];
  CHECK(models[0]["attention"] ==
        nlohmann::json{{"name", "attention"}, {"signed", false}, {"even", 1.0 / 6}});
  CHECK(models[0]["rolled_out"]["name"] == "attention rollout, share");
  CHECK(models[1]["attention"] ==
        nlohmann::json{{"name", "signed attention"}, {"signed", true}, {"even", 0.0}});
  CHECK(models[1]["rolled_out"]["signed"] == false);
  for (const auto& [name, map] :
       {std::pair("diverging", ColourMap::kDiverging), std::pair("heat", kHeat)}) {
    const auto anchors = anchors_of(map);
    const auto& palette = data["palettes"][name];
    REQUIRE(palette.size() == anchors.size());
    for (std::size_t i = 0; i < anchors.size(); ++i)
      CHECK(palette[i] == nlohmann::json{anchors[i].r, anchors[i].g, anchors[i].b});
  }
  CHECK(data["scale"]["ends"] == "percentiles");
  explorer.scale = heat_scale_from_text("from_zero,figure");
  explorer.sequential = ColourMap::kBlues;
  const auto other = test::data_of_page(explorer_page(explorer));
  CHECK(other["scale"]["ends"] == "from_zero");
  CHECK(other["scale"]["sharing"] == "figure");
  CHECK(other["palettes"]["heat"].size() == anchors_of(ColourMap::kBlues).size());
}

TEST_CASE("explorer: the page is one file and small", "[visualise]") {
  Explorer explorer = test::text_explorer(256, 4, 8);
  explorer.samples[0].models.resize(1);
  const std::string page = explorer_page(explorer);
  CHECK(page.size() < 2'500'000);
  for (const char* outside : {"http:", "https:", "src=\"", "@import", "url("}) {
    CHECK(page.find(outside) == std::string::npos);
  }
  // No map is worse to compress than noise of both signs.
  for (auto& layer : explorer.samples[0].models[0].layers) {
    for (std::size_t i = 0; i < layer.values.size(); ++i) {
      const double x = 2 * test::noise(3, static_cast<std::int64_t>(i)) - 1;
      layer.values[i] = x * std::abs(x);  // evenly spread over the 8 bits
    }
  }
  CHECK(explorer_page(explorer).size() < 3'000'000);
}

TEST_CASE("explorer: of detectors it carries objects, in shares of the picture, and their maps",
          "[visualise]") {
  const Explorer explorer = test::detector_explorer();
  const std::string page = explorer_page(explorer);
  const auto data = test::data_of_page(page);
  const auto& sample = data["samples"][0];
  CHECK(sample["truth"][0]["box"] == nlohmann::json({0.0625, 0.125, 0.3125, 0.625}));
  const auto& model = sample["models"][0];
  CHECK(model["n"] == 2);
  CHECK(model["objects"][1]["map"] == 1);
  CHECK(model["objects"][1]["colour"] == nlohmann::json({213, 94, 0}));
  CHECK(model["maps"][0]["cols"] == 8);
  CHECK(model["heads"] == nlohmann::json({2, 2}));
  CHECK(sample["models"][1]["maps"][0]["carried"] == true);
  CHECK(page.find("<b>platelet") == std::string::npos);

  // Scales of all rows, then 4 rows of 32 places and 4 of 8.
  const auto& maps = explorer.samples[0].models[0].object_maps;
  const std::string bytes = test::unpacked_bytes(pack_object_maps(maps, 2), 8 * 4 + 4 * 32 + 4 * 8);
  const auto value = [&](std::size_t place) { return static_cast<int>(bytes[8 * 4 + place]); };
  CHECK(value(0 * 32 + 1) == 127);  // head 1, first object
  CHECK(value(1 * 32 + 2) == 127);  // head 1, second object
  CHECK(value(2 * 32 + 2) == 127);  // head 2, first object
  CHECK(value(4 * 32 + 3 * 8 + 3) == 127);
  CHECK(value(0) == 0);
}

TEST_CASE("explorer: detectors that do not fit are refused", "[visualise]") {
  Explorer explorer = test::detector_explorer();
  ExplorerModel& model = explorer.samples[0].models[0];
  model.objects[0].map = 2;
  CHECK_THROWS_WITH(explorer_page(explorer), Catch::Contains("has map 2; there are 2"));
  model.objects[0].map = 0;
  model.object_maps[0].weights.pop_back();
  CHECK_THROWS_WITH(explorer_page(explorer),
                    Catch::Contains("has 127 weights; expected (2, 2, 32)"));
  model.object_maps[0].weights.push_back(std::numeric_limits<double>::quiet_NaN());
  CHECK_THROWS_AS(explorer_page(explorer), NumericError);
  model.object_maps[0].weights.back() = 0;
  CHECK_NOTHROW(explorer_page(explorer));
  model.layers = {test::pattern_map(1, 4, 1, false)};
  CHECK_THROWS_WITH(explorer_page(explorer), Catch::Contains("MAViT is a detector"));
  explorer = test::detector_explorer();
  explorer.samples.push_back(test::picture_explorer().samples[0]);
  CHECK_THROWS_WITH(explorer_page(explorer), Catch::Contains("show different things"));
}
