#include "experiment/costs/machine_memory.h"

#include <catch2/catch.hpp>

#include "tests/experiment/fixture.h"

using namespace fovea;
using namespace fovea::experiment;
using namespace fovea::experiment::test;

TEST_CASE("memory: the machine's, or the smallest group's", "[experiment]") {
  const Folder folder("memory");
  CHECK(machine_memory("none") == 0);
  write("m/proc/meminfo", "MemTotal:       16000 kB\nMemFree:  5 kB\n");
  CHECK(machine_memory("m") == 16000 * 1024);
  write("m/proc/self/cgroup", "0::/user/job\n");
  write("m/sys/fs/cgroup/user/job/memory.max", "max\n");
  CHECK(machine_memory("m") == 16000 * 1024);
  write("m/sys/fs/cgroup/user/memory.max", "9000000\n");
  CHECK(machine_memory("m") == 9000000);
  write("m/sys/fs/cgroup/user/job/memory.max", "8000000\n");
  CHECK(machine_memory("m") == 8000000);
  // Version 1, and a container that does not see its own path.
  write("m/proc/self/cgroup", "5:cpu,cpuacct:/x\n3:memory:/docker/abc\n");
  write("m/sys/fs/cgroup/memory/memory.limit_in_bytes", "7000000\n");
  CHECK(machine_memory("m") == 7000000);
  CHECK(machine_memory() > 0);
}
