// The explorer's page as a user meets it: in a browser, with mouse and keys.
#include <catch2/catch.hpp>

#include <cmath>

#include "tests/visualise/browser.h"
#include "tests/visualise/explorer_samples.h"

using namespace fovea;
using test::visit;
using test::Visit;

TEST_CASE("page: the browser tells of errors", "[visualise][browser]") {
  if (!test::have_browser()) return;
  const std::string page = "<!doctype html><body data-ready=\"0\">a page</body>";
  CHECK(visit(page, "return 1").console.empty());
  CHECK_THAT(visit(page, "console.error('a message')").console, Catch::Contains("a message"));
  const Visit broken = visit(page, "setTimeout(() => nonsense(), 0); await settle(); return 2");
  CHECK_THAT(broken.console, Catch::Contains("nonsense is not defined"));
  CHECK(broken.report == 2);
  const Visit outside =
      visit("<!doctype html><body data-ready=\"0\"><img src=\"none.png\"></body>", "return 3");
  CHECK_THAT(outside.console, Catch::Contains("none.png"));
}

TEST_CASE("page: hovering a word colours what it attends to, in all networks",
          "[visualise][browser]") {
  if (!test::have_browser()) return;
  const Visit seen = visit(visualise::explorer_page(test::text_explorer(40, 2, 3)), R"js(
    const seen = {};
    const headings = () => [0, 1].map((k) => panel(k).querySelector('.what').textContent);
    seen.start = headings();
    await click(button('2'));  // the layer
    seen.mean = headings();
    await hover(tokens(0)[20]);
    seen.hovered = headings();
    seen.selected = tokens(1)[20].classList.contains('selected');
    await click(panel(0).querySelector('.picker'), 0.35, 0.35);
    seen.picked = headings();
    await click(button('1'));
    await press('a'); await press('a'); await press('a'); await press('d');
    seen.heads = [];
    for (const token of [20, 30]) {
      await hover(tokens(1)[token]);
      seen.heads.push([strongest(0), strongest(1)]);
    }
    await press('d'); await press('d');
    seen.heads.push([strongest(0), strongest(1)]);
    seen.negative = tokens(1).some((span) => {
      const [red, , blue] = span.style.backgroundColor.match(/\d+/g).map(Number);
      return blue > red;
    });
    // Both ends of the colours are there.
    seen.unsigned = data.palettes.heat.filter((_, i, all) => i === 0 || i === all.length - 1)
        .map((rgb) => tokens(0).some((span) => span.style.backgroundColor === `rgb(${rgb.join(', ')})`));
    seen.quantities = [0, 1].map((k) => panel(k).querySelector('.quantity').textContent);
    seen.ends = [0, 1].map((k) => Array.from(panel(k).querySelectorAll('.ends span'), (e) => e.textContent));
    await press('t');
    seen.incoming = [strongest(0), strongest(1)];
    await leave();
    seen.left = headings();
    return seen;
  )js");
  CHECK(seen.console == "");
  const auto& r = seen.report;
  CHECK(r["start"][0] == "Rollout (raw, sum): mean over all tokens");
  CHECK(r["start"][1] == "Rollout (raw, abs): mean over all tokens");
  CHECK(r["mean"][0] == "Layer 2, mean of 3 heads: mean over all tokens");
  CHECK(r["hovered"][0] == "Layer 2, mean of 3 heads: “a” attends to");
  CHECK(r["hovered"][1] == r["hovered"][0]);
  CHECK(r["selected"] == true);
  CHECK_THAT(r["picked"][0].get<std::string>(), Catch::Contains("head"));
  // Head h looks h + 1 words back.
  CHECK(r["heads"] == nlohmann::json::parse("[[19, 19], [29, 29], [27, 27]]"));
  CHECK(r["negative"] == true);  // blue below 0, and only where there is a sign
  CHECK(r["unsigned"] == nlohmann::json({true, true}));
  CHECK(r["quantities"] == nlohmann::json({"attention, 1st to 99th percentile; even share 0.0250",
                                           "signed attention, to the 99th percentile of |value|"}));
  CHECK(r["ends"][0].size() == 3);
  REQUIRE(r["ends"][1].size() == 5);
  CHECK(r["ends"][1][2] == "0");
  CHECK(r["ends"][1][0] == "\u2212" + r["ends"][1][4].get<std::string>());
  CHECK(r["incoming"] == nlohmann::json::parse("[33, 33]"));
  CHECK_THAT(r["left"][0].get<std::string>(), Catch::Contains("mean over all tokens"));
}

TEST_CASE("page: a click keeps a word, keys move it, the address remembers it",
          "[visualise][browser]") {
  if (!test::have_browser()) return;
  const std::string page = visualise::explorer_page(test::text_explorer(40, 2, 3));
  const Visit seen = visit(page, R"js(
    const seen = {};
    const selected = () => [0, 1].map((k) => tokens(k).findIndex((t) => t.classList.contains('selected')));
    const places = () => [0, 1].map((k) => tokens(k).map((t) => [t.offsetLeft, t.offsetTop]).flat()).flat();
    seen.start = [selected(), strongest(0)];
    const before = places();
    await hover(tokens(1)[5]);
    seen.moved = places().filter((x, i) => x !== before[i]).length;
    seen.kept = selected();
    seen.probe = tokens(0)[5].classList.contains('probe');
    seen.label = panel(0).querySelector('.reading bdi').textContent;
    await press('ArrowRight');
    seen.right = [selected(), strongest(0)];
    await press('ArrowDown');
    seen.below = selected()[0];
    seen.hash = location.hash;
    await click(tokens(0)[8]);
    seen.clicked = selected();
    await click(tokens(0)[8]);
    await leave();
    seen.released = selected();
    await click(tokens(0)[9]);
    await press('Escape');
    seen.escaped = selected();
    return seen;
  )js",
                           "#layer=1&head=2&model=2&token=12");
  CHECK(seen.console == "");
  const auto& r = seen.report;
  CHECK(r["start"] == nlohmann::json::parse("[[12, 12], 10]"));
  CHECK(r["kept"] == nlohmann::json::parse("[12, 12]"));
  CHECK(r["moved"] == 0);  // a text that jumps under the mouse cannot be clicked
  CHECK(r["probe"] == true);
  CHECK(r["label"] == "rectangle");
  CHECK(r["right"] == nlohmann::json::parse("[[13, 13], 11]"));
  CHECK(r["below"] > 13);
  CHECK(r["hash"] == "#layer=1&head=2&model=2&token=" + std::to_string(r["below"].get<int>()));
  CHECK(r["clicked"] == nlohmann::json::parse("[8, 8]"));
  CHECK(r["released"] == nlohmann::json::parse("[-1, -1]"));
  CHECK(r["escaped"] == nlohmann::json::parse("[-1, -1]"));
}

TEST_CASE("page: 256 words in 4 layers and 8 heads open at once", "[visualise][browser]") {
  if (!test::have_browser()) return;
  const std::string page = visualise::explorer_page(test::text_explorer(256, 4, 8));
  const Visit seen = visit(page, R"js(
    const seen = {ready_ms: performance.getEntriesByName('ready')[0].startTime};
    const times = [];
    for (let token = 0; token < 9; ++token) {
      hover(tokens(0)[token]);
      await settle();
      const begin = performance.now();
      paint();
      document.body.getBoundingClientRect();
      times.push(performance.now() - begin);
    }
    seen.paint_ms = times.sort((a, b) => a - b)[4];
    return seen;
  )js");
  CHECK(seen.console == "");
  // Bounds with room for a busy machine; an idle one needs a tenth or less.
  CHECK(seen.report["ready_ms"] < 10000);
  CHECK(seen.report["paint_ms"] < 500);
}

TEST_CASE("page: hovering a patch puts the heat over the picture", "[visualise][browser]") {
  if (!test::have_browser()) return;
  const Visit seen = visit(visualise::explorer_page(test::picture_explorer()), R"js(
    const seen = {};
    await click(button('1'));  // layer and
    await press('d');          // head
    const canvas = (k) => panel(k).querySelector('.view canvas');
    // The patch with the least green, which red takes away, or where there is no sign the
    // brightest, on a grid of `size` x `size`. The picture is not mixed in.
    change({image: 0});
    await settle();
    const hottest = (k, size) => {
      const copy = Object.assign(document.createElement('canvas'), {width: canvas(k).width, height: canvas(k).height});
      const context = copy.getContext('2d', {willReadFrequently: true}), step = copy.width / size;
      context.drawImage(canvas(k), 0, 0);
      let best = 0, least = 1e9;
      for (let i = 0; i < size * size; ++i) {
        const pixel = context.getImageData((i % size + 0.5) * step, (Math.floor(i / size) + 0.5) * step, 1, 1).data;
        const green = k === 0 ? pixel[1] + (pixel[2] > pixel[0] ? 255 : 0) : -pixel[0] - pixel[1] - pixel[2];
        if (green < least) [best, least] = [i, green];
      }
      return best;
    };
    await hover(canvas(0), 3.5 / 8, 2.5 / 8);  // row 3, column 4
    seen.first = panel(0).querySelector('.what').textContent;
    seen.second = panel(1).querySelector('.what').textContent;
    seen.hottest = [hottest(0, 8), hottest(1, 4)];
    await hover(tokens(0)[0]);
    seen.token = panel(0).querySelector('.what').textContent;
    seen.other = panel(1).querySelector('.what').textContent;
    await click(canvas(1), 0.9, 0.9);
    await press('ArrowUp');
    seen.moved = panel(1).querySelector('.what').textContent;
    seen.input = document.querySelector('.panel h2').textContent;
    return seen;
  )js");
  CHECK(seen.console == "");
  const auto& r = seen.report;
  CHECK(r["first"] == "Layer 1, head 1: row 3, column 4 attends to");
  CHECK(r["second"] == "Layer 1, head 1: row 2, column 2 attends to");
  CHECK(r["hottest"] == nlohmann::json::parse("[18, 4]"));  // the one before, in reading order
  CHECK(r["token"] == "Layer 1, head 1: class token attends to");
  CHECK(r["other"] == "Layer 1, head 1: no such token here");
  CHECK(r["moved"] == "Layer 1, head 1: row 3, column 4 attends to");
  CHECK(r["input"] == "input");
}

TEST_CASE("page: any token is shown as text", "[visualise][browser]") {
  if (!test::have_browser()) return;
  visualise::Explorer explorer = test::text_explorer(12, 1, 2);
  explorer.title = "</title><script>alert(1)</script>";
  auto& models = explorer.samples[0].models;
  models[0].tokens = {"</script><script>alert(1)</script>",
                      "\"'\\&amp;<!--",
                      "\xff\xc3(",
                      "שלום",
                      "عالم",
                      "مرحبا",
                      "",
                      "\n",
                      " a ",
                      "日本語",
                      "\t\x01",
                      std::string(100000, 'x')};
  models[1].tokens = {"שלום", "עולם", "א", "ב", "ג", "ד", "ה", "ו", "ז", "b", "c", "d"};
  explorer.samples.push_back(explorer.samples[0]);
  explorer.samples[1].name = "<b>second";
  const Visit seen = visit(visualise::explorer_page(explorer), R"js(
    const seen = {words: tokens(0).map((t) => t.textContent), title: document.title};
    for (const token of tokens(0)) await hover(token);
    await hover(tokens(1)[0]);
    seen.linked = tokens(0).findIndex((t) => t.classList.contains('selected'));
    seen.directions = [0, 1].map((k) => panel(k).querySelector('.view').dir);
    seen.wide = document.documentElement.scrollWidth > innerWidth;
    await press('n');
    await ready(1);
    seen.second = document.querySelector('select').value;
    return seen;
  )js");
  CHECK(seen.console == "");
  const auto& r = seen.report;
  const std::string cut = std::string(47, 'x') + "…";
  CHECK(r["words"] == nlohmann::json({"</script><script>alert(1)</script>", "\"'\\&amp;<!--",
                                      "\xEF\xBF\xBD\xEF\xBF\xBD(", "שלום", "عالم", "مرحبا", "∅",
                                      "↵", "·a·", "日本語", "␉␁", cut}));
  CHECK(r["title"] == explorer.title);
  CHECK(r["linked"] == 3);
  CHECK(r["directions"] == nlohmann::json({"ltr", "rtl"}));
  CHECK(r["wide"] == false);
  CHECK(r["second"] == "<b>second");
}

TEST_CASE("page: colours begin and end where those of pictures do", "[visualise][browser]") {
  if (!test::have_browser()) return;
  using visualise::HeatEnds;
  const std::vector<std::vector<double>> lists = {
      {0.1, 0.2, 0.05, 0.4, 0.4}, {0.25, 0.25, 0.25}, {0.25, 0.25 + 1e-8}, {0, 0}, {},
      {-0.5, 0.2, 0.1, 0},        {0, 0, 0, 0.5},     {1e-9, 2e-9, 3e-4}};
  const nlohmann::json cases = {{"lists", lists}};
  const Visit seen = visit(visualise::explorer_page(test::text_explorer(6, 1, 2)),
                           "const cases = " + cases.dump() + R"js(;
    const found = [];
    for (const signed of [false, true]) {
      for (const ends of ['percentiles', 'from_zero', 'even_share', 'minmax']) {
        if (signed && ends === 'even_share') continue;
        for (const list of cases.lists) {
          const quantity = {name: 'q', signed, even: signed ? 0 : 0.2};
          const limits = limitsOf(list, ends, quantity);
          const places = [-0.3, 0, 0.001, 0.2, 0.37].map((v) => position(v, limits));
          found.push([limits.low, limits.high, Number(limits.logarithmic), ...places]);
        }
      }
    }
    return found;
  )js");
  CHECK(seen.console == "");
  std::size_t row = 0;
  for (const bool is_signed : {false, true}) {
    for (const HeatEnds ends :
         {HeatEnds::kPercentiles, HeatEnds::kFromZero, HeatEnds::kEvenShare, HeatEnds::kMinMax}) {
      if (is_signed && ends == HeatEnds::kEvenShare) continue;
      for (const std::vector<double>& list : lists) {
        const visualise::Quantity quantity{is_signed, "q"};
        const visualise::Limits limits =
            visualise::limits_of(quantity, list, ends, is_signed ? 0 : 0.2);
        INFO("row " << row << ", " << name_of(ends) << (is_signed ? ", signed" : ""));
        REQUIRE(row < seen.report.size());
        const auto& found = seen.report[row++];
        CHECK(found[0].get<double>() == Approx(limits.low).epsilon(1e-12));
        CHECK(found[1].get<double>() == Approx(limits.high).epsilon(1e-12));
        CHECK(found[2] == (limits.logarithmic ? 1 : 0));
        std::size_t place = 3;
        for (const double v : {-0.3, 0.0, 0.001, 0.2, 0.37})
          CHECK(found[place++].get<double>() ==
                Approx(visualise::position_of(v, limits)).margin(1e-12));
      }
    }
  }
}

TEST_CASE("page: colours of a whole map, of all networks, in even shares", "[visualise][browser]") {
  if (!test::have_browser()) return;
  const Visit seen = visit(visualise::explorer_page(test::text_explorer(40, 2, 3)), R"js(
    const seen = {};
    const ends = (k) => Array.from(panel(k).querySelectorAll('.ends span'), (e) => e.textContent).join(' ');
    const said = (k) => panel(k).querySelector('.quantity').textContent;
    const marks = (k) => Array.from(panel(k).querySelectorAll('.mark'), (e) => e.title);
    await click(button('2'));
    await hover(tokens(0)[5]);
    const one = ends(0);
    await hover(tokens(0)[6]);
    seen.differs = ends(0) !== one;
    await click(button('whole map'));
    await hover(tokens(0)[5]);
    const map = ends(0);
    await hover(tokens(0)[6]);
    seen.same = ends(0) === map;
    seen.map = said(0);
    await click(button('all networks'));
    seen.all = said(1);
    await click(button('times even'));
    seen.times = [said(0), said(1), marks(1)];
    await click(button('least to largest'));
    seen.hash = location.hash;
    await hover(tokens(1)[5]);
    seen.least = [said(1), marks(1)];
    return seen;
  )js");
  CHECK(seen.console == "");
  const auto& r = seen.report;
  CHECK(r["differs"] == true);
  CHECK(r["same"] == true);
  CHECK_THAT(r["map"].get<std::string>(), Catch::Contains("of the whole map"));
  CHECK_THAT(r["all"].get<std::string>(), Catch::Contains("one scale for all networks"));
  CHECK_THAT(r["times"][0].get<std::string>(), Catch::Contains("times an even share"));
  CHECK_THAT(r["times"][1].get<std::string>(), Catch::Contains("99th percentile of |value|"));
  CHECK(r["times"][2] == nlohmann::json({"0"}));
  CHECK_THAT(r["least"][0].get<std::string>(), Catch::Contains("least to largest"));
  CHECK(r["least"][1] == nlohmann::json({"0"}));
  CHECK_THAT(r["hash"].get<std::string>(),
             Catch::Contains("ends=minmax") && Catch::Contains("sharing=figure"));
}

TEST_CASE("page: pictures fill the window, and Ctrl with the wheel zooms into all",
          "[visualise][browser]") {
  if (!test::have_browser()) return;
  const Visit seen = visit(visualise::explorer_page(test::picture_explorer()), R"js(
    const seen = {};
    const canvas = (k) => panel(k).querySelector('.view canvas');
    const what = () => panel(0).querySelector('.what').textContent;
    seen.widths = Array.from(document.querySelectorAll('.view canvas'), (c) => c.clientWidth);
    seen.window = document.documentElement.clientWidth;
    await hover(canvas(0), 0.95, 0.95);
    seen.before = what();
    await zoomWheel(canvas(0), 0.05, 0.05, -600, 0);  // without the key the page scrolls
    seen.plain = zoom.scale;
    await zoomWheel(canvas(0), 0.05, 0.05, -600);
    seen.scale = zoom.scale;
    await hover(canvas(0), 0.95, 0.95);
    seen.zoomed = what();
    await hover(canvas(0), 0.05, 0.05);
    seen.corner = what();
    const picture = canvas(1).toDataURL();
    await drag(canvas(0), [0.9, 0.9], [0.1, 0.1]);
    seen.dragged = [zoom.x > 0.08, zoom.y > 0.08, state.pinned, canvas(1).toDataURL() !== picture];
    await press('0');
    seen.whole = [zoom.scale, zoom.x];
    return seen;
  )js");
  CHECK(seen.console == "");
  const auto& r = seen.report;
  REQUIRE(r["widths"].size() == 3);
  double together = 0;
  for (const auto& width : r["widths"]) together += width.get<double>();
  CHECK(together > 0.85 * r["window"].get<double>());
  CHECK(r["before"] == "Rollout (raw, abs): row 8, column 8 attends to");
  CHECK(r["plain"] == 1);
  CHECK(r["scale"].get<double>() == Approx(std::exp(2.0)));
  CHECK(r["zoomed"] == "Rollout (raw, abs): row 2, column 2 attends to");
  CHECK(r["corner"] == "Rollout (raw, abs): row 1, column 1 attends to");
  CHECK(r["dragged"] == nlohmann::json({true, true, false, true}));
  CHECK(r["whole"] == nlohmann::json({1, 0}));
}

TEST_CASE("page: pointing at a detection shows its map, in all networks", "[visualise][browser]") {
  if (!test::have_browser()) return;
  const Visit seen = visit(visualise::explorer_page(test::detector_explorer()), R"js(
    const seen = {};
    const canvas = (k) => panel(k).querySelector('.view canvas');
    const what = (k) => panel(k).querySelector('.what').textContent;
    const first = (k) => panel(k).querySelector('.strongest .entry').textContent;
    seen.headings = Array.from(document.querySelectorAll('.panel h2'), (e) => e.textContent);
    seen.start = [what(0), what(1)];
    const before = canvas(0).toDataURL();
    await hover(canvas(0), 12 / 64, 12 / 32);
    seen.cell = [what(0), what(1), first(0), first(1)];
    seen.painted = canvas(0).toDataURL() !== before;
    await hover(canvas(0), 48 / 64, 16 / 32);
    seen.platelet = [what(0), what(1), first(0)];
    await click(button('1'));  // the map
    await hover(canvas(0), 48 / 64, 16 / 32);
    seen.other = [what(0), first(0)];
    await press('d'); await press('d');  // its second head
    seen.head = [what(0), first(0)];
    await press('a'); await press('a'); await press('r');
    await hover(canvas(0), 30 / 64, 30 / 32);  // nothing is there
    seen.nothing = what(0);
    await click(canvas(0), 12 / 64, 12 / 32);
    await hover(canvas(0), 1.5 / 8, 0.5 / 4);  // the second place of the first row
    seen.kept = [what(0), panel(0).querySelector('.reading').textContent, location.hash];
    await press('ArrowRight');
    seen.next = what(0);
    await press('ArrowRight');
    seen.last = what(0);
    await press('t');
    await press('Escape');
    seen.left = [what(0), state.incoming];
    seen.wide = document.documentElement.scrollWidth > innerWidth;
    return seen;
  )js");
  CHECK(seen.console == "");
  const auto& r = seen.report;
  CHECK(r["headings"] == nlohmann::json({"truth", "MAViT2 found", "ResNet"}));
  CHECK(r["start"] == nlohmann::json({"2 found; point at one", "1 found; point at one"}));
  CHECK(r["cell"][0] == "cell 0.90, layers.0, mean of 2 heads");
  CHECK(r["cell"][1] == "cell 0.70, layer2, mean of 1 heads");
  CHECK(r["cell"][2] == "row 1, column 20.500");
  CHECK(r["cell"][3] == "layers before0.500");
  CHECK(r["painted"] == true);
  CHECK(r["platelet"][0] == "<b>platelet 0.40, layers.1, mean of 2 heads");
  CHECK(r["platelet"][1] == "nothing found there");
  CHECK(r["platelet"][2] == "row 1, column 30.500");
  CHECK(r["other"] ==
        nlohmann::json({"<b>platelet 0.40, layers.0, mean of 2 heads", "row 1, column 30.500"}));
  CHECK(r["head"] == nlohmann::json({"<b>platelet 0.40, layers.0, head 2", "row 1, column 41.00"}));
  CHECK(r["nothing"] == "2 found; point at one");
  CHECK(r["kept"][0] == "cell 0.90, layers.0, mean of 2 heads");
  CHECK(r["kept"][1] == "row 1, column 20.500");
  CHECK_THAT(r["kept"][2].get<std::string>(), Catch::Contains("token=0"));
  CHECK(r["next"] == "<b>platelet 0.40, layers.1, mean of 2 heads");
  CHECK(r["last"] == r["next"]);
  CHECK(r["left"] == nlohmann::json({"2 found; point at one", false}));
  CHECK(r["wide"] == false);
}

TEST_CASE("page: detectors without maps, and without detections", "[visualise][browser]") {
  if (!test::have_browser()) return;
  visualise::Explorer explorer = test::detector_explorer();
  auto& models = explorer.samples[0].models;
  for (auto& object : models[0].objects) object.map = -1;
  models[0].object_maps.clear();
  models[1].objects.clear();
  models[1].object_maps.clear();
  explorer.samples[0].truth.clear();
  const Visit seen = visit(visualise::explorer_page(explorer), R"js(
    const seen = {};
    const canvas = (k) => panels[k].element.querySelector('.view canvas');
    const what = (k) => panels[k].element.querySelector('.what').textContent;
    seen.heading = document.querySelector('.panel h2').textContent;
    seen.start = [what(0), what(1)];
    await hover(canvas(0), 12 / 64, 12 / 32);
    seen.cell = [what(0), what(1)];
    await click(button('whole map'));
    await hover(canvas(1), 12 / 64, 12 / 32);
    canvas(1).focus();
    await press('ArrowRight');
    seen.empty = [what(1), state.token];
    return seen;
  )js");
  CHECK(seen.console == "");
  const auto& r = seen.report;
  CHECK(r["heading"] == "input");
  CHECK(r["start"] == nlohmann::json({"2 found; point at one", "nothing found"}));
  CHECK(r["cell"] == nlohmann::json({"cell 0.90: no map", "nothing found there"}));
  CHECK(r["empty"] == nlohmann::json({"nothing found", -1}));
}
