// The golden cases' program: what it says where there is nothing to say.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include "base/file.h"
#include "tests/support/paths.h"
#include "tests/support/run_cli.h"

using namespace fovea;
using namespace fovea::test;

namespace {

std::string fixture(const std::string& name) { return source_dir() + "/tests/fixtures/" + name; }

}  // namespace

TEST_CASE("verify: nothing to compare is an error", "[cli]") {
  const TestFolder folder("verify");
  io::make_directories(folder.path("empty"));
  const std::string notes = folder.write("others/notes.txt", "no case");
  for (const std::string& path : {folder.path("empty").string(), folder.path("others").string()}) {
    const CliResult result = run_cli("verify", {path});
    CHECK(result.code == 1);
    CHECK_THAT(result.err, Catch::Contains(path + ": holds no golden case"));
  }
  CHECK_THAT(run_cli("verify", {folder.path("none").string()}).err, Catch::Contains("not found"));
  CHECK(run_cli("verify", {notes}).code == 1);
  // A folder of cases does not make up for one without.
  const std::string good = fixture("dgsa/rmsnorm.safetensors");
  CHECK(run_cli("verify", {good}).code == 0);
  CHECK(run_cli("verify", {good, folder.path("empty").string()}).code == 1);
}
