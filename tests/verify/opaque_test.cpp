// Golden cases on a device whose memory the host cannot touch.
#include <catch2/catch.hpp>

#include "tests/support/opaque.h"
#include "tests/support/paths.h"
#include "verify/outcome.h"

using namespace fovea;
using namespace fovea::test;

namespace {

// Cases that did not pass, one line each; `passed` counts the others.
std::string run_all(const char* paper, const Device& device, int& passed) {
  std::string complaints;
  for (const auto& path : verify::cases_in({source_dir() + "/tests/fixtures/" + paper})) {
    const verify::Outcome outcome = verify::run(path, device);
    if (outcome.status == "passed") {
      ++passed;
    } else {
      complaints += outcome.name + ": " + outcome.detail + "\n";
    }
  }
  return complaints;
}

}  // namespace

TEST_CASE("golden cases: all pass on the opaque device", "[verify]") {
  const char* paper = GENERATE("dgsa", "kcla", "gdla", "mala", "dformer");
  const std::int64_t before = opaque_calls();
  int passed = 0;
  CHECK(run_all(paper, make_opaque(), passed) == "");
  CHECK(passed > 10);
  CHECK(opaque_calls() > before + 1000);
}

TEST_CASE("golden cases: all pass where there are only primitives", "[verify]") {
  const char* paper = GENERATE("dgsa", "kcla", "gdla", "mala", "dformer");
  int passed = 0;
  CHECK(run_all(paper, make_opaque(OpaqueKernels::kPrimitives), passed) == "");
  CHECK(passed > 10);
}
