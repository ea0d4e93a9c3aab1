// Files by the case they belong to.
#include "data/given/channel_files.h"

#include <catch2/catch.hpp>

#include "base/error.h"

using namespace fovea;
using namespace fovea::data;

namespace {

std::vector<GivenFile> given(const std::vector<std::string>& names) {
  std::vector<GivenFile> files;
  for (const std::string& name : names) files.push_back({"scans/" + name, name});
  return files;
}

}  // namespace

TEST_CASE("given cases: channels of a case go by their numbers, whatever the order", "[data]") {
  const auto cases = given_cases(
      given({"b_0001.nii.gz", "a_0000.nii.gz", "b_0000.nii.gz", "a_0001.nii.gz", "whole.nii"}), 2);
  REQUIRE(cases.size() == 3);
  CHECK(cases[0].name == "b");
  using Files = std::vector<std::filesystem::path>;
  CHECK(cases[0].files == Files{"scans/b_0000.nii.gz", "scans/b_0001.nii.gz"});
  CHECK(cases[1].name == "a");
  CHECK(cases[2].name == "whole");
  CHECK(cases[2].files == Files{"scans/whole.nii"});
}

TEST_CASE("given cases: of one channel every file is a case", "[data]") {
  const auto names = [](const std::vector<GivenCase>& cases) {
    std::vector<std::string> all;
    for (const GivenCase& one : cases) all.push_back(one.name);
    return all;
  };
  using Names = std::vector<std::string>;
  CHECK(names(given_cases(given({"a_0000.nii.gz", "a_0001.nii.gz", "more/b.nii"}), 1)) ==
        Names{"a", "a_0001", "more/b"});
  // Names of pictures and recordings are not read.
  CHECK(names(given_cases(given({"a_0000.png", "b.c.png"}), 0)) == Names{"a_0000", "b.c"});
}

TEST_CASE("given cases: numbers that do not fit are refused", "[data]") {
  CHECK_THROWS_WITH(given_cases(given({"a_0001.nii", "a_0002.nii"}), 2),
                    "a: its channels are a_0001.nii, a_0002.nii; expected files that end in _0000 "
                    "to _0001");
  CHECK_THROWS_WITH(given_cases(given({"a_0000.nii", "a_0000.nii.gz"}), 2),
                    Catch::Contains("is channel 0 of its case, as scans/a_0000.nii is"));
  // Another number of files is for those who read them.
  CHECK(given_cases(given({"a_0000.nii", "a_0002.nii"}), 3).front().files.size() == 2);
}
