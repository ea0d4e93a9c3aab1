// Claims: one holder at a time, among processes that are killed, suspended or on other machines.
#include "base/claim.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <functional>
#include <random>
#include <thread>
#include <vector>

#include "base/error.h"

using namespace fovea;
using io::Claim;
using io::ClaimSight;
using io::ClaimWatch;
using std::chrono::milliseconds;

namespace {

namespace fs = io::fs;

constexpr io::ClaimTimes kQuick{milliseconds(5), milliseconds(100)};

struct ClaimFolder {
  fs::path path = fs::temp_directory_path() / ("fovea_claims_" + std::to_string(::getpid()));
  fs::path claim = path / "job.claim";
  ClaimFolder() {
    fs::remove_all(path);
    fs::create_directories(path);
  }
  ~ClaimFolder() { fs::remove_all(path); }
  ClaimFolder(const ClaimFolder&) = delete;
  ClaimFolder& operator=(const ClaimFolder&) = delete;

  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(path), fs::directory_iterator()));
  }
};

// Runs `body` in a process of its own, which ends with the status that it returns.
pid_t apart(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  int status = 99;
  try {
    status = body();
  } catch (...) {
  }
  ::_exit(status);
}

int status_of(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

// False after 10 s.
bool comes_true(const std::function<bool()>& condition) {
  for (int i = 0; i < 2000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(milliseconds(5));
  }
  return false;
}

// The file of a holder of another machine; its time stands still unless somebody sets it.
void forge(const fs::path& file, const std::string& token, const std::string& host = "elsewhere") {
  Holder holder = this_holder();
  holder.host = host;
  holder.machine = "other";
  holder.boot = "other";
  holder.process = 12;
  io::write_atomic(file, to_text(holder) + "token " + token + "\n");
}

const std::string kToken = "0123456789abcdef";

// Makes a claim of this machine one of another.
void seem_elsewhere(const fs::path& claim) {
  const std::string text = io::read_text(claim);
  Holder far = parse_holder(text);
  far.host = far.machine = far.boot = "elsewhere";
  const int file = ::open(claim.c_str(), O_WRONLY | O_TRUNC);  // the same file
  const std::string forged = to_text(far) + text.substr(text.find("token "));
  REQUIRE(::write(file, forged.data(), forged.size()) == static_cast<ssize_t>(forged.size()));
  ::close(file);
}

// What happens just before the next file gets its name.
class Meanwhile {
 public:
  explicit Meanwhile(std::function<void()> what) {
    io::set_fault_hook([what = std::move(what)](std::string_view call) {
      if (call != "link") return 0;
      const auto once = what;
      io::set_fault_hook({});
      once();
      return 0;
    });
  }
  ~Meanwhile() { io::set_fault_hook({}); }
  Meanwhile(const Meanwhile&) = delete;
  Meanwhile& operator=(const Meanwhile&) = delete;
};

}  // namespace

TEST_CASE("claim: one holds it, its file says who, and releasing removes it", "[base]") {
  const ClaimFolder folder;
  ClaimWatch watch, other;
  CHECK_FALSE(watch.look(folder.claim));
  auto claim = watch.take(folder.claim);
  REQUIRE(claim);
  CHECK(claim->held());
  CHECK_FALSE(other.take(folder.claim));
  CHECK_FALSE(watch.take(folder.claim));
  const auto sight = other.look(folder.claim);
  REQUIRE(sight);
  CHECK(sight->holder.process == ::getpid());
  CHECK(sight->lock == KernelLock::kHeld);
  CHECK_FALSE(sight->gone);
  CHECK(folder.files() == 1);
  claim.reset();
  CHECK(folder.files() == 0);
  CHECK(other.take(folder.claim));
  CHECK(folder.files() == 0);
}

TEST_CASE("claim: a holder that was killed is followed, once its children have ended", "[base]") {
  const ClaimFolder folder;
  int hold[2];
  REQUIRE(::pipe(hold) == 0);
  const pid_t child = apart([&] {
    const auto claim = ClaimWatch().take(folder.claim);
    if (!claim) return 1;
    if (::fork() == 0) {  // keeps the lock until the pipe is closed
      ::close(hold[1]);
      char byte = 0;
      (void)!::read(hold[0], &byte, 1);
      ::_exit(0);
    }
    ::raise(SIGKILL);
    return 2;
  });
  ::close(hold[0]);
  CHECK(status_of(child) == -SIGKILL);
  ClaimWatch watch(kQuick);
  CHECK_FALSE(watch.take(folder.claim));
  REQUIRE(watch.look(folder.claim));
  CHECK(watch.look(folder.claim)->lock == KernelLock::kHeld);
  ::close(hold[1]);
  std::optional<Claim> claim;
  CHECK(comes_true([&] { return (claim = watch.take(folder.claim)).has_value(); }));
  CHECK(claim->held());
  CHECK(folder.files() == 2);  // theirs, and what follows it
  claim.reset();
  CHECK(folder.files() == 0);
}

TEST_CASE("claim: another machine's is taken over when it has given no sign of life", "[base]") {
  const ClaimFolder folder;
  forge(folder.claim, kToken);
  ClaimWatch watch(kQuick);
  CHECK_FALSE(watch.take(folder.claim));
  // A long gap between two looks counts little: the watcher may have been suspended, too.
  std::this_thread::sleep_for(2 * kQuick.patience);
  auto sight = watch.look(folder.claim);
  REQUIRE(sight);
  CHECK_FALSE(sight->gone);
  CHECK(sight->still <= 2 * kQuick.beat);
  CHECK_FALSE(sight->moved);

  // Its clock may say what it likes: only that its time changes counts.
  std::chrono::steady_clock::time_point start;
  for (int i = 0; i < 30; ++i) {
    const timespec times[2] = {{1000 - i, 0}, {1000 - i, 0}};
    ::utimensat(AT_FDCWD, folder.claim.c_str(), times, 0);
    start = std::chrono::steady_clock::now();  // patience counts from the change that is seen last
    sight = watch.look(folder.claim);
    REQUIRE(sight);
    CHECK(sight->moved);
    CHECK_FALSE(sight->gone);
    std::this_thread::sleep_for(milliseconds(5));
  }
  std::optional<Claim> claim;
  CHECK(comes_true([&] { return (claim = watch.take(folder.claim)).has_value(); }));
  CHECK(std::chrono::steady_clock::now() - start >= kQuick.patience);
  claim.reset();
  CHECK(folder.files() == 0);
}

TEST_CASE("claim: this program gives signs of life", "[base]") {
  const ClaimFolder folder;
  ClaimWatch watch(kQuick), other(kQuick);
  const auto claim = watch.take(folder.claim);
  REQUIRE(claim);
  CHECK(comes_true([&] { return other.look(folder.claim)->moved; }));
  CHECK_FALSE(claim->lost());
}

TEST_CASE("claim: who was suspended sees that it was taken over, and removes nothing", "[base]") {
  const ClaimFolder folder;
  const pid_t child = apart([&] {
    auto claim = ClaimWatch({milliseconds(3'600'000), milliseconds(100)}).take(folder.claim);
    if (!claim || !claim->held()) return 1;
    ::raise(SIGSTOP);
    if (claim->held()) return 2;
    try {
      claim->require("the run");
      return 3;
    } catch (const FileError& error) {
      const std::string message = error.what();
      if (message.find("the run was taken over by process") == std::string::npos) return 4;
    }
    claim.reset();
    return 0;
  });
  int status = 0;
  ::waitpid(child, &status, WUNTRACED);
  seem_elsewhere(folder.claim);
  ClaimWatch watch(kQuick);
  std::optional<Claim> claim;
  REQUIRE(comes_true([&] { return (claim = watch.take(folder.claim)).has_value(); }));
  ::kill(child, SIGCONT);
  CHECK(status_of(child) == 0);
  CHECK(claim->held());
  CHECK_FALSE(ClaimWatch().take(folder.claim));
  claim.reset();
  CHECK(folder.files() == 0);
}

TEST_CASE("claim: a file removed or replaced by hand is a lost claim", "[base]") {
  const ClaimFolder folder;
  ClaimWatch watch(kQuick);
  auto claim = watch.take(folder.claim);
  REQUIRE(claim);
  fs::remove(folder.claim);
  CHECK_FALSE(claim->held());
  CHECK(comes_true([&] { return claim->lost(); }));
  const auto second = watch.take(folder.claim);
  REQUIRE(second);
  claim.reset();
  CHECK(second->held());
  CHECK_FALSE(ClaimWatch().take(folder.claim));
}

TEST_CASE("claim: what has its name and is none", "[base]") {
  const ClaimFolder folder;
  ClaimWatch watch(kQuick);
  fs::create_symlink(folder.path / "diary", folder.claim);
  CHECK_THROWS_WITH(watch.take(folder.claim), Catch::Contains("is a link to another file"));
  CHECK_FALSE(fs::exists(folder.path / "diary"));
  fs::remove(folder.claim);
  REQUIRE(::mkfifo(folder.claim.c_str(), 0600) == 0);
  CHECK_THROWS_WITH(watch.take(folder.claim), Catch::Contains("is no file; remove it"));
  fs::remove(folder.claim);
  fs::create_directory(folder.claim);
  CHECK_THROWS_WITH(watch.take(folder.claim), Catch::Contains("is no file; remove it"));
  fs::remove(folder.claim);
  CHECK_THROWS_WITH(watch.take(folder.path / "missing/job.claim"),
                    Catch::Contains("cannot be made: No such file"));

  // A text that says nothing may be of a program that still writes it.
  for (const std::string& text :
       {std::string(), std::string(100'000, 'x'), std::string("token ../../etc\nhost a\n"),
        std::string("host a\ntoken 0123456789abcdeg\n")}) {
    io::write_atomic(folder.claim, text);
    CHECK_FALSE(watch.take(folder.claim));
    std::optional<Claim> claim;
    CHECK(comes_true([&] { return (claim = watch.take(folder.claim)).has_value(); }));
    claim.reset();
    CHECK(folder.files() == 0);
  }
  // A circle made by hand.
  forge(folder.claim, kToken);
  forge(folder.claim.string() + "." + kToken, kToken);
  CHECK_THROWS_WITH(watch.take(folder.claim), Catch::Contains("lead in a circle"));
}

TEST_CASE("claim: who is slow takes nothing over from those who came after", "[base]") {
  const ClaimFolder folder;
  forge(folder.claim, kToken);
  ClaimWatch slow(kQuick), quick(kQuick);
  const auto has_gone = [&](ClaimWatch& watch) {
    const auto sight = watch.look(folder.claim);
    return sight && sight->gone;
  };
  REQUIRE(comes_true([&] { return has_gone(slow) && has_gone(quick); }));
  std::optional<Claim> claim;
  const int then = GENERATE(0, 1, 2);
  const Meanwhile meanwhile([&] {
    claim = quick.take(folder.claim);
    if (then > 0) claim.reset();                     // released
    if (then > 1) claim = quick.take(folder.claim);  // and claimed anew
  });
  CHECK_FALSE(slow.take(folder.claim));
  CHECK(claim.has_value() == (then != 1));
  CHECK((!claim || claim->held()));
  CHECK(folder.files() == (then == 0 ? 2 : then == 1 ? 0 : 1));
}

TEST_CASE("claim: one that is taken over while it is released stays taken over", "[base]") {
  const ClaimFolder folder;
  ClaimWatch watch(kQuick);
  std::optional<Claim> slow = ClaimWatch().take(folder.claim), claim;
  REQUIRE(slow);
  seem_elsewhere(folder.claim);
  const Meanwhile meanwhile(
      [&] { comes_true([&] { return (claim = watch.take(folder.claim)).has_value(); }); });
  slow.reset();
  REQUIRE(claim);
  CHECK(claim->held());
  CHECK_FALSE(ClaimWatch().take(folder.claim));
  claim.reset();
  CHECK(folder.files() == 0);
}

TEST_CASE("claim: a copy in a forked child releases nothing", "[base]") {
  const ClaimFolder folder;
  auto claim = ClaimWatch(kQuick).take(folder.claim);
  REQUIRE(claim);
  CHECK(status_of(apart([&] {
          claim.reset();
          return 0;
        })) == 0);
  CHECK(claim->held());
}

TEST_CASE("claim: of many who try, and are killed at any moment, one at a time holds it",
          "[base]") {
  const ClaimFolder folder;
  const fs::path inside = folder.path / "inside", entered = folder.path / "entered",
                 broken = folder.path / "broken";
  // Each enters a place where only one may be. One that was killed there leaves its number.
  const auto worker = [&] {
    for (;;) {
      ClaimWatch watch(kQuick);
      const auto claim = watch.take(folder.claim);
      if (!claim) continue;
      const std::string own = std::to_string(::getpid());
      while (::symlink(own.c_str(), inside.c_str()) != 0) {
        std::error_code code;
        const std::string other = fs::read_symlink(inside, code).string();
        if (code) continue;
        // (One that was killed can be sent signals until its parent has waited for it.)
        if (!fs::read_symlink("/proc/" + other + "/exe", code).empty())
          io::write_atomic(broken, other + " and " + own);
        ::unlink(inside.c_str());
      }
      const int log = ::open(entered.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
      (void)!::write(log, "x", 1);
      ::close(log);
      ::unlink(inside.c_str());
    }
  };
  constexpr std::size_t kWorkers = 6;
  std::vector<pid_t> workers;
  const auto start = [&] {
    workers.push_back(apart([&] {
      worker();
      return 0;
    }));
  };
  while (workers.size() < kWorkers) start();
  std::mt19937 random(7);
  for (int kills = 0; kills < 150; ++kills) {
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 10'000));
    const auto victim = workers.begin() + static_cast<std::ptrdiff_t>(random() % kWorkers);
    ::kill(*victim, SIGKILL);
    CHECK(status_of(*victim) == -SIGKILL);
    workers.erase(victim);
    start();
  }
  for (const pid_t each : workers) {
    ::kill(each, SIGKILL);
    status_of(each);
  }
  CHECK_FALSE(fs::exists(broken));
  INFO("entered " << fs::file_size(entered) << " times");
  CHECK(fs::file_size(entered) > 100);
  // Whoever comes next gets it, and can put the folder in order.
  ClaimWatch watch(kQuick);
  std::optional<Claim> claim;
  REQUIRE(comes_true([&] { return (claim = watch.take(folder.claim)).has_value(); }));
  fs::create_symlink("nowhere", folder.claim.string() + ".0123456789abcdef.tmp");
  CHECK_FALSE(io::litter_of_claim(folder.claim).empty());
  for (const fs::path& file : io::litter_of_claim(folder.claim)) fs::remove(file);
  CHECK(claim->held());
  CHECK_FALSE(ClaimWatch().take(folder.claim));
  claim.reset();
  fs::remove(inside);
  CHECK(folder.files() == 1);  // `entered`
}

TEST_CASE("claim: released also where somebody cleans the folder meanwhile", "[base]") {
  const ClaimFolder folder;
  auto claim = ClaimWatch(kQuick).take(folder.claim);
  REQUIRE(claim);
  int cleaned = 0;
  const Meanwhile clean([&] {
    for (const fs::path& file : io::litter_of_claim(folder.claim)) {
      fs::remove(file);
      ++cleaned;
    }
  });
  claim.reset();
  CHECK(cleaned == 1);
  CHECK(folder.files() == 0);
}
