#include "base/file.h"

#include <catch2/catch.hpp>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/hash.h"

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

namespace {

// The message of a call that must fail, and must not wait.
template <class Call>
std::string refused(const Call& call) {
  ::alarm(10);  // who opens a pipe waits for the other end
  std::string message = "no error";
  try {
    call();
  } catch (const FileError& error) {
    message = error.what();
  }
  ::alarm(0);
  return message;
}

// A pipe, a socket and a device.
std::vector<std::pair<io::fs::path, std::string>> no_files(const io::fs::path& folder) {
  const io::fs::path pipe = folder / "pipe", socket = folder / "socket";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  REQUIRE(socket.string().size() < sizeof(address.sun_path));
  std::strcpy(address.sun_path, socket.c_str());
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  REQUIRE(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  ::close(fd);
  return {{pipe, "is a pipe"}, {socket, "is a socket"}, {"/dev/null", "is a device"}};
}

}  // namespace

TEST_CASE("files: a pipe, socket or device is refused at once, read or written", "[base]") {
  const Folder folder;
  for (const auto& [path, what] : no_files(folder.path)) {
    INFO(what);
    const auto says = Catch::Contains(what + ", expected a file");
    CHECK_THAT(refused([&] { io::read_text(path); }), says);
    CHECK_THAT(refused([&] { io::read_beginning(path, 10); }), says);
    CHECK_THAT(refused([&] { hash_file(path); }), says);
    CHECK_THAT(refused([&] { io::write_atomic(path, "text"); }), says);
    CHECK_THAT(refused([&] { io::File(path, io::File::Mode::kAppend); }), says);
    CHECK(io::exists_at_all(path));
  }
}

TEST_CASE("files: a log is never written through a link", "[base]") {
  const Folder folder;
  const io::fs::path diary = folder.path / "diary", link = folder.path / "log.txt";
  io::write_atomic(diary, "dear diary");
  io::fs::create_symlink(diary, link);
  for (const auto mode : {io::File::Mode::kCreate, io::File::Mode::kAppend})
    CHECK_THAT(refused([&] { io::File(link, mode); }), Catch::Contains("is a link"));
  CHECK(io::read_text(diary) == "dear diary");
  io::fs::remove(diary);
  CHECK(io::exists_at_all(link));  // leads nowhere, and is there
}

TEST_CASE("files: the names of temporary files are known again", "[base]") {
  CHECK(io::temporary_of("last.1234.tmp") == "last");
  CHECK(io::temporary_of("model.safetensors.7.tmp") == "model.safetensors");
  for (const char* other : {"notes.tmp", "a.b.tmp", ".12.tmp", "last.12", "last..tmp"})
    CHECK(io::temporary_of(other).empty());
}
