#include "base/cores.h"

#include <sched.h>
#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

using namespace fovea;
namespace fs = std::filesystem;

namespace {

class Groups {
 public:
  Groups() : root_(fs::temp_directory_path() / ("fovea-cores-" + std::to_string(getpid()))) {
    fs::remove_all(root_);
  }
  ~Groups() { fs::remove_all(root_); }
  Groups& file(const std::string& name, const std::string& content) {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << content;
    return *this;
  }
  const fs::path& root() const { return root_; }

 private:
  fs::path root_;
};

}  // namespace

TEST_CASE("cores: the quota of a control group, rounded up", "[base]") {
  struct Case {
    const char* content;
    int cores;
  };
  const auto c = GENERATE(values<Case>({{"max 100000\n", 0},
                                        {"100000 100000\n", 1},
                                        {"150000 100000\n", 2},
                                        {"1000 100000\n", 1},
                                        {"800000 100000\n", 8},
                                        {"", 0},
                                        {"100000\n", 0},
                                        {"0 0\n", 0},
                                        {"9223372036854775807 1\n", 1 << 20},
                                        {"nonsense\n", 0}}));
  CAPTURE(c.content);
  Groups groups;
  groups.file("cpu.max", c.content);
  CHECK(quota_cores("0::/\n", groups.root()) == c.cores);
}

TEST_CASE("cores: the tightest of the groups from the process up to the root counts", "[base]") {
  Groups groups;
  groups.file("a/b/cpu.max", "max 100000\n").file("a/cpu.max", "300000 100000\n");
  groups.file("c/cpu.max", "100000 100000\n");
  CHECK(quota_cores("0::/a/b\n", groups.root()) == 3);
  groups.file("a/b/cpu.max", "200000 100000\n");
  CHECK(quota_cores("0::/a/b\n", groups.root()) == 2);
  CHECK(quota_cores("0::/nowhere\n", groups.root()) == 0);
}

TEST_CASE("cores: both versions of control groups, and both at once", "[base]") {
  Groups groups;
  groups.file("cpu,cpuacct/box/cpu.cfs_quota_us", "250000\n")
      .file("cpu,cpuacct/box/cpu.cfs_period_us", "100000\n")
      .file("cpu,cpuacct/cpu.cfs_quota_us", "-1\n")
      .file("cpu,cpuacct/cpu.cfs_period_us", "100000\n")
      .file("memory/box/cpu.cfs_quota_us", "100000\n")
      .file("memory/box/cpu.cfs_period_us", "100000\n");
  const std::string lines = "5:memory:/box\n4:cpu,cpuacct:/box\n0::/\n";
  CHECK(quota_cores(lines, groups.root()) == 3);
  groups.file("unified/cpu.max", "200000 100000\n");
  CHECK(quota_cores(lines, groups.root()) == 2);
}

TEST_CASE("cores: the affinity mask counts", "[base]") {
  int one = 0;
  // The mask is that of a thread.
  std::thread([&] {
    cpu_set_t mask;
    REQUIRE(sched_getaffinity(0, sizeof mask, &mask) == 0);
    int first = 0;
    while (!CPU_ISSET(first, &mask)) ++first;
    CPU_ZERO(&mask);
    CPU_SET(first, &mask);
    REQUIRE(sched_setaffinity(0, sizeof mask, &mask) == 0);
    one = usable_cores();
  }).join();
  CHECK(one == 1);
  CHECK(usable_cores() >= 1);
  CHECK(usable_cores() <= static_cast<int>(std::thread::hardware_concurrency()));
}
