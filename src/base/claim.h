// Claims: files that one process at a time holds, among the processes of any number of machines
// that share a folder, also over NFS.
//
// How it works
// - A claim is made by linking a complete temporary file to its name, which fails if the name is
//   there. That is one operation of the file system, also on the server of NFS; so the file is
//   never seen half written, and of two who try, one wins. (O_EXCL would do that too, but leaves an
//   empty file where a process dies before it has written who it is.)
// - The file names its holder (holder.h) and a token that no other claim has. The holder keeps it
//   open and locked by flock, which its children inherit: so on one machine a child that outlives
//   it still holds the claim. Every few seconds it gives a sign of life: it sets the time of the
//   file.
// - Another process takes over only when the holder is gone: existence_of() says so, or the time of
//   the file, which is compared with itself and never with a clock, has stood still long enough.
//   Time counts by the clock of the one who watches, between its own looks. A gap between two looks
//   counts little: the watcher, or the server of files, may have stood still meanwhile.
// - To take over a claim with the token T is to make the file "<claim>.T" in the same way. So of
//   two who take over one wins, and who was slow, and saw a claim that has long been followed by
//   others, takes nothing. The holder is the one at the end of such a chain.
// - To release a claim its holder makes that file, too, before it removes the chain from its
//   beginning. So a holder that was only suspended cannot remove what another has taken over.
// - Where a file system has no links, renaming without replacing takes their place.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/holder.h"

namespace fovea::io {

struct ClaimTimes {
  std::chrono::milliseconds beat{5'000};  // between signs of life
  /// A holder on another machine that gives no sign of life for so long is taken to be gone.
  std::chrono::milliseconds patience{300'000};
};

/// A claim of this process, released when it is destroyed. Movable. A copy in a forked child
/// releases nothing.
class Claim {
 public:
  Claim(Claim&& other) noexcept;
  Claim& operator=(Claim&& other) noexcept;
  ~Claim();

  /// Whether it is still ours: looks at the files. To be asked before anything is written that the
  /// claim is about, since this process may have been suspended, and another have taken over.
  bool held() const;
  /// Whether a sign of life has found it taken over; looks at no file.
  bool lost() const;
  /// Throws FileError if it is not held() any more; `what` is the sentence's subject: "the run".
  void require(const std::string& what) const;
  /// Of the locked file, for children that are to hold it as well.
  int descriptor() const;

 private:
  friend class ClaimWatch;
  struct Hold;
  explicit Claim(std::unique_ptr<Hold> hold);
  std::unique_ptr<Hold> hold_;
};

/// What one look shows of a claim.
struct ClaimSight {
  Holder holder;
  Existence existence = Existence::kUnknown;  // as far as one look can tell
  bool gone = false;                          // the claim may be taken over
  bool moved = false;                         // a sign of life came since this watch began to look
  KernelLock lock = KernelLock::kUnknown;
  std::chrono::milliseconds still{0};  // without a sign of life, by this watch
  std::int64_t last_sign = 0;          // of life: seconds since 1970 by the clock of the files
};

/// Looks at claims again and again, and takes them. One for each process that waits.
class ClaimWatch {
 public:
  explicit ClaimWatch(ClaimTimes times = {}) : times_(times) {}

  /// The claim, if nobody has it, or its holder is gone; also nothing where another was faster.
  /// Throws FileError if the file cannot be made, or what has its name is no claim.
  std::optional<Claim> take(const fs::path& claim);
  /// Nothing where nobody has it. Throws FileError.
  std::optional<ClaimSight> look(const fs::path& claim);

 private:
  struct Seen {
    std::string token;
    std::int64_t time = 0;  // of the file, nanoseconds
    std::chrono::steady_clock::time_point at;
    std::chrono::milliseconds still{0};
    bool moved = false;
  };
  struct End;
  std::optional<ClaimSight> look(const fs::path& claim, End& end);

  ClaimTimes times_;
  std::map<fs::path, Seen> seen_;
};

/// What processes that were killed within a call left beside a claim: files with its name in front
/// to which it does not lead. To remove them takes the claim from nobody.
std::vector<fs::path> litter_of_claim(const fs::path& claim);

}  // namespace fovea::io
