#include "experiment/costs/measured_peaks.h"

#include <catch2/catch.hpp>

#include <cstdlib>
#include <filesystem>

#include "backend/devices.h"
#include "base/error.h"
#include "base/file.h"
#include "tests/support/run_cli.h"

using namespace fovea;
using namespace fovea::test;
namespace fs = std::filesystem;

namespace {

Peaks some_peaks() {
  Peaks peaks;
  peaks.processor = "a processor";
  peaks.backend = "cpu, 2 threads";
  peaks.float32 = {1.5e11, 1e11};
  peaks.bfloat16 = {1.5e11, 9e10};
  peaks.float64 = {7e10, 6e10};
  peaks.levels = {{"L1", 65536, 3e11, 2e11, 1234.5, 1e10, 9e9},
                  {"memory", 0, 2e10, 1e10, 1e10, 2e10, 1.5e10}};
  return peaks;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("peaks: a file gives back what was measured", "[experiment]") {
  const TestFolder folder("measured-peaks");
  const fs::path file = folder.path("new") / "peaks.json";
  const Peaks peaks = some_peaks();
  CHECK_FALSE(experiment::read_peaks(file, peaks));
  experiment::write_peaks(file, peaks);
  Peaks expected = peaks;
  expected.float32 = {};
  for (MemoryPeak& level : expected.levels) level.copy = 0;
  const std::optional<Peaks> read = experiment::read_peaks(file, expected);
  REQUIRE(read);
  CHECK(read->float32.registers == 1.5e11);
  CHECK(read->bfloat16.gemm == 9e10);
  CHECK(read->levels[0].copy == 1234.5);
  CHECK(read->levels[1].stream_write == 2e10);

  SECTION("of another processor, backend or cache it is not taken") {
    Peaks other = peaks;
    other.processor = "another";
    CHECK_FALSE(experiment::read_peaks(file, other));
    other = peaks;
    other.backend = "cpu, 1 threads";
    CHECK_FALSE(experiment::read_peaks(file, other));
    other = peaks;
    other.levels[0].bytes = 32768;
    CHECK_FALSE(experiment::read_peaks(file, other));
    other = peaks;
    other.levels.pop_back();
    CHECK_FALSE(experiment::read_peaks(file, other));
  }
  SECTION("damaged it is not taken") {
    const std::string text = io::read_text(file);
    const auto refused = [&](const std::string& content) {
      io::write_atomic(file, content);
      return !experiment::read_peaks(file, peaks);
    };
    CHECK(refused(""));
    CHECK(refused(text.substr(0, text.size() / 2)));
    CHECK(refused("[]"));
    CHECK(refused(replaced(text, "\"gemm\"", "\"product\"")));
    CHECK(refused(replaced(text, "\"copy\": 1234.5", "\"copy\": 0.0")));
    CHECK(refused(replaced(text, "\"copy\": 1234.5", "\"copy\": -1.0")));
    CHECK(refused(replaced(text, "\"copy\": 1234.5", "\"copy\": \"fast\"")));
    CHECK(refused(replaced(text, "\"copy\": 1234.5", "\"copy\": null")));
    CHECK_FALSE(refused(text));
  }
  SECTION("a folder in its place is no file") {
    io::remove_all(file);
    fs::create_directories(file);
    CHECK_FALSE(experiment::read_peaks(file, peaks));
    CHECK_THROWS_AS(experiment::write_peaks(file, peaks), FileError);
  }
}

TEST_CASE("peaks: other processors and backends have files of their own", "[experiment]") {
  Peaks peaks = some_peaks();
  const fs::path file = experiment::peaks_file(peaks);
  CHECK(file == experiment::peaks_file(peaks));
  peaks.backend = "cpu, 1 threads";
  CHECK(file != experiment::peaks_file(peaks));
}

TEST_CASE("peaks: only those of the host are measured", "[experiment]") {
  CHECK_THROWS_AS(experiment::measured_peaks(make_meta()), BackendError);
}
