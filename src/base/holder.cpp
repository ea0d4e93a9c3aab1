#include "base/holder.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <functional>
#include <sstream>
#include <vector>

namespace fovea {
namespace {

// Of a file of the kernel, which has no size that could be asked for.
std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string name_space_of_processes() {
  std::array<char, 128> name{};
  const ssize_t length = ::readlink("/proc/self/ns/pid", name.data(), name.size());
  return length > 0 ? std::string(name.data(), static_cast<std::size_t>(length)) : "";
}

// Of /proc/<number>/stat: the state, and when the process began. Empty where there is none.
struct Stat {
  std::string state, start;
};
Stat stat_of(std::int64_t process) {
  const std::string line = first_line(fmt::format("/proc/{}/stat", process));
  // The name of the program, in brackets, may hold anything.
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream words(line.substr(name_end + 1));
  std::vector<std::string> values;
  for (std::string word; words >> word;) values.push_back(word);
  constexpr std::size_t kStart = 19;  // the 22nd value, the state being the third
  return values.size() > kStart ? Stat{values[0], values[kStart]} : Stat{};
}

bool exists(const Holder& holder) {
  const Stat now = stat_of(holder.process);
  if (now.start.empty()) {
    // Without /proc, or another user's where it is hidden.
    return holder.process > 0 &&
           (::kill(static_cast<pid_t>(holder.process), 0) == 0 || errno == EPERM);
  }
  const bool ended = now.state == "Z" || now.state == "X";  // nobody has asked how yet
  return !ended && (holder.start.empty() || holder.start == now.start);
}

std::string job_of_slurm() {
  const char* const array = std::getenv("SLURM_ARRAY_JOB_ID");
  const char* const task = std::getenv("SLURM_ARRAY_TASK_ID");
  if (array != nullptr && task != nullptr) return fmt::format("{}_{}", array, task);
  const char* const job = std::getenv("SLURM_JOB_ID");
  return job != nullptr ? job : "";
}

std::string utc_now() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

// The members that are texts, by their keys in a file.
struct Text {
  const char* key;
  std::string Holder::*member;
};
constexpr std::array<Text, 7> kTexts = {{{"host", &Holder::host},
                                         {"machine", &Holder::machine},
                                         {"boot", &Holder::boot},
                                         {"processes", &Holder::processes},
                                         {"start", &Holder::start},
                                         {"slurm", &Holder::slurm},
                                         {"since", &Holder::since}}};

std::int64_t number_in(const std::string& text) {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

const std::string& digits_of_machine() {
  static const std::string digits =
      fmt::format("{:010}", std::hash<std::string>{}(host_name() +
                                                     first_line("/proc/sys/kernel/random/boot_id") +
                                                     name_space_of_processes()) %
                                10'000'000'000);
  return digits;
}

// "process 12 on host vm".
Holder of_older_program(const std::string& line) {
  constexpr std::string_view kBegin = "process ", kMiddle = " on host ";
  const std::size_t middle = line.find(kMiddle);
  if (!line.starts_with(kBegin) || middle == std::string::npos) return {};
  Holder holder;
  holder.process = number_in(line.substr(kBegin.size()));
  holder.host = line.substr(middle + kMiddle.size());
  holder.gives_signs_of_life = false;
  return holder;
}

}  // namespace

std::string host_name() {
  std::array<char, 256> name{};
  const bool known = ::gethostname(name.data(), name.size() - 1) == 0 && name[0] != '\0';
  return known ? name.data() : "unknown";
}

Holder this_holder() {
  Holder holder;
  holder.host = host_name();
  holder.machine = first_line("/etc/machine-id");
  holder.boot = first_line("/proc/sys/kernel/random/boot_id");
  holder.processes = name_space_of_processes();
  holder.process = ::getpid();
  holder.start = stat_of(holder.process).start;
  holder.slurm = job_of_slurm();
  holder.since = utc_now();
  return holder;
}

std::string process_digits() { return fmt::format("{}{}", ::getpid(), digits_of_machine()); }

bool are_of_ended_process(const std::string& digits) {
  const std::string& machine = digits_of_machine();
  if (digits.size() <= machine.size() || !digits.ends_with(machine)) return false;
  Holder holder;
  holder.process = number_in(digits.substr(0, digits.size() - machine.size()));
  return !exists(holder);
}

std::string to_text(const Holder& holder) {
  std::string text = fmt::format("process {}\n", holder.process);
  if (!holder.gives_signs_of_life) text += "signs none\n";
  for (const Text& each : kTexts) {
    if (!(holder.*each.member).empty())
      text += fmt::format("{} {}\n", each.key, holder.*each.member);
  }
  return text;
}

Holder parse_holder(const std::string& text) {
  std::istringstream lines(text);
  Holder holder;
  for (std::string line; std::getline(lines, line);) {
    if (line.find(" on host ") != std::string::npos) return of_older_program(line);
    const std::size_t space = line.find(' ');
    if (space == std::string::npos) continue;
    const std::string key = line.substr(0, space), value = line.substr(space + 1);
    if (key == "process") holder.process = number_in(value);
    if (key == "signs") holder.gives_signs_of_life = value != "none";
    for (const Text& each : kTexts) {
      if (key == each.key) holder.*each.member = value;
    }
  }
  return holder;
}

std::string described(const Holder& holder) {
  if (holder.host.empty()) return "an unknown process";
  return fmt::format("process {} on {}{}", holder.process, holder.host,
                     holder.slurm.empty() ? "" : ", job " + holder.slurm + " of SLURM");
}

bool has_ended(const Holder& holder) {
  const Holder here = this_holder();
  return holder.boot == here.boot && holder.host == here.host &&
         holder.processes == here.processes && !exists(holder);
}

Existence existence_of(const Holder& holder, KernelLock lock) {
  const Holder here = this_holder();
  const bool same_name = holder.host == here.host;
  if (!holder.gives_signs_of_life) {
    // An older program: its lock tells on its machine, and elsewhere it is respected for ever.
    return same_name && lock == KernelLock::kFree ? Existence::kGone : Existence::kAlive;
  }
  if (holder.host.empty())
    return lock == KernelLock::kHeld ? Existence::kAlive : Existence::kUnknown;
  if (holder.boot == here.boot && (!here.boot.empty() || same_name)) {
    if (lock == KernelLock::kHeld) return Existence::kAlive;
    if (holder.processes != here.processes) {
      // Another container: its processes are not seen from here, but its locks are.
      return lock == KernelLock::kFree ? Existence::kGone : Existence::kUnknown;
    }
    if (exists(holder)) return Existence::kAlive;
    // Without locks a child that outlives it is not seen; it gives no signs of life for it, though.
    return lock == KernelLock::kFree ? Existence::kGone : Existence::kUnknown;
  }
  const bool started_again = same_name && !here.machine.empty() && holder.machine == here.machine &&
                             !holder.boot.empty() && !here.boot.empty();
  return started_again && lock != KernelLock::kHeld ? Existence::kGone : Existence::kUnknown;
}

}  // namespace fovea
