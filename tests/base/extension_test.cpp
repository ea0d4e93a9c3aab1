#include "base/extension.h"

#include <catch2/catch.hpp>

using namespace fovea;

TEST_CASE("lower_extension: of the last part of a name, in small letters", "[base]") {
  CHECK(lower_extension("a/b.PNG") == ".png");
  CHECK(lower_extension("a.nii.Gz") == ".gz");
  CHECK(lower_extension("a.b/c").empty());
  CHECK(lower_extension("a.\xc3\x84") == ".??");
}
