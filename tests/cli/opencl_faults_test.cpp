// A driver that fails in the middle of a run: one line, and the last checkpoint is whole.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <regex>

#include "base/file.h"
#include "tests/cli/refusal.h"
#include "tests/support/paths.h"
#include "tests/support/run_cli.h"
#include "tests/support/setting.h"

using namespace fovea;
using namespace fovea::test;

namespace {

std::string experiment_of(const TestFolder& folder, const std::string& train) {
  return folder.write("experiment.json", fmt::format(
                                             R"({{"name": "faults", "seed": 3,
  "dataset": {{"type": "digits", "root": "{}/datasets/digits", "limit": {{"train": 64, "test": 40}}}},
  "model": {{"type": "dgvit", "patch_size": 4, "embed_dim": 16, "depth": 2,
            "attention": {{"num_heads": 2}}}},
  "train": {{"batch_size": 16, "device": "opencl", "tensorboard": false, {}}}}})",
                                             source_dir(), train));
}

// A driver whose function fails from its n-th call on.
class FaultyDriver {
 public:
  FaultyDriver(const char* function, int call, int code)
      : preload_("LD_PRELOAD", FOVEA_OPENCL_FAULTS),
        fault_("FOVEA_OPENCL_FAULT", fmt::format("{}:{}:{}", function, call, code)) {}

 private:
  Setting preload_, fault_;
};

}  // namespace

TEST_CASE("opencl: a driver that fails in a run leaves the last checkpoint and one line",
          "[cli][opencl]") {
  const TestFolder folder("cli-opencl-faults");
  const std::string experiment =
      experiment_of(folder, R"("epochs": 3, "checkpoint_every_steps": 1)");
  const io::fs::path straight = folder.path("straight");
  REQUIRE(run_cli("train", {experiment, "--out", straight.string(), "--quiet"}).code == 0);
  const auto weights = [](const io::fs::path& run) {
    return io::read_text(checkpoint_of(run) / "model.safetensors");
  };
  struct Fault {
    const char* function;
    int call, code;
    const char* message;
  };
  const auto fault = GENERATE(values<Fault>({
      {"clEnqueueNDRangeKernel", 1000, -5, "the device has no memory left (-5)"},
      {"clEnqueueNDRangeKernel", 1000, -36, "the device is lost (-36)"},
      {"clEnqueueReadBuffer", 400, -2, "download: the device is not available (-2)"},
      {"clEnqueueWriteBuffer", 400, -5, "upload: the device has no memory left (-5)"},
      {"clWaitForEvents", 4, -14, "waiting: a command failed"},
  }));
  INFO(fault.function << " " << fault.code);
  const io::fs::path run = folder.path(fmt::format("{}{}", fault.function, fault.code));
  {
    const FaultyDriver driver(fault.function, fault.call, fault.code);
    check_refusal(run_cli("train", {experiment, "--out", run.string(), "--quiet"}), 1,
                  fault.message);
  }
  REQUIRE(io::fs::exists(run / "checkpoints/last"));
  CHECK_FALSE(io::fs::exists(run / "summary.json"));
  CHECK(run_cli("train", {experiment, "--out", run.string(), "--resume", "--quiet"}).code == 0);
  CHECK(weights(run) == weights(straight));
}

TEST_CASE("opencl: what a driver refuses before the first step is said in one line",
          "[cli][opencl]") {
  const TestFolder folder("cli-opencl-refusals");
  const std::string experiment = experiment_of(folder, R"("steps": 1)");
  const auto refused = [&](const char* function, int code, const std::string& message) {
    const FaultyDriver driver(function, 1, code);
    check_refusal(run_cli("train", {experiment, "--out", folder.path("run").string(), "--quiet"}),
                  1, message);
  };
  refused("clGetPlatformIDs", -1001, "opencl: no driver with a device is installed");
  refused("clEnqueueMigrateMemObjects", -4, "out of memory: a tensor of");
  const Setting cache("XDG_CACHE_HOME", folder.path("cache").string());
  refused("clBuildProgram", -11, "does not compile for");
}

TEST_CASE("opencl: a device without float64 trains in float32", "[cli][opencl]") {
  const TestFolder folder("cli-opencl-float64");
  const std::string experiment = experiment_of(folder, R"("steps": 4, "clip_grad": 1)");
  const auto loss_of = [&](const std::string& run) {
    REQUIRE(run_cli("train", {experiment, "--out", folder.path(run).string(), "--quiet"}).code ==
            0);
    const std::string text = io::read_text(folder.path(run) / "metrics.jsonl");
    std::smatch found;
    REQUIRE(std::regex_search(text, found, std::regex(R"("grad_norm":([0-9.e+-]+))")));
    return std::stod(found[1]);
  };
  const double with = loss_of("with");
  const Setting without("FOVEA_OPENCL_FLOAT64", "off");
  CHECK(loss_of("without") == Approx(with).epsilon(1e-5));
}
