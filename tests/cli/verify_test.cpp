// The golden cases' program: what it says where there is nothing to say.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include "backend/devices.h"
#include "base/file.h"
#include "tensor/safetensors.h"
#include "tests/support/paths.h"
#include "tests/support/run_cli.h"

using namespace fovea;
using namespace fovea::test;

namespace {

std::string fixture(const std::string& name) { return source_dir() + "/tests/fixtures/" + name; }

// Stochastic depth with a mask for a large batch; `wrong` is added to the expected values.
void write_drop_path(const io::fs::path& path, float wrong) {
  constexpr std::int64_t kSamples = 48, kSize = 5;
  const Device cpu = make_cpu(1);
  std::vector<float> x, mask, y, dx;
  for (std::int64_t i = 0; i < kSamples; ++i) {
    mask.push_back(i % 5 == 2 || i % 7 == 3 ? 0.0f : 1.0f);
    for (std::int64_t k = 0; k < kSize; ++k) {
      x.push_back(static_cast<float>(i * 7 % 11 - k) + 0.5f);
      y.push_back(x.back() * mask.back() / 0.75f + wrong);
      dx.push_back(mask.back() / 0.75f);
    }
  }
  const auto rows = [&](const std::vector<float>& values) {
    return Tensor::from(values, {kSamples, kSize}, cpu);
  };
  TensorFile file;
  file.tensors = {{"input/x", rows(x)},
                  {"input/mask", Tensor::from(mask, {kSamples, 1}, cpu)},
                  {"output/y", rows(y)},
                  {"upstream/y", rows(std::vector<float>(kSamples * kSize, 1.0f))},
                  {"grad_input/x", rows(dx)}};
  const std::string rule = R"({"rtol": 0, "atol": 1e-5})";
  file.metadata = {{"operator", "drop_path"},
                   {"config", R"({"drop_prob": 0.25})"},
                   {"tolerance", fmt::format(R"({{"output": {0}, "grad": {0}}})", rule)}};
  write_safetensors(path, file);
}

}  // namespace

TEST_CASE("verify: drop path with any mask, however large the batch", "[cli]") {
  const TestFolder folder("verify-drop-path");
  const std::string path = folder.path("drop_path.safetensors").string();
  write_drop_path(path, 0);
  const CliResult right = run_cli("verify", {path});
  CHECK(right.code == 0);
  CHECK_THAT(right.out, Catch::Contains("1 passed"));
  write_drop_path(path, 1e-3f);
  CHECK(run_cli("verify", {path}).code == 1);
}

TEST_CASE("verify: values that are not compared and tensors nobody reads fail", "[cli]") {
  const TestFolder folder("verify-extra");
  TensorFile file = read_safetensors(fixture("dgsa/rmsnorm.safetensors"), make_cpu(1));
  const Tensor extra = Tensor::from(std::vector<float>{1}, {1}, make_cpu(1));
  const std::string path = folder.path("extra.safetensors").string();
  for (const char* name : {"aux/extra", "f64/extra", "other"}) {
    TensorFile changed = file;
    changed.tensors.emplace(name, extra);
    write_safetensors(path, changed);
    const CliResult result = run_cli("verify", {path});
    CHECK(result.code == 1);
    CHECK_THAT(result.out, Catch::Contains(name));
  }
}

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
