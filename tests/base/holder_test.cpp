// Who holds a claim, as a text, and whether it still exists.
#include "base/holder.h"

#include <catch2/catch.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

using namespace fovea;

namespace {

// A process that has ended; nobody has its number meanwhile.
Holder ended_process(bool asked_how) {
  int ready[2];
  REQUIRE(::pipe(ready) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const Holder holder = this_holder();
    (void)!::write(ready[1], holder.start.data(), holder.start.size());
    ::raise(SIGSTOP);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, WUNTRACED);
  char text[64] = {};
  (void)!::read(ready[0], text, sizeof text - 1);
  ::close(ready[0]);
  ::close(ready[1]);
  ::kill(child, SIGKILL);
  if (asked_how) {
    ::waitpid(child, &status, 0);
  } else {
    siginfo_t info{};
    ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT);
  }
  Holder holder = this_holder();
  holder.process = child;
  holder.start = text;
  return holder;
}

}  // namespace

TEST_CASE("holder: its text is read again, that of older programs, and of nobody", "[base]") {
  Holder holder = this_holder();
  holder.slurm = "4711_3";
  const Holder again = parse_holder(to_text(holder));
  CHECK(to_text(again) == to_text(holder));
  CHECK(again.process == ::getpid());
  CHECK(again.gives_signs_of_life);
  holder.gives_signs_of_life = false;
  CHECK_FALSE(parse_holder(to_text(holder)).gives_signs_of_life);
  CHECK(described(holder) ==
        "process " + std::to_string(::getpid()) + " on " + host_name() + ", job 4711_3 of SLURM");

  const Holder old = parse_holder("process 12 on host vm\n");
  CHECK(old.process == 12);
  CHECK(old.host == "vm");
  CHECK_FALSE(old.gives_signs_of_life);
  for (const char* nothing : {"", "\n\n", "process\nhost\n", "\x01\x02 \xff", "process x\n"}) {
    CHECK(parse_holder(nothing).host.empty());
    CHECK(described(parse_holder(nothing)) == "an unknown process");
  }
}

TEST_CASE("holder: a process of this machine is gone when it and its locks are", "[base]") {
  const Holder here = this_holder();
  CHECK(existence_of(here, KernelLock::kFree) == Existence::kAlive);  // before it has locked
  CHECK(existence_of(here, KernelLock::kHeld) == Existence::kAlive);

  for (const bool asked_how : {true, false}) {
    const Holder ended = ended_process(asked_how);
    CHECK(existence_of(ended, KernelLock::kFree) == Existence::kGone);
    CHECK(existence_of(ended, KernelLock::kHeld) == Existence::kAlive);  // a child of it
    CHECK(existence_of(ended, KernelLock::kUnknown) == Existence::kUnknown);
  }
  // Its number may be another's now.
  Holder reused = here;
  reused.start = "1";
  CHECK(existence_of(reused, KernelLock::kFree) == Existence::kGone);
  for (const std::int64_t number : {std::int64_t{0}, std::int64_t{-1}}) {
    Holder nonsense = here;
    nonsense.process = number;
    CHECK(existence_of(nonsense, KernelLock::kFree) == Existence::kGone);
  }

  Holder container = here;
  container.host = "other";
  container.processes = "pid:[1]";
  CHECK(existence_of(container, KernelLock::kHeld) == Existence::kAlive);
  CHECK(existence_of(container, KernelLock::kFree) == Existence::kGone);
}

TEST_CASE("holder: of a machine before it started again, and of others", "[base]") {
  Holder holder = this_holder();
  holder.boot = "another";
  const Existence started_again = existence_of(holder, KernelLock::kFree);
  CHECK(started_again == (holder.machine.empty() ? Existence::kUnknown : Existence::kGone));
  CHECK(existence_of(holder, KernelLock::kHeld) == Existence::kUnknown);
  holder.machine = "a machine of the same name";
  CHECK(existence_of(holder, KernelLock::kFree) == Existence::kUnknown);
  holder.host = "elsewhere";
  CHECK(existence_of(holder, KernelLock::kFree) == Existence::kUnknown);
  CHECK(existence_of({}, KernelLock::kFree) == Existence::kUnknown);
  CHECK(existence_of({}, KernelLock::kHeld) == Existence::kAlive);

  // Programs that give no signs of life are respected.
  Holder old = parse_holder("process 12 on host elsewhere\n");
  CHECK(existence_of(old, KernelLock::kFree) == Existence::kAlive);
  old.host = host_name();
  CHECK(existence_of(old, KernelLock::kFree) == Existence::kGone);
  CHECK(existence_of(old, KernelLock::kHeld) == Existence::kAlive);
}

TEST_CASE("holder: digits for temporary files", "[base]") {
  const std::string digits = process_digits();
  CHECK(digits.find_first_not_of("0123456789") == std::string::npos);
  CHECK(digits.starts_with(std::to_string(::getpid())));
  CHECK(digits == process_digits());
  CHECK_FALSE(are_of_ended_process(digits));
  const std::string machine = digits.substr(std::to_string(::getpid()).size());
  CHECK(are_of_ended_process(std::to_string(ended_process(true).process) + machine));
  for (const std::string& other :
       {machine, std::string(), std::string("12"), std::string("120000000000")})
    CHECK_FALSE(are_of_ended_process(other));
}
