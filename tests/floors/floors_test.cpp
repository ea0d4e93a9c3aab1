// The picture of the floors in docs/ is that of the includes, and every floor has its page.
#include "floors/floors.h"

#include <catch2/catch.hpp>

#include <algorithm>

#include "base/file.h"
#include "tests/support/paths.h"

using namespace fovea;
using floors::Floor;

TEST_CASE("floors: the picture in docs is that of the includes", "[floors]") {
  const io::fs::path root = test::source_dir();
  const auto all = floors::read_floors(root);
  CHECK(floors::circle_of(all).empty());
  INFO("tools/make-docs draws it again");
  CHECK(floors::picture_of(all) == io::read_text(root / "docs" / "floors.svg"));
}

TEST_CASE("floors: a page is under 80 lines and names every room", "[floors]") {
  const io::fs::path root = test::source_dir();
  for (const auto& [name, floor] : floors::read_floors(root)) {
    const io::fs::path folder =
        name == "apps" || name == "tools" ? root / name : root / "src" / name;
    const std::string page = io::read_text(folder / "README.md");
    INFO(name);
    CHECK(std::count(page.begin(), page.end(), '\n') < 80);
    for (const auto& entry : io::fs::directory_iterator(folder)) {
      if (!entry.is_directory()) continue;
      INFO(entry.path());
      CHECK_THAT(page, Catch::Contains("`" + entry.path().filename().string() + "/"));
    }
  }
}

TEST_CASE("floors: an arrow goes where no other one leads, a circle is named", "[floors]") {
  std::map<std::string, Floor> tower{{"base", {"base", "errors", {}}},
                                     {"data", {"data", "sets", {"base"}}},
                                     {"ops", {"ops", "sums", {"base"}}},
                                     {"nn", {"nn", "layers", {"ops", "base"}}},
                                     {"apps", {"apps", "programs", {"nn", "data", "base"}}}};
  const std::string picture = floors::picture_of(tower);
  for (const char* words : {"errors", "sets", "sums", "layers", "programs"})
    CHECK_THAT(picture, Catch::Contains(words));
  // apps -> nn -> ops -> base, apps -> data -> base: five arrows of seven includes.
  std::size_t heads = 0;
  for (std::size_t at = picture.find("<polygon"); at != std::string::npos;
       at = picture.find("<polygon", at + 1))
    ++heads;
  CHECK(heads == 5);
  tower["base"].uses = {"nn"};
  const std::vector<std::string> circle = floors::circle_of(tower);
  REQUIRE(circle.size() > 2);
  CHECK(circle.front() == circle.back());
  CHECK_THROWS_WITH(floors::picture_of(tower), Catch::Contains("include each other"));
}
