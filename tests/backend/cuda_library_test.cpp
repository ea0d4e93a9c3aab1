// Where libraries of CUDA are looked for. (They need not be installed.)
#include "backend/gpu/cuda/library.h"

#include <catch2/catch.hpp>

#include <filesystem>
#include <string>

#include "backend/devices.h"
#include "tests/support/run_cli.h"
#include "tests/support/setting.h"

using fovea::gpu::DynamicLibrary;
using fovea::test::Setting;
using fovea::test::TestFolder;

namespace {

// A library that surely is there, under a name that no system has.
std::string put_library(const TestFolder& folder, const std::string& name) {
  Dl_info here{};
  REQUIRE(dladdr(dlsym(RTLD_DEFAULT, "cos"), &here) != 0);
  std::filesystem::copy_file(std::filesystem::canonical(here.dli_fname), folder.path(name));
  return folder.path().string();
}

bool is_there(const std::string& name) {
  return DynamicLibrary(name).function<void (*)()>("cos") != nullptr;
}

}  // namespace

TEST_CASE("libraries of CUDA: the folders of FOVEA_CUDA_LIBRARIES come first", "[backend]") {
  const TestFolder empty("libraries_none"), full("libraries");
  const std::string name = "libfovea_stub.so.13";
  const std::string folder = put_library(full, name);
  const std::string other = empty.path().string();
  CHECK_FALSE(is_there(name));
  for (const std::string& folders : {folder, other + ":" + folder, folder + ":" + other,
                                     ":" + folder + ":", "/none:" + folder}) {
    INFO(folders);
    const Setting set("FOVEA_CUDA_LIBRARIES", folders);
    CHECK(is_there(name));
  }
  for (const std::string& folders :
       {other, std::string("/none"), std::string(":"), std::string()}) {
    INFO(folders);
    const Setting set("FOVEA_CUDA_LIBRARIES", folders);
    CHECK_FALSE(is_there(name));
    CHECK(is_there("libm.so.6"));  // as the system finds it
  }
}

TEST_CASE("libraries of CUDA: what is missing says where it was looked for", "[backend]") {
  const std::string name = "libfovea_stub.so.13";
  {
    const Setting set("FOVEA_CUDA_LIBRARIES", "");
    CHECK(fovea::gpu::not_found(name) ==
          "libfovea_stub.so.13 is not installed; install it, or name its folder in "
          "FOVEA_CUDA_LIBRARIES");
  }
  const Setting set("FOVEA_CUDA_LIBRARIES", "/a:/b");
  CHECK(fovea::gpu::not_found(name) ==
        "libfovea_stub.so.13 is neither in /a:/b (FOVEA_CUDA_LIBRARIES) nor installed");
}

TEST_CASE("libraries of CUDA: only its devices miss them", "[backend]") {
  CHECK(fovea::missing_libraries(fovea::DeviceType::kCpu).empty());
  CHECK(fovea::missing_libraries(fovea::DeviceType::kOpenCl).empty());
  for (const std::string& line : fovea::missing_libraries(fovea::DeviceType::kCuda)) {
    INFO(line);
    CHECK_THAT(line, Catch::Contains("are slower: ") && !Catch::Contains("\n"));
  }
}
