#include "visualise/figures/figure_list.h"

#include <catch2/catch.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "tests/support/paths.h"

using namespace fovea;
using namespace fovea::visualise;

namespace {

bool is_toy(const Figure& figure) { return figure.name.starts_with("toy_"); }

}  // namespace

TEST_CASE("figures: every one says what it is, and the documentation has its words",
          "[visualise]") {
  const std::string page = io::read_text(test::source_dir() + "/docs/visualising.md");
  std::size_t at = page.find("| figure | draws | of | files |");
  REQUIRE(at != std::string::npos);
  for (const Figure& figure : figures()) {
    INFO(figure.name);
    CHECK(figure.help.find('\n') == std::string::npos);
    CHECK(figure.fields != nullptr);
    CHECK(figure.info.misfit);
    for (const schema::Field& field : figure.fields->fields()) CHECK_FALSE(field.help.empty());
    if (is_toy(figure)) continue;
    // The rows of the table, in the order of figures.def.
    const std::string name = figure.info.flag
                                 ? fmt::format("`{}`, `{}`", figure.name, figure.asked_by())
                                 : fmt::format("`{}`", figure.name);
    const std::string row = fmt::format("| {} | {} | {} | `{}` |", name, figure.help,
                                        figure.info.fits, fmt::join(figure.info.files, "`, `"));
    const std::size_t found = page.find(row);
    INFO(row);
    REQUIRE(found != std::string::npos);
    CHECK(found > at);
    at = found;
  }
}

TEST_CASE("figures: asked for by name, by flag or by option, one at a time", "[visualise]") {
  CHECK(asked_figure("", {}, {}) == nullptr);
  const Figure* scores = &figures().find("scores");
  CHECK(asked_figure("scores", {}, {}) == scores);
  CHECK(asked_figure("", {"scores"}, {}) == scores);
  CHECK(asked_figure("scores", {"scores"}, {}) == scores);
  CHECK(asked_figure("", {}, {{"maps", {"update"}}}) == &figures().find("maps"));
  CHECK_THROWS_WITH(asked_figure("score", {}, {}),
                    "--figure: no figure called \"score\"; did you mean \"scores\"? run: fovea "
                    "inspect --list figure");
  const std::string each =
      "--scores, --magnitude, --pca, --across-depth, --maps, --predictions: each is drawn instead "
      "of rollouts; give one";
  CHECK_THROWS_WITH(asked_figure("", {"scores", "pca"}, {}), each);
  CHECK_THROWS_WITH(asked_figure("rollout", {"pca"}, {}), each);
  CHECK_THROWS_WITH(asked_figure("", {"pca"}, {{"maps", {"update"}}}), each);
}

TEST_CASE("figures: an option of several is one flag that says what it is to each", "[visualise]") {
  const std::vector<FigureOption> options = figure_options();
  const auto option = [&](const std::string& flag) {
    const auto found = std::find_if(options.begin(), options.end(),
                                    [&](const FigureOption& one) { return one.flag == flag; });
    REQUIRE(found != options.end());
    return *found;
  };
  const FigureOption normalise = option("--normalise");
  CHECK(normalise.owners == std::vector<std::string>{"rollout", "text_rollout", "speech",
                                                     "next_token", "denoising", "scores"});
  CHECK(normalise.range.names ==
        std::vector<std::string>{"sum", "abs", "none", "minmax", "rowsum"});
  CHECK_THAT(normalise.help, Catch::StartsWith("rollout, text_rollout, speech, next_token, "
                                               "denoising: rows") &&
                                 Catch::Contains("; scores: each picture"));
  CHECK(option("--start-layer").key == "start_layer");
  CHECK(std::count_if(options.begin(), options.end(),
                      [](const FigureOption& one) { return one.key == "query"; }) == 1);
}
