// verify: compares operators and networks with golden cases.

#include <fmt/format.h>

#include <iostream>

#include "backend/devices.h"
#include "base/error.h"
#include "common/app.h"
#include "schema/json/value.h"
#include "verify/outcome.h"
#include "verify/runners.h"

namespace {

using namespace fovea;
namespace fs = std::filesystem;
using verify::Outcome;

void print_line(const Outcome& o) {
  if (o.status == "not implemented") {
    fmt::print("{:<44} not implemented: {}\n", o.name, o.detail);
    return;
  }
  fmt::print("{:<44} {}  max abs {:8.2e}  max rel {:8.2e}  {:5.1f} % of tolerance  {}\n", o.name,
             o.status, o.max_abs, o.max_rel, 100 * o.share, o.detail);
}

int verify_all(const std::vector<std::string>& paths, bool json, const Device& device) {
  verify::runners();  // a table that is wrong is told before anything runs
  int passed = 0, failed = 0, missing = 0;
  schema::Value list = schema::Value::array();
  for (const fs::path& path : verify::cases_in(paths)) {
    const Outcome o = verify::run(path, device);
    (o.status == "passed" ? passed : o.status == "failed" ? failed : missing) += 1;
    if (!json) print_line(o);
    list.push_back(schema::Value::object({{"case", o.name},
                                          {"status", o.status},
                                          {"max_abs", o.max_abs},
                                          {"max_rel", o.max_rel},
                                          {"share_of_tolerance", o.share},
                                          {"detail", o.detail}}));
  }
  if (json) {
    const auto summary = schema::Value::object(
        {{"cases", list}, {"passed", passed}, {"failed", failed}, {"not_implemented", missing}});
    fmt::print("{}\n", summary.dump());
  } else {
    fmt::print("{} passed, {} failed, {} not implemented\n", passed, failed, missing);
  }
  return failed == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  apps::Program program(
      "verify",
      "Compares operators and networks with golden cases, forward and backward.\n\n"
      "Example: fovea verify tests/fixtures/dgsa\n");
  std::vector<std::string> paths;
  std::string device = "cpu";
  int threads = 0;
  bool allow_tf32 = false;
  apps::Options cli = program.options();
  cli.add_option("PATH", paths, "safetensors files or folders of them").required().value("FILE");
  cli.add_option("--device", device, "where they run").value("cpu|opencl|cuda");
  cli.add_flag("--allow-tf32", allow_tf32, "on cuda: float32 on tensor cores, less exact");
  cli.add_option("--threads", threads, "threads (0: all cores)").range(0, 1024);
  program.add_json();
  return program.run(argc, argv, [&] {
    return verify_all(paths, program.common.json,
                      make_device(device, {.threads = threads, .allow_tf32 = allow_tf32}));
  });
}
