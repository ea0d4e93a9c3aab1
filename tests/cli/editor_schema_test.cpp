// The JSON Schema of experiment files, by a validator that is not ours where there is one.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <cstdlib>

#include "base/file.h"
#include "schema/json/parse.h"
#include "schema/load.h"
#include "tests/support/paths.h"
#include "tests/support/run_cli.h"

using namespace fovea;
using namespace fovea::test;
using schema::Value;

namespace {

// Prints the names of files that do not fit, each with the place of the first complaint.
constexpr const char* kValidate = R"(
import json, pathlib, sys, jsonschema
schema = json.load(open(sys.argv[1]))
jsonschema.Draft7Validator.check_schema(schema)
validator = jsonschema.Draft7Validator(schema)
for path in sorted(pathlib.Path(sys.argv[2]).iterdir()):
    for error in validator.iter_errors(json.load(open(path))):
        print(path.name, error.message[:300])
        break
)";

bool has_validator() { return run_cli("/usr/bin/python3", {"-c", "import jsonschema"}).code == 0; }

// Without comments, which the validator does not read.
Value read(const io::fs::path& path) { return schema::parse(io::read_text(path), path.string()); }

}  // namespace

TEST_CASE("inspect schema: shipped experiments fit, misspelt keys and bad values do not", "[cli]") {
  const TestFolder folder("editor-schema");
  const CliResult printed = run_cli("inspect", {"schema"});
  REQUIRE(printed.code == 0);
  const std::string file = folder.write("fovea.schema.json", printed.out);
  if (!has_validator()) {
    WARN("no python3-jsonschema: nothing is validated");
    return;
  }
  int shipped = 0;
  for (const auto& entry : io::fs::recursive_directory_iterator(source_dir() + "/experiments")) {
    const auto& path = entry.path();
    if (path.extension() != ".json" || path.filename() == "published.json") continue;
    folder.write(
        fmt::format("good/{}-{}", path.parent_path().filename().string(), path.filename().string()),
        read(path).dump());
    ++shipped;
  }
  CHECK(shipped > 40);
  const auto complaints = [&](const char* of) {
    const CliResult result =
        run_cli("/usr/bin/python3", {"-c", kValidate, file, folder.path(of).string()});
    INFO(result.err);
    REQUIRE(result.code == 0);
    return result.out;
  };
  CHECK(complaints("good").empty());

  const std::vector<std::string> bad = {
      R"({"modle": "vit"})",
      R"({"model": "vitt"})",
      R"({"model": {"type": "vit", "dpeth": 3}})",
      R"({"model": {"dpeth": 3}})",
      R"({"model": {"type": "resnet20", "patch_size": 4}})",
      R"({"model": {"type": "vit", "attention": {"type": "m_dgsa", "heads": 4}}})",
      R"({"train": {"epochs": -1}})",
      R"({"train": {"batch_size": "128"}})",
      R"({"train": {"precision": "float16"}})",
      R"({"dataset": {"type": "cifar10", "augment": [{"type": "crop_flip", "pading": 4}]}})",
      R"({"base": "vit.json", "sedes": [0]})",
      R"({"base": {"modle": "vit"}})",
      R"({"base": "vit.json", "rows": [{"nam": "a"}]})"};
  for (std::size_t i = 0; i < bad.size(); ++i)
    folder.write(fmt::format("bad/{:02}.json", i), bad[i]);
  const std::string found = complaints("bad");
  for (std::size_t i = 0; i < bad.size(); ++i) {
    INFO(bad[i] << "\n" << found);
    CHECK_THAT(found, Catch::Contains(fmt::format("{:02}.json ", i)));
  }
}

TEST_CASE("inspect --list: the keys of one entry", "[cli]") {
  const CliResult keys = run_cli("inspect", {"--list", "dataset", "paired_folder"});
  CHECK(keys.code == 0);
  CHECK_THAT(keys.out, Catch::StartsWith("paired_folder: ") && Catch::Contains("  root ") &&
                           Catch::Contains("    val "));
  const CliResult json = run_cli("inspect", {"--list", "schedule", "cosine", "--json"});
  REQUIRE(json.code == 0);
  const Value value = schema::parse(json.out, "out");
  CHECK(value.at("keys").at("properties").at("min_lr").at("default") == Value(0.0));
  const CliResult wrong = run_cli("inspect", {"--list", "dataset", "pairedfolder"});
  CHECK(wrong.code == 2);
  CHECK_THAT(wrong.err, Catch::Contains("did you mean \"paired_folder\"?"));
  // Registries inside others' options count.
  CHECK(run_cli("inspect", {"--list", "transform"}).code == 0);
}
