#include "backend/peaks.h"

#include <catch2/catch.hpp>

#include <filesystem>

#include "backend/cpu/peaks/caches.h"
#include "backend/devices.h"
#include "base/error.h"
#include "tests/support/run_cli.h"

using namespace fovea;
using namespace fovea::test;
using cpu::Cache;

namespace {

// A cache as Linux lists it.
void add_cache(const TestFolder& folder, int index, const char* level, const char* type,
               const char* size, const char* cores) {
  const std::string entry = "index" + std::to_string(index);
  std::filesystem::create_directories(folder.path(entry));
  folder.write(entry + "/level", level);
  folder.write(entry + "/type", type);
  folder.write(entry + "/size", size);
  folder.write(entry + "/shared_cpu_list", cores);
}

}  // namespace

TEST_CASE("caches: those of data, the first level first", "[backend]") {
  const TestFolder folder("caches");
  add_cache(folder, 0, "3\n", "Unified\n", "32M\n", "0-7,64-71\n");
  add_cache(folder, 1, "1\n", "Data\n", "48K\n", "0,64\n");
  add_cache(folder, 2, "1\n", "Instruction\n", "32K\n", "0,64\n");
  add_cache(folder, 3, "2\n", "Unified\n", "2048K\n", "0,64\n");
  const std::vector<Cache> caches = cpu::data_caches(folder.path(""));
  REQUIRE(caches.size() == 3);
  CHECK(caches[0].bytes == 48 << 10);
  CHECK(caches[0].cores == 2);
  CHECK(caches[1].bytes == 2 << 20);
  CHECK(caches[2].level == 3);
  CHECK(caches[2].cores == 16);
  // Of 128 cores, two a first level: 64 of these, and 8 last levels.
  CHECK(cpu::capacity_of(caches[0], 4, 128) == 4 * 48 << 10);
  CHECK(cpu::capacity_of(caches[0], 100, 128) == 64 * 48 << 10);
  CHECK(cpu::capacity_of(caches[2], 1, 128) == 32 << 20);
  CHECK(cpu::capacity_of(caches[2], 100, 128) == 8 * (32 << 20));
  CHECK(cpu::capacity_of(caches[2], 2, 2) == 32 << 20);
}

TEST_CASE("caches: without a list of them usual sizes are taken", "[backend]") {
  const TestFolder folder("no-caches");
  CHECK(cpu::data_caches(folder.path("missing")).size() == 3);
  add_cache(folder, 0, "1", "Data", "much", "0");
  add_cache(folder, 1, "2", "Unified", "99999999999M", "0");
  add_cache(folder, 2, "3", "Unified", "32M", "0");
  const std::vector<Cache> caches = cpu::data_caches(folder.path(""));
  REQUIRE(caches.size() == 3);
  CHECK(caches[0].bytes == 32 << 10);
}

TEST_CASE("caches: lists of cores", "[backend]") {
  CHECK(cpu::cores_of_list("0") == 1);
  CHECK(cpu::cores_of_list("0-3,8") == 5);
  for (const char* list : {"", "x", "3-1", "0-", "1;2", "0-99999999999", "99999999999999999999"})
    CHECK(cpu::cores_of_list(list) == 0);
}

TEST_CASE("peaks: levels end with memory, and another device has none", "[backend]") {
  const Peaks peaks = unmeasured_peaks(make_cpu(2));
  REQUIRE(peaks.levels.size() >= 2);
  CHECK(peaks.levels.front().name == "L1");
  CHECK(peaks.levels.back().name == "memory");
  for (std::size_t i = 1; i + 1 < peaks.levels.size(); ++i)
    CHECK(peaks.levels[i].bytes > peaks.levels[i - 1].bytes);
  CHECK_FALSE(peaks.processor.empty());
  CHECK_THROWS_AS(unmeasured_peaks(make_meta()), BackendError);
  CHECK_THROWS_WITH(measure_peaks(make_meta()), Catch::Contains("expected the host"));
}

TEST_CASE("peaks: all are measured", "[backend][slow]") {
  const Peaks peaks = measure_peaks(make_cpu(1));
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16, DType::kFloat64}) {
    CHECK(peaks.of(dtype).registers > 1e7);  // (under sanitizers too)
    CHECK(peaks.of(dtype).gemm > 1e8);
  }
  for (const MemoryPeak& level : peaks.levels) {
    INFO(level.name);
    for (const double rate :
         {level.read, level.write, level.copy, level.stream_write, level.stream_copy})
      CHECK(rate > 1e8);
  }
  CHECK(peaks.levels.front().read > peaks.levels.back().read);
}
