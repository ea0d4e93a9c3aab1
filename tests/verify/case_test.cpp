#include "verify/case.h"

#include <fmt/format.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "backend/devices.h"
#include "base/file.h"
#include "verify/table.h"

using namespace fovea;
using verify::Case;
using verify::Checker;

namespace {

// A case with one input, output and parameter and one auxiliary value, as a file.
struct CaseFile {
  CaseFile()
      : path(io::fs::temp_directory_path() / fmt::format("fovea_case_{}.safetensors", ::getpid())) {
    TensorFile file;
    for (const char* name : {"input/x", "param/w", "output/y", "aux/map"})
      file.tensors.emplace(name, Tensor::from(std::vector<float>{1, 2}, {2}, cpu));
    file.metadata = {
        {"operator", "something"},
        {"tolerance",
         R"({"output": {"rtol": 0, "atol": 1e-6}, "grad": {"rtol": 0, "atol": 1e-6}})"}};
    write_safetensors(path, file);
  }
  ~CaseFile() { io::fs::remove(path); }
  Case read() const { return Case(path, cpu); }

  Device cpu = make_cpu(1);
  io::fs::path path;
};

const std::vector<double> kRight = {1, 2};

}  // namespace

TEST_CASE("case: passes when everything was read and compared", "[verify]") {
  const CaseFile file;
  const Case c = file.read();
  Checker check(c);
  c.at("input/x");
  c.below("param/");
  check.compare("output/y", kRight);
  check.compare("aux/map", kRight);
  check.finish();
  CHECK(check.complaint() == "");
}

TEST_CASE("case: an auxiliary value that was not compared fails", "[verify]") {
  const CaseFile file;
  const Case c = file.read();
  Checker check(c);
  c.at("input/x");
  c.below("param/");
  check.compare("output/y", kRight);
  c.at("aux/map");  // reading is not comparing
  check.finish();
  CHECK_THAT(check.complaint(), Catch::Contains("aux/map: was not compared"));
}

TEST_CASE("case: a tensor that nothing looked at fails", "[verify]") {
  const CaseFile file;
  const Case c = file.read();
  Checker check(c);
  c.at("input/x");
  CHECK(c.has("param/w"));  // asking is not reading
  check.compare("output/y", kRight);
  check.compare("aux/map", kRight);
  CHECK(c.untouched() == std::vector<std::string>{"param/w"});
  check.finish();
  CHECK_THAT(check.complaint(), Catch::Contains("param/w: nothing looked at it"));
}

TEST_CASE("table: two runners of one name are refused", "[verify]") {
  verify::Table table;
  table.add("norm") = [](const Case&, Checker&) {};
  CHECK(table.find("norm") != nullptr);
  CHECK(table.find("other") == nullptr);
  CHECK_THROWS_WITH(table.add("norm"), Catch::Contains("two runners are called \"norm\""));
  verify::Table second;
  second.add("norm") = [](const Case&, Checker&) {};
  CHECK_THROWS_WITH(table.merge(second), Catch::Contains("norm"));
}
