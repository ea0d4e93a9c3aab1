// verify: compares operators and networks with golden cases.

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <iostream>

#include "backend/devices.h"
#include "base/error.h"
#include "schema/value.h"
#include "verify/runners.h"

namespace {

using namespace fovea;
namespace fs = std::filesystem;

struct Outcome {
  std::string name;
  std::string status;  // "passed", "failed", "not implemented"
  std::string detail;
  double max_abs = 0, max_rel = 0, share = 0;
};

std::vector<fs::path> cases_in(const std::vector<std::string>& paths) {
  std::vector<fs::path> found;
  for (const std::string& path : paths) {
    FOVEA_CHECK(fs::exists(path), FileError, fmt::format("{}: not found", path));
    if (!fs::is_directory(path)) {
      found.emplace_back(path);
      continue;
    }
    const std::size_t before = found.size();
    for (const auto& entry : fs::recursive_directory_iterator(path)) {
      if (entry.path().extension() == ".safetensors") found.push_back(entry.path());
    }
    // Nothing to compare would look like nothing to complain about.
    FOVEA_CHECK(
        found.size() > before, FileError,
        fmt::format("{}: holds no golden case; expected files that end in .safetensors", path));
  }
  std::sort(found.begin(), found.end());
  return found;
}

Outcome run(const fs::path& path, const Device& device) {
  Outcome outcome{path.filename().string(), "failed", "", 0, 0, 0};
  try {
    const verify::Case c(path, device);
    const verify::Runner* runner = verify::runners().find(c.op());
    if (runner == nullptr) throw verify::NotImplemented(fmt::format("no {}", c.op()));
    verify::Checker check(c);
    (*runner)(c, check);
    check.finish();
    outcome.max_abs = check.max_abs();
    outcome.max_rel = check.max_rel();
    outcome.share = check.share();
    outcome.status = check.passed() ? "passed" : "failed";
    outcome.detail = check.passed() ? fmt::format("worst {}", check.worst()) : check.complaint();
  } catch (const verify::NotImplemented& missing) {
    outcome.status = "not implemented";
    outcome.detail = missing.what();
  } catch (const std::exception& error) {
    outcome.detail = error.what();
  }
  return outcome;
}

void print_line(const Outcome& o) {
  if (o.status == "not implemented") {
    fmt::print("{:<44} not implemented: {}\n", o.name, o.detail);
    return;
  }
  fmt::print("{:<44} {}  max abs {:8.2e}  max rel {:8.2e}  {:5.1f} % of tolerance  {}\n", o.name,
             o.status, o.max_abs, o.max_rel, 100 * o.share, o.detail);
}

int verify_all(const std::vector<std::string>& paths, bool json, int threads) {
  verify::runners();  // a table that is wrong is told before anything runs
  const Device device = make_cpu(threads);
  int passed = 0, failed = 0, missing = 0;
  schema::Value list = schema::Value::array();
  for (const fs::path& path : cases_in(paths)) {
    const Outcome o = run(path, device);
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
  CLI::App app{
      "Compares operators and networks with golden cases, forward and backward.\n\n"
      "Example: verify tests/fixtures/dgsa\n"};
  std::vector<std::string> paths;
  bool json = false;
  int threads = 0;
  app.add_option("PATH", paths, "safetensors files or folders of them")->required();
  app.add_flag("--json", json, "print one JSON object");
  app.add_option("--threads", threads, "threads (0: all cores)");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  try {
    return verify_all(paths, json, threads);
  } catch (const Error& error) {
    std::cerr << "verify: " << error.what() << "\n";
    return 1;
  }
}
