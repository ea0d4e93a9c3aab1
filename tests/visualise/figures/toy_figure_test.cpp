// A complete figure: how bright the images are that a run sees. In src/visualise/figures it would
// be this file and one line in figures.def.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <numeric>

#include "base/error.h"
#include "base/file.h"
#include "tensor/host.h"
#include "visualise/figures/shared/image_inputs.h"

namespace fovea::visualise {
namespace {

struct BrightnessOptions {
  std::int64_t decimals = 2;
};

void draw_brightness(const FigureRequest& request, const BrightnessOptions& options) {
  std::string csv = "run,input,mean\n";
  for (const ShownRun& run : request.runs) {
    for (const ImageInput& input : image_inputs(request)) {
      const std::vector<double> values = host_doubles(prepared(input, run, request));
      const double mean =
          std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
      csv += fmt::format("{},{},{:.{}f}\n", run.name, input.name, mean, options.decimals);
    }
  }
  io::write_atomic(request.out / "brightness.csv", csv);
  request.say_files({"brightness.csv"});
}

FigureInfo toy_brightness_info() {
  return {.help = "how bright the images are (toy)",
          .files = {"brightness.csv"},
          .fits = "a network of images",
          .misfit = unless_images,
          .most_runs = 2};
}

}  // namespace

FOVEA_FIGURE(toy_brightness, toy_brightness_info(),
             schema::Fields<BrightnessOptions>{}.add("decimals", &BrightnessOptions::decimals,
                                                     schema::in_range(0, 9), "of the numbers"),
             draw_brightness)

}  // namespace fovea::visualise

// All below is the test.
#include "data/registry.h"
#include "schema/json/parse.h"
#include "tests/support/run_cli.h"
#include "tests/support/tensors.h"
#include "visualise/figures/figure_list.h"

using namespace fovea;
using namespace fovea::visualise;
using test::cpu;

namespace {

#define FOVEA_ENTRY(name) figures().add(fovea_figure_##name());
const bool kRegistered = [] {
#include "tests/visualise/figures/toy_figures.def"
  return true;
}();
#undef FOVEA_ENTRY

schema::Component component(const std::string& json) {
  const schema::Value options = schema::parse(json, "test");
  return {options.at("type").as_string(), options};
}

// A network and data for the runs of a request, which keeps what it says.
struct Shown {
  explicit Shown(const std::string& network = R"({"type": "vit", "patch_size": 4, "embed_dim": 8,
                                   "depth": 1, "attention": {"num_heads": 2}})")
      : data(data::make_dataset(component(R"({"type": "synthetic", "img_size": 8, "num_classes": 3,
                                              "test_size": 6})"),
                                data::Split::kTest)),
        model(models::make_model(component(network),
                                 {cpu(), DType::kFloat32, RandomStream(1), nn::Init::kTorch},
                                 {3, 8, 8, 3})),
        folder("toy-figure") {
    request.out = folder.path();
    request.inputs = {"0", "4"};
    request.say = [this](const std::string& line) { said += line + "\n"; };
    request.note = [this](const std::string& line) { notes += line + "\n"; };
  }
  void add_run(const std::string& name) {
    request.runs.push_back({.name = name,
                            .title = name,
                            .weights = "random",
                            .split = data::Split::kTest,
                            .model = *model,
                            .samples = *data,
                            .device = cpu(),
                            .host = cpu(),
                            .signed_maps = false,
                            .pixel_classes = nullptr,
                            .predicted_classes = nullptr,
                            .seen_volume = nullptr,
                            .volume_on_file = nullptr,
                            .add_rollouts = nullptr});
  }

  std::shared_ptr<const data::Dataset> data;
  std::unique_ptr<models::Model> model;
  test::TestFolder folder;
  FigureRequest request;
  std::string said, notes;
};

}  // namespace

TEST_CASE("toy figure: its file and its line make it known and drawn", "[visualise]") {
  Shown shown;
  shown.add_run("one");
  const Figure* toy = asked_figure("toy_brightness", {}, {});
  REQUIRE(toy != nullptr);
  draw_figure(toy, shown.request, {{"decimals", {"4"}}});
  const std::string csv = io::read_text(shown.request.out / "brightness.csv");
  CHECK_THAT(csv, Catch::StartsWith("run,input,mean\none,0: "));
  CHECK(csv.size() - csv.rfind('.') == 1 + 4 + 1);
  CHECK(shown.said == (shown.request.out / "brightness.csv").string() + "\n");
  CHECK(shown.notes.empty());
  // What programs, help and completion are made of.
  CHECK_THAT(figure_lines(), Catch::Contains("toy_brightness") &&
                                 Catch::Contains("how bright the images are (toy)"));
  const std::vector<FigureOption> options = figure_options();
  const auto decimals = std::find_if(options.begin(), options.end(), [](const FigureOption& one) {
    return one.flag == "--decimals";
  });
  REQUIRE(decimals != options.end());
  CHECK(decimals->help == "toy_brightness: of the numbers");
  CHECK(decimals->owners == std::vector<std::string>{"toy_brightness"});
}

TEST_CASE("toy figure: what it does not fit is refused with what does", "[visualise]") {
  Shown shown;
  for (const char* name : {"one", "two", "three"}) shown.add_run(name);
  const Figure& toy = figures().find("toy_brightness");
  CHECK_THROWS_WITH(draw_figure(&toy, shown.request, {}),
                    "--figure toy_brightness: is drawn of at most 2 runs, 3 are given; figures "
                    "that fit all of them: rollout, scores, pca");
  Shown alone;
  alone.add_run("alone");
  CHECK_THROWS_WITH(draw_figure(&toy, alone.request, {{"decimals", {"10"}}}),
                    Catch::StartsWith("--decimals 10: decimals: expected integer from 0 to 9"));
  CHECK_THROWS_WITH(draw_figure(&toy, alone.request, {{"decimals", {"few"}}}),
                    Catch::Contains("got \"few\""));
  CHECK_THROWS_WITH(
      draw_figure(&figures().find("predictions"), alone.request, {}),
      "--predictions: alone is an image classifier; expected segmentation of images or volumes; "
      "figures that fit it: rollout, scores, magnitude, pca, toy_brightness");
  CHECK(io::fs::is_empty(alone.request.out));
}

TEST_CASE("figures: the standard one is drawn unless another is asked for", "[visualise]") {
  Shown shown;
  shown.add_run("one");
  draw_figure(nullptr, shown.request, {{"overlay", {"0"}}, {"no_explorer", {}}});
  CHECK(io::fs::exists(shown.request.out / "rollout.png"));
  CHECK_FALSE(io::fs::exists(shown.request.out / "overlay.png"));
  CHECK_FALSE(io::fs::exists(shown.request.out / "explorer.html"));
  // Options of others: refused where no figure was asked for, else said to be without effect.
  CHECK_THROWS_WITH(draw_figure(nullptr, shown.request, {{"slices", {"2"}}}),
                    "--slices: is an option of --figure slices, --predictions; one reads images, "
                    "of which rollout "
                    "is drawn");
  CHECK_THROWS_WITH(check_options(nullptr, {{"stage", {"1"}}}),
                    "--stage: is an option of --maps; none is given");
  const Figure& scores = figures().find("scores");
  CHECK_NOTHROW(check_options(&scores, {{"stage", {"1"}}}));
  draw_figure(&scores, shown.request, {{"stage", {"1"}}});
  CHECK(shown.notes == "--stage: is an option of --maps; scores is drawn without it\n");
}

TEST_CASE("figures: a network that tells nothing of what is drawn", "[visualise]") {
  Shown shown(R"({"type": "resnet20", "planes": [4, 4, 4]})");
  shown.add_run("resnet");
  CHECK_THROWS_WITH(draw_figure(nullptr, shown.request, {}),
                    Catch::Contains("figures that fit it: pca, toy_brightness"));
  CHECK_THROWS_WITH(draw_figure(&figures().find("rollout"), shown.request, {}),
                    Catch::StartsWith("--figure rollout: resnet has no one grid for all of its "
                                      "blocks; expected a network of images"));
}
