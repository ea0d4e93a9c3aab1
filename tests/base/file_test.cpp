#include "base/file.h"

#include <catch2/catch.hpp>

#include <cerrno>

#include "base/error.h"

using namespace fovea;

namespace {

// A folder of its own, removed at the end of the scope.
struct Folder {
  io::fs::path path = io::fs::temp_directory_path() / "fovea_file_test";
  Folder() {
    io::fs::remove_all(path);
    io::make_directories(path);
  }
  ~Folder() { io::fs::remove_all(path); }
};

}  // namespace

TEST_CASE("write_atomic: the k-th failing call leaves the old file and no litter", "[base]") {
  const Folder folder;
  const auto target = folder.path / "file.txt";
  io::write_atomic(target, "old");
  int failures = 0;
  for (int k = 0; k < 16; ++k) {
    int calls = 0;
    io::set_fault_hook([&](std::string_view) { return calls++ == k ? ENOSPC : 0; });
    bool failed = false;
    try {
      io::write_atomic(target, "new");
    } catch (const FileError&) {
      failed = true;
    }
    io::set_fault_hook({});
    const std::string now = io::read_text(target);
    if (failed) {
      ++failures;
      CHECK((now == "old" || now == "new"));
      std::size_t entries = 0;
      for ([[maybe_unused]] const auto& entry : io::fs::directory_iterator(folder.path)) ++entries;
      CHECK(entries == 1);
      io::write_atomic(target, "old");
    } else {
      CHECK(now == "new");
      break;
    }
  }
  CHECK(failures >= 4);  // open, write, fsync, rename at least
}

TEST_CASE("read_text: missing files, folders and oversized files are told apart", "[base]") {
  const Folder folder;
  CHECK_THROWS_WITH(io::read_text(folder.path / "none"), Catch::Contains("not found"));
  CHECK_THROWS_WITH(io::read_text(folder.path), Catch::Contains("is a folder"));
  io::write_atomic(folder.path / "big", "12345");
  CHECK_THROWS_WITH(io::read_text(folder.path / "big", 4), Catch::Contains("at most 4"));
  CHECK(io::read_text(folder.path / "big", 5) == "12345");
}

TEST_CASE("move: takes a folder to a new name and never replaces a full one", "[base]") {
  const Folder folder;
  for (const char* name : {"a", "b"}) {
    io::make_directories(folder.path / name);
    io::write_atomic(folder.path / name / "x", name);
  }
  io::move(folder.path / "a", folder.path / "c");
  CHECK_FALSE(io::fs::exists(folder.path / "a"));
  CHECK(io::read_text(folder.path / "c" / "x") == "a");
  CHECK_THROWS_WITH(io::move(folder.path / "c", folder.path / "b"),
                    Catch::Contains("rename failed"));
  CHECK(io::read_text(folder.path / "b" / "x") == "b");
}
