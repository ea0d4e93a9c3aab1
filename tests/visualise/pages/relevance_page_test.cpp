// The explorer's page of explanations, in a browser with mouse and keys.
#include <catch2/catch.hpp>

#include <algorithm>
#include <limits>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error.h"
#include "tests/visualise/browser.h"
#include "visualise/pages/explorer.h"

using namespace fovea;
using test::visit;
using test::Visit;

namespace {

visualise::ExplorerRelevance relevance(const std::string& run, const std::string& method,
                                       bool is_signed, std::int64_t rows, std::int64_t cols) {
  visualise::ExplorerRelevance one{.run = run,
                                   .method = method,
                                   .note = run + " predicts cat",
                                   .target = "cat <b>",
                                   .quantity = {is_signed, "relevance by " + method},
                                   .rows = rows,
                                   .cols = cols,
                                   .words = {},
                                   .values = {}};
  for (std::int64_t i = 0; i < rows * cols; ++i)
    one.values.push_back(is_signed && i % 2 == 1 ? -double(i) : double(i));
  return one;
}

// Two runs, two methods: patches with a sign, and pixels without. `second` is of the second run.
visualise::Explorer images() {
  visualise::Canvas picture(8, 8, {40, 90, 200});
  visualise::ExplorerSample sample{"7 </script> & co", std::move(picture), {}};
  for (const auto& [method, is_signed, side] :
       {std::tuple{"patches", true, 4}, std::tuple{"pixels", false, 8}}) {
    sample.relevance.push_back(relevance("one", method, is_signed, side, side));
    sample.relevance.push_back(relevance("two", method, is_signed, side / 2, side / 2));
  }
  return {.title = "What spoke", .samples = {std::move(sample)}};
}

}  // namespace

TEST_CASE("relevance page: a place is read in the maps of all runs and methods",
          "[visualise][browser]") {
  if (!test::have_browser()) return;
  const std::string page = visualise::explorer_page(images());
  CHECK(page == visualise::explorer_page(images()));
  const Visit seen = visit(page, R"js(
    const seen = {};
    const sections = () => Array.from(document.querySelectorAll('#panels > .panel')).slice(1);
    const texts = (part) => sections().map((own) => own.hidden ? '' : own.querySelector(part)?.textContent ?? '');
    seen.headings = texts('h2');
    seen.what = texts('.what');
    seen.ends = texts('.ends');
    const canvas = sections()[2].querySelector('.view canvas');
    await hover(canvas, 0.8, 0.3);  // row 2, column 6 of 8 x 8
    seen.hovered = texts('.reading');
    await click(canvas, 0.8, 0.3);
    seen.address = location.hash;
    await hover(canvas, 0.1, 0.1);
    seen.other = texts('.reading');
    await leave();
    seen.kept = texts('.reading');
    await press('ArrowDown');
    seen.moved = texts('.reading');
    const small = make('canvas', {width: 1, height: 1}).getContext('2d', {willReadFrequently: true});
    const pixel = () => {
      small.drawImage(canvas, -300, -500);
      return Array.from(small.getImageData(0, 0, 1, 1).data);
    };
    const slider = document.querySelector('input[type=range]');
    seen.colours = [];
    for (const share of ['0', '1']) {
      slider.value = share;
      slider.dispatchEvent(new Event('input'));
      await settle();
      seen.colours.push(pixel());
    }
    await click(button('one'));
    seen.without = texts('h2 bdi');
    await click(button('two'));  // the last one stays
    await click(button('pixels'));
    seen.last = texts('h2 bdi');
    seen.shown = location.hash;
    await click(button('one'));
    const ends = () => texts('.ends').slice(0, 2);
    seen.own = ends();
    await click(button('a method’s runs'));
    seen.common = ends();
    seen.help = getComputedStyle(document.querySelector('.of-attention')).display;
    seen.wide = document.documentElement.scrollWidth <= innerWidth;
    return seen;
  )js");
  CHECK(seen.console == "");
  const auto& r = seen.report;
  using Json = nlohmann::json;
  CHECK(r["headings"] == Json({"patchesone predicts cat", "patchestwo predicts cat",
                               "pixelsone predicts cat", "pixelstwo predicts cat"}));
  CHECK(r["what"][0] == "spoke for cat <b>");
  // From -m to m where there is a sign: 0 in the middle of five.
  CHECK_THAT(r["ends"][0].get<std::string>(), Catch::Contains("\u22127") && Catch::Contains("0"));
  // Values are packed to 0.8 % of the largest.
  const auto reads = [&](const char* when, std::size_t k, const std::string& place, double value) {
    const std::string text = r[when][k].get<std::string>();
    CHECK(text.substr(0, place.size()) == place);
    std::string digits = text.substr(place.size());
    if (digits.starts_with("\u2212")) digits = "-" + digits.substr(3);
    CHECK(std::stod(digits) == Approx(value).margin(0.55));
  };
  reads("hovered", 0, "row 1, column 3", -7);
  reads("hovered", 1, "row 0, column 1", -1);
  reads("hovered", 2, "row 2, column 6", 22);
  reads("hovered", 3, "row 1, column 3", 7);
  CHECK_THAT(r["address"].get<std::string>(), Catch::Contains("token=22"));
  reads("other", 2, "row 0, column 0", 0);
  CHECK(r["kept"] == r["hovered"]);
  reads("moved", 2, "row 3, column 6", 30);
  // The picture alone, and the map alone.
  CHECK(r["colours"][1] == Json({40, 90, 200, 255}));
  CHECK(r["colours"][0] != r["colours"][1]);
  CHECK(r["without"] == Json({"", "patches", "", "pixels"}));
  CHECK(r["last"] == Json({"", "patches", "", ""}));
  CHECK_THAT(r["shown"].get<std::string>(), Catch::Contains("shown=1_2"));
  CHECK(r["own"][0] != r["own"][1]);
  CHECK(r["common"][0] == r["common"][1]);
  CHECK(r["help"] == "none");
  CHECK(r["wide"] == true);

  const Visit again = visit(page, R"js(
    return Array.from(document.querySelectorAll('#panels > .panel:not([hidden]) h2 bdi'), (b) => b.textContent);
  )js",
                            "#shown=2_1.2");
  CHECK(again.console == "");
  CHECK(again.report == Json({"pixels", "pixels"}));
}

TEST_CASE("relevance page: words, and a map that is 0 everywhere", "[visualise][browser]") {
  if (!test::have_browser()) return;
  visualise::ExplorerSample sample{"text 1", {}, {}};
  sample.relevance.push_back(relevance("one", "signs", true, 1, 4));
  sample.relevance.push_back(relevance("one", "nothing", false, 1, 4));
  for (auto& one : sample.relevance) one.words = {"a", "<i>good</i>", "good", "film"};
  sample.relevance[1].values = {0, 0, 0, 0};
  const Visit seen = visit(visualise::explorer_page({.title = "Words", .samples = {sample}}), R"js(
    const sections = Array.from(document.querySelectorAll('#panels > .panel'));
    const words = sections.map((own) => Array.from(own.querySelectorAll('.view .token')));
    await hover(words[1][2]);
    return {
      words: words[0].map((span) => span.textContent),
      colours: words[0].map((span) => span.style.backgroundColor),
      reading: sections.map((own) => own.querySelector('.reading').textContent),
      strongest: sections.map((own) => own.querySelector('.strongest').textContent),
      buttons: Array.from(document.querySelectorAll('button'), (b) => b.textContent),
    };
  )js");
  CHECK(seen.console == "");
  const auto& r = seen.report;
  CHECK(r["words"] == nlohmann::json({"a", "<i>good</i>", "good", "film"}));
  CHECK(r["colours"][3] == "rgb(5, 48, 97)");  // the largest, against the class
  CHECK_THAT(r["reading"][0].get<std::string>(), Catch::Contains("good2"));
  CHECK_THAT(r["strongest"][1].get<std::string>(), Catch::Contains("0 everywhere"));
  // One run: nothing to choose among runs.
  CHECK(std::find(r["buttons"].begin(), r["buttons"].end(), "each map") == r["buttons"].end());
}

TEST_CASE("relevance page: what does not fit is refused", "[visualise]") {
  visualise::Explorer explorer = images();
  visualise::ExplorerSample& sample = explorer.samples[0];
  sample.relevance[0].values.pop_back();
  CHECK_THROWS_WITH(explorer_page(explorer),
                    Catch::Contains("15 values") && Catch::Contains("4 x 4 places"));
  sample.relevance[0].values.push_back(std::numeric_limits<double>::quiet_NaN());
  CHECK_THROWS_AS(explorer_page(explorer), NumericError);
  sample.relevance[0].values.back() = 1;
  CHECK_NOTHROW(explorer_page(explorer));
  sample.relevance.clear();
  CHECK_THROWS_WITH(explorer_page(explorer), Catch::Contains("expected either"));
}
