// The page of slices: what it holds, and as a user meets it in a browser.
#include "visualise/pages/volume_page.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "tests/visualise/browser.h"
#include "tests/visualise/case_samples.h"
#include "tests/visualise/explorer_samples.h"
#include "tests/visualise/packed_page.h"

using namespace fovea;
using namespace fovea::visualise;
using nlohmann::json;
using test::data_of_page;
using test::unpacked_bytes;
using test::visit;
using test::Visit;

namespace {

VolumePage page_of(std::vector<CaseVolume> cases) {
  VolumePage page;
  page.title = "run: slices of test";
  page.notes = {"Weights: best."};
  page.cases = std::move(cases);
  return page;
}

}  // namespace

TEST_CASE("volume page: what it says of a case", "[visualise]") {
  const json data = data_of_page(volume_page(page_of({test::drawn_case()})));
  CHECK(data["title"] == "run: slices of test");
  CHECK(data["notes"] == json({"Weights: best."}));
  const json& one = data["cases"][0];
  CHECK(one["size"] == json({6, 8, 10}));
  CHECK(one["full"] == one["size"]);
  CHECK(one["step"] == json({1, 1, 1}));
  CHECK(one["spacing"] == json({3.0, 2.0, 1.0}));
  CHECK(one["file"][1] == json({{"axis", 1}, {"size", 10}, {"start", 2.0}, {"step", 1.0}}));
  CHECK(one["codes"] == "SPL");
  CHECK(one["planes"][2]["name"] == "sagittal");
  CHECK(one["planes"][2]["left"] == "A");
  CHECK(one["window"] == json({0.0, 500.0}));
  CHECK(one["classes"][1]["name"] == "liver");
  CHECK(one["classes"][1]["dice"] == 0.75);
  CHECK(one["classes"][2]["dice"].is_null());
  CHECK(one["maps"][0]["name"] == "layers.0");
  CHECK(one["signed"] == true);
  CHECK(data["errors"].size() == 3);
}

TEST_CASE("volume page: voxels come back", "[visualise]") {
  const CaseVolume v = test::drawn_case();
  const PackedCase packed = pack_case(v, 1'000'000);
  const std::string bytes = unpacked_bytes(packed.base64, 4 * 480);
  const auto at = [&](std::size_t plane, std::size_t i) {
    return static_cast<unsigned char>(bytes[plane * 480 + i]);
  };
  CHECK(packed.map_limits == std::vector<double>{1});
  for (std::size_t i = 0; i < 480; ++i) {
    CHECK(at(0, i) == grey_of(v.values[i], v.window));
    CHECK(at(1, i) == v.truth[i]);
    CHECK(at(2, i) == v.predicted[i]);
    CHECK((at(3, i) - 128) / 127.0 == Approx(double{v.maps[0].values[i]}).margin(0.5 / 127 + 1e-6));
  }
  CaseVolume share = v;
  share.quantity.is_signed = false;
  for (float& value : share.maps[0].values) value = 2 + value;
  const PackedCase positive = pack_case(share, 1'000'000);
  CHECK(positive.map_limits[0] == Approx(3));
  const std::string shares = unpacked_bytes(positive.base64, 4 * 480);
  CHECK(static_cast<unsigned char>(shares[3 * 480]) == 85);
  CHECK(static_cast<unsigned char>(shares[3 * 480 + 9]) == 255);
}

TEST_CASE("volume page: of Hounsfield units each is kept", "[visualise]") {
  CaseVolume v = test::drawn_case(false);
  v.unit = "HU";
  v.range = {-100, 900};
  const PackedCase packed = pack_case(v, 1'000'000);
  CHECK(packed.steps == 1000);
  const std::string bytes = unpacked_bytes(packed.base64, 4 * 480);
  for (const std::size_t i : {0U, 1U, 479U}) {
    const int low = static_cast<unsigned char>(bytes[i]);
    const int high = static_cast<unsigned char>(bytes[480 + i]);
    CHECK(low + 256 * high - 100 == static_cast<int>(v.values[i]));
  }
  CHECK(static_cast<unsigned char>(bytes[2 * 480 + 2 * 80 + 3 * 10 + 3]) == 1);  // the truth
  v.range = {0, 80};
  CHECK(pack_case(v, 1'000'000).steps == 255);
}

TEST_CASE("volume page: large volumes are sampled by whole steps", "[visualise]") {
  CHECK(sampled_count(7, 1) == 7);
  CHECK(sampled_count(7, 2) == 3);  // 1, 3, 5
  CHECK(sampled_count(6, 4) == 1);  // 2
  CaseVolume v;
  v.name = "large";
  v.size = {40, 60, 50};
  v.spacing = {2, 1, 1.5};
  v.range = v.window = {0, 1};
  v.classes = {"background", "a"};
  v.dice = {1, 1};
  for (std::int64_t i = 0; i < 40 * 60 * 50; ++i)
    v.values.push_back(static_cast<float>(test::noise(1, i)));
  v.truth.assign(v.values.size(), 0);
  v.predicted = v.truth;
  const std::int64_t whole = std::ssize(pack_case(v, 1'000'000).base64);
  CHECK(whole > 120'000);
  const PackedCase packed = pack_case(v, 60'000);
  CHECK(std::ssize(packed.base64) <= 60'000);
  CHECK(packed.step == Sides3{1, 2, 2});  // the finest axis first, then what is then the finest
  const std::string bytes = unpacked_bytes(packed.base64, 3 * 40 * 30 * 25);
  CHECK(static_cast<unsigned char>(bytes[0]) == grey_of(v.values[1 * 50 + 1], v.window));
  const std::size_t last = (39 * 60 + 59) * 50 + 49;
  CHECK(static_cast<unsigned char>(bytes[40 * 30 * 25 - 1]) == grey_of(v.values[last], v.window));
  VolumePage page = page_of({v});
  page.case_bytes = 60'000;
  CHECK(volume_page(page).size() < 110'000);
  CHECK(data_of_page(volume_page(page))["cases"][0]["size"] == json({40, 30, 25}));
}

TEST_CASE("volume page: is one file, and text stays text", "[visualise]") {
  VolumePage page = page_of({test::drawn_case()});
  page.title = "{{packed}}<img src=x onerror=alert(1)>";
  page.cases[0].classes[1] = "</script><script>alert(1)</script>";
  page.cases[0].name = "\xff";
  const std::string text = volume_page(page);
  for (const char* outside : {"http:", "https:", "src=\"", "@import", "url(", "<img", "<script>al"})
    CHECK(text.find(outside) == std::string::npos);
  CHECK(data_of_page(text)["cases"][0]["classes"][1]["name"] == page.cases[0].classes[1]);
  CHECK_THROWS_AS(volume_page(VolumePage{}), ShapeError);
}

TEST_CASE("volume page: sliders, wheel and keys turn the slices", "[visualise][browser]") {
  if (!test::have_browser()) return;
  CaseVolume second = test::drawn_case(false);
  second.name = "second";
  const Visit seen = visit(volume_page(page_of({test::drawn_case(), second})), R"js(
    const seen = {};
    const planes = () => Array.from(document.querySelectorAll('.plane'));
    const where = () => planes().map((p) => p.querySelector('figcaption').textContent);
    const canvas = (k) => planes()[k].querySelector('canvas');
    const pixels = (k) => canvas(k).toDataURL();
    const copy = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
    copy.canvas.width = copy.canvas.height = 1;
    const pixel = (k, x, y) => {
      const from = canvas(k);
      copy.drawImage(from, -Math.floor(x * from.width), -Math.floor(y * from.height));
      return Array.from(copy.getImageData(0, 0, 1, 1).data).slice(0, 3);
    };
    seen.start = where();
    seen.aspects = [0, 1, 2].map((k) => {
      const box = canvas(k).getBoundingClientRect();
      return box.width / box.height;
    });
    const first = pixels(0);
    const slider = planes()[0].querySelector('input');
    slider.value = 1;
    slider.dispatchEvent(new Event('input'));
    await settle();
    seen.slid = where()[0];
    seen.changed = pixels(0) !== first;
    // The wheel over the coronal plane.
    const at = await place(canvas(1));
    const wheel = arrives('wheel');
    input('dispatchMouseEvent', {type: 'mouseWheel', deltaX: 0, deltaY: 120, ...at});
    await wheel;
    await settle();
    seen.wheeled = where()[1];
    await hover(canvas(2));
    await press('ArrowLeft'); await press('ArrowLeft');
    seen.keyed = where()[2];
    await press('1'); await press('ArrowUp');
    seen.marked = where()[0];
    // A click on the axial slice moves the two others.
    await click(canvas(0), 0.55, 0.44);
    seen.clicked = where();
    // Without anything over it a pixel is as grey as its voxel: 200 + 10 h + w of 500.
    await press('x'); await press('t'); await press('p');
    seen.grey = pixel(0, 0.55, 0.06);
    // Toggles change pixels: 2 x 30 + 5 is of class 2 in the prediction, 1 in the truth.
    const bare = pixels(0);
    await press('p');
    seen.prediction = pixels(0) !== bare;
    seen.class2 = pixel(0, 0.55, 0.56);
    await press('p');
    await click(button('truth'));
    seen.truth = pixels(0) !== bare;
    await press('t');
    await click(button('errors'));
    seen.wrong = pixel(0, 0.55, 0.56);
    seen.missed = pixel(0, 0.35, 0.56);
    seen.invented = pixel(0, 0.75, 0.56);
    await click(button('errors'));
    seen.again = pixels(0) === bare;
    await press('a');
    seen.attention = pixels(0) !== bare;
    seen.ends = Array.from(document.querySelectorAll('.ends span'), (e) => e.textContent);
    seen.left = pixel(0, 0.02, 0.06); seen.right = pixel(0, 0.98, 0.06);
    seen.facts = document.querySelector('.facts').textContent;
    seen.hash = location.hash;
    const {length} = document.querySelectorAll('.group button');
    await press('n');
    await ready(1);
    seen.second = document.querySelector('select').value;
    seen.without = length - document.querySelectorAll('.group button').length;
    seen.fits = document.documentElement.scrollWidth <= innerWidth;
    return seen;
  )js");
  CHECK(seen.console == "");
  const json& r = seen.report;
  CHECK(r["start"][0] == "axialslice 3 of 0–5, 9.0 mm");
  CHECK(r["start"][1] == "coronalslice 6 of 0–9, 12.0 mm");
  CHECK(r["aspects"][0].get<double>() == Approx(10.0 / 16).epsilon(0.02));
  CHECK(r["aspects"][1].get<double>() == Approx(10.0 / 18).epsilon(0.02));
  CHECK(r["aspects"][2].get<double>() == Approx(16.0 / 18).epsilon(0.02));
  CHECK(r["slid"] == "axialslice 1 of 0–5, 3.0 mm");
  CHECK(r["changed"] == true);
  CHECK(r["wheeled"] == "coronalslice 9 of 0–9, 18.0 mm");
  CHECK(r["keyed"] == "sagittalslice 3 of 0–9, 3.0 mm");
  CHECK(r["marked"] == "axialslice 2 of 0–5, 6.0 mm");
  CHECK(r["clicked"] == json({"axialslice 2 of 0–5, 6.0 mm", "coronalslice 5 of 0–9, 10.0 mm",
                              "sagittalslice 5 of 0–9, 5.0 mm"}));
  CHECK(r["grey"] == json({105, 105, 105}));  // 205 of 500
  for (const char* change : {"prediction", "truth", "again", "attention"}) CHECK(r[change] == true);
  // Half of the colour, half of 245 of 500.
  const auto over = [](Colour c) {
    const auto half = [](int v) {
      return 125 + static_cast<int>(std::floor(0.5 * (v - 125) + 0.5));
    };
    return json{half(c.r), half(c.g), half(c.b)};
  };
  CHECK(r["wrong"] == over(colour_of(VoxelError::kWrongClass)));
  CHECK(r["class2"] != r["wrong"]);
  CHECK(r["missed"][2] > r["missed"][0]);      // bluish
  CHECK(r["invented"][0] > r["invented"][1]);  // reddish
  CHECK(r["left"][2] > r["left"][0]);          // below 0
  CHECK(r["right"][0] > r["right"][2]);        // above it
  CHECK(r["ends"] == json({"−1.00", "−0.500", "0", "0.500", "1.00"}));
  const std::string facts = r["facts"];
  for (const char* text :
       {"75.00 %", "in neither", "6 × 10 × 10 voxels", "6 × 8 × 10 of 3 × 2 × 1 mm",
        "right is at the left", "percentile 0.5", "Voxel 2, 5, 5 of the file: 235, truth liver"})
    CHECK_THAT(facts, Catch::Contains(text));
  CHECK(r["hash"] == "#case=0&at=2.3.5&show=&map=0&opacity=0.5");
  CHECK(r["second"] == "second");
  CHECK(r["without"] == 2);  // no attention: neither off nor the stage
  CHECK(r["fits"] == true);
}

TEST_CASE("volume page: a case without truth has nothing that compares with it",
          "[visualise][browser]") {
  CaseVolume v = test::drawn_case();
  v.truth.clear();
  v.dice.clear();
  const std::string page = volume_page(page_of({v}));
  const json one = data_of_page(page)["cases"][0];
  CHECK(one["truth"] == false);
  CHECK_FALSE(one["classes"][1].contains("dice"));
  if (!test::have_browser()) return;
  const Visit seen = visit(page, R"js(
    const seen = {};
    seen.buttons = Array.from(document.querySelectorAll('button'), (b) => b.textContent);
    seen.facts = document.querySelector('.facts').textContent;
    const picture = () => document.querySelector('.plane canvas').toDataURL();
    const before = picture();
    await press('p');
    seen.prediction = picture() !== before;
    await press('p'); await press('t'); await press('e');
    seen.same = picture() === before;
    await press('a');
    seen.attention = picture() !== before;
    return seen;
  )js");
  CHECK(seen.console == "");
  const json& r = seen.report;
  const std::vector<std::string> buttons = r["buttons"];
  for (const char* gone : {"truth", "errors"})
    CHECK(std::find(buttons.begin(), buttons.end(), gone) == buttons.end());
  const std::string facts = r["facts"];
  CHECK_THAT(facts, Catch::Contains("the file has no truth") && Catch::Contains("prediction ") &&
                        !Catch::Contains("Dice") && !Catch::Contains("false positive"));
  for (const char* change : {"prediction", "same", "attention"}) CHECK(r[change] == true);
}

TEST_CASE("volume page: runs of a case, which begin with their maps", "[visualise][browser]") {
  if (!test::have_browser()) return;
  std::vector<CaseVolume> cases;
  for (const char* run : {"one", "two <b>"}) {
    cases.push_back(test::drawn_case());
    cases.back().run = run;
    cases.back().note = std::string("what spoke for liver in ") + run;
    cases.back().start = Sides3{1, 2, 7};
  }
  VolumePage page = page_of(std::move(cases));
  page.maps = "Method";
  page.begins_with_maps = true;
  const Visit seen = visit(volume_page(page), R"js(
    const seen = {};
    const pressed = () => Array.from(document.querySelectorAll('button[aria-pressed=true]'), (b) => b.textContent);
    const where = () => Array.from(document.querySelectorAll('figcaption'), (e) => e.textContent);
    seen.pressed = pressed();
    seen.start = where();
    seen.titles = document.getElementById('samples').textContent;
    seen.facts = document.querySelector('.facts').textContent;
    await press('ArrowRight');
    const moved = where();
    await click(button('two <b>'));
    await ready(1);
    await settle();
    seen.stays = JSON.stringify(where()) === JSON.stringify(moved);
    seen.second = pressed();
    seen.others = document.querySelector('.facts').textContent;
    seen.hash = location.hash;
    return seen;
  )js");
  CHECK(seen.console == "");
  const json& r = seen.report;
  CHECK(r["pressed"] == json({"one", "truth", "cross", "layers.0"}));
  CHECK(r["start"] == json({"axialslice 1 of 0–5, 3.0 mm", "coronalslice 4 of 0–9, 8.0 mm",
                            "sagittalslice 7 of 0–9, 7.0 mm"}));
  CHECK(r["titles"] == "case");
  CHECK_THAT(r["facts"].get<std::string>(), Catch::Contains("what spoke for liver in one"));
  CHECK(r["stays"] == true);
  CHECK(r["second"] == json({"two <b>", "truth", "cross", "layers.0"}));
  CHECK_THAT(r["others"].get<std::string>(), Catch::Contains("what spoke for liver in two <b>"));
  CHECK_THAT(r["hash"].get<std::string>(), Catch::Contains("case=1"));
}

TEST_CASE("volume page: says that it is sampled, and counts the file's slices",
          "[visualise][browser]") {
  if (!test::have_browser()) return;
  VolumePage page = page_of({test::drawn_case(false)});
  page.case_bytes = 250;
  const Visit seen = visit(volume_page(page), R"js(
    const where = () => Array.from(document.querySelectorAll('figcaption'), (e) => e.textContent);
    await press('3');
    for (let i = 0; i < 12; ++i) await press('ArrowRight');
    const box = document.querySelector('canvas').getBoundingClientRect();
    return {where: where(), aspect: box.width / box.height,
            facts: document.querySelector('.facts').textContent};
  )js");
  CHECK(seen.console == "");
  const json data = data_of_page(volume_page(page))["cases"][0];
  const int step = data["step"][2], kept = data["size"][2];
  REQUIRE(step > 1);
  const int number = (kept - 1) * step + step / 2;
  CHECK(seen.report["where"][2] ==
        "sagittalslice " + std::to_string(number) + " of 0–9, " + std::to_string(number) + ".0 mm");
  CHECK_THAT(seen.report["facts"].get<std::string>(), Catch::Contains("sampled"));
  CHECK(seen.report["aspect"].get<double>() == Approx(10.0 / 16).epsilon(0.02));
}

TEST_CASE("volume page: uses the window's width, zooms, and looks through other windows",
          "[visualise][browser]") {
  if (!test::have_browser()) return;
  CaseVolume v = test::drawn_case(false);
  v.unit = "HU";
  v.range = {-100, 900};
  const Visit seen = visit(volume_page(page_of({v})), R"js(
    const seen = {};
    const planes = () => Array.from(document.querySelectorAll('.plane'));
    const canvas = (k) => planes()[k].querySelector('canvas');
    const copy = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
    copy.canvas.width = copy.canvas.height = 1;
    const pixel = (k, x, y) => {
      const from = canvas(k);
      copy.drawImage(from, -Math.floor(x * from.width), -Math.floor(y * from.height));
      return copy.getImageData(0, 0, 1, 1).data[0];
    };
    const right = Math.max(...planes().map((p) => p.getBoundingClientRect().right));
    const boxes = planes().map((p) => p.getBoundingClientRect());
    seen.rows = new Set(boxes.map((box) => box.top)).size;
    seen.used = right / innerWidth;
    seen.tall = Math.max(...boxes.map((box) => box.height)) / innerHeight;
    seen.edges = Array.from(planes()[0].querySelectorAll('.edge'), (e) => e.textContent).join('');
    await press('x'); await press('t'); await press('p');
    seen.grey = pixel(0, 0.55, 0.06);       // 305 HU in the case's window, 0 to 500
    const [width, level] = document.querySelectorAll('.windowing input');
    seen.window = [width.value, level.value];
    seen.offers = Array.from(document.querySelectorAll('.windowing option'), (e) => e.textContent);
    width.value = 100; width.dispatchEvent(new Event('change'));
    await settle();
    level.value = 300; level.dispatchEvent(new Event('change'));
    await settle();
    seen.narrow = pixel(0, 0.55, 0.06);
    seen.hash = location.hash;
    await press('w');
    seen.again = pixel(0, 0.55, 0.06);
    // Closer: the place under the pointer stays.
    const box = canvas(0).getBoundingClientRect();
    const before = pixel(0, 0.05, 0.06);
    canvas(0).dispatchEvent(new WheelEvent('wheel', {
      deltaY: -300 * Math.log(2), ctrlKey: true, cancelable: true,
      clientX: box.left + 0.001 * box.width, clientY: box.top + 0.001 * box.height}));
    await settle();
    seen.same = pixel(0, 0.05, 0.06) === before;
    seen.corner = pixel(0, 0.95, 0.06);     // column 4 instead of 9
    seen.slice = planes()[0].querySelector('figcaption').textContent;
    await press('0');
    seen.all = pixel(0, 0.95, 0.06);
    return seen;
  )js");
  CHECK(seen.console == "");
  const json& r = seen.report;
  CHECK((r["rows"] == 1 || r["used"].get<double>() < 1));
  CHECK((r["used"].get<double>() > 0.6 || r["tall"].get<double>() > 0.6));
  CHECK(r["edges"] == "APRL");
  CHECK(r["grey"] == 156);  // 305 of 500
  CHECK(r["window"] == json({"500", "250"}));
  CHECK(r["offers"] == json({"this case", "soft tissue", "bone", "brain", "liver", "own"}));
  CHECK(r["narrow"] == 140);  // 55 of 100
  CHECK_THAT(r["hash"].get<std::string>(), Catch::Contains("window=250_350"));
  CHECK(r["again"] == r["grey"]);
  CHECK(r["same"] == true);
  CHECK(r["corner"] == 155);  // 304 of 500
  CHECK(r["all"] == 158);     // 309 of 500
  CHECK(r["slice"] == "axialslice 3 of 0–5, 9.0 mm");
}
