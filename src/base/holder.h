// Which process holds something that several machines may want: a run, a job of a sweep. It is
// described so that other processes, also on other machines, can tell whether it still exists.
#pragma once

#include <cstdint>
#include <string>

namespace fovea {

/// A process of a machine. Texts that a system does not know are empty.
struct Holder {
  std::string host;                 // name of the machine
  std::string machine;              // /etc/machine-id: tells machines of one name apart
  std::string boot;                 // of the running kernel: another one after every start
  std::string processes;            // the name space of process numbers, which containers have
  std::int64_t process = 0;         // its number
  std::string start;                // when it began, in ticks of the kernel: numbers are used again
  std::string slurm;                // job of SLURM, "4711" or of an array "4711_3"
  std::string since;                // UTC, "2026-11-27T22:49:02Z"; by the clock of the host
  bool gives_signs_of_life = true;  // programs before this form of the file did not
};

/// This process, now.
Holder this_holder();

/// Its name on this machine, "unknown" where it has none.
std::string host_name();

/// Digits that no process of another machine has at the same time, for names of temporary files in
/// shared folders.
std::string process_digits();
/// Whether they are of a process of this machine that has ended.
bool are_of_ended_process(const std::string& digits);

/// Lines of "key value".
std::string to_text(const Holder& holder);
/// What to_text() made, also "process 12 on host vm" of older programs. A holder without a host
/// where the text is neither.
Holder parse_holder(const std::string& text);

/// "process 12 on vm", "process 12 on vm, job 4711_3 of SLURM", "an unknown process".
std::string described(const Holder& holder);

/// What is known of the kernel's lock (flock) that a holder and its children keep.
enum class KernelLock { kFree, kHeld, kUnknown };

/// Whether its process has ended, where that can be seen from here: what still holds its lock is a
/// child.
bool has_ended(const Holder& holder);

enum class Existence {
  kAlive,
  kGone,
  kUnknown,  // on another machine: only its signs of life tell
};

/// Whether a holder still exists, as far as this machine can know at once:
/// - of the same kernel (`boot`): it is gone if its process has ended and the kernel's lock is
///   free. A process that was only suspended is alive; so is one that has ended and whose child
///   still has the lock.
/// - of the same machine before it was started again: gone.
/// - of another machine: unknown.
Existence existence_of(const Holder& holder, KernelLock lock);

}  // namespace fovea
