#include "base/claim.h"

#include <fmt/format.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <random>
#include <sstream>
#include <stop_token>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/shared_folder.h"

namespace fovea::io {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kTokenDigits = 16;
constexpr const char* kUnreadable = "unreadable";  // stands for the token of what is no claim
constexpr std::size_t kLongestChain = 1000;
constexpr std::size_t kLongestText = 4096;

std::string new_token() {
  std::random_device device;
  return fmt::format("{:08x}{:08x}", device(), device());
}

std::string token_in(const std::string& text) {
  constexpr std::string_view kKey = "token ";
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(kKey)) continue;
    line.erase(0, kKey.size());
    const bool sound = line.size() == kTokenDigits &&
                       line.find_first_not_of("0123456789abcdef") == std::string::npos;
    return sound ? line : kUnreadable;
  }
  return kUnreadable;
}

fs::path successor_of(const fs::path& claim, const std::string& token) {
  return claim.string() + "." + token;
}

[[noreturn]] void fail_claim(const fs::path& path, const std::string& what) {
  throw FileError(fmt::format("{}: {}", path.string(), what));
}

// A file that may be gone at any moment; closed at the end.
class Opened {
 public:
  // What a link leads to is somebody else's, and a pipe is no file. For writing: the server of a
  // network file system lets no others be locked.
  explicit Opened(const fs::path& path) {
    fd_ = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd_ < 0 && (errno == EACCES || errno == EROFS))
      fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd_ < 0 && errno == ELOOP) fail_claim(path, "is a link to another file; remove it");
    if (fd_ < 0 && errno == EISDIR) fail_claim(path, "is no file; remove it");
    if (fd_ < 0 && errno != ENOENT && errno != ESTALE)
      fail_claim(path, fmt::format("cannot be opened: {}", std::strerror(errno)));
    if (fd_ < 0) return;
    if (::fstat(fd_, &info_) == 0 && S_ISREG(info_.st_mode)) return;
    ::close(std::exchange(fd_, -1));
    fail_claim(path, "is no file; remove it");
  }
  ~Opened() {
    if (fd_ >= 0) ::close(fd_);
  }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  explicit operator bool() const { return fd_ >= 0; }

  std::string text() const {
    std::string text(kLongestText, '\0');
    const ssize_t got = ::pread(fd_, text.data(), text.size(), 0);
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return text;
  }
  // A shared lock, so that those who look do not disturb each other.
  KernelLock lock() const {
    if (::flock(fd_, LOCK_SH | LOCK_NB) == 0) return KernelLock::kFree;
    return errno == EWOULDBLOCK ? KernelLock::kHeld : KernelLock::kUnknown;
  }
  const struct stat& info() const { return info_; }

 private:
  int fd_ = -1;
  struct stat info_ {};
};

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

// From the file with the name of the claim to the end of its chain.
std::vector<fs::path> chain_of(const fs::path& claim) {
  std::vector<fs::path> chain;
  for (fs::path file = claim; chain.size() < kLongestChain;) {
    const Opened opened(file);
    if (!opened) return chain;
    chain.push_back(file);
    file = successor_of(claim, token_in(opened.text()));
  }
  fail_claim(claim, "the files of this claim lead in a circle; remove them");
}

}  // namespace

// The file of a claim and the thread that gives the signs of life.
struct Claim::Hold {
  fs::path claim;      // its name
  fs::path file;       // the name of our file, the end of the chain
  fs::path temporary;  // before that
  std::string token = new_token();
  pid_t owner = ::getpid();
  int fd = -1;
  milliseconds beat{0};
  std::atomic<bool> lost{false};
  std::mutex mutex;
  std::condition_variable_any wake;
  std::jthread thread;

  // A temporary file that says who we are.
  Hold(fs::path name, milliseconds period) : claim(std::move(name)), beat(period) {
    temporary = claim.string() + "." + token + ".tmp";
    fd = ::open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0) fail_claim(claim, fmt::format("cannot be made: {}", std::strerror(errno)));
    (void)!::flock(fd, LOCK_EX | LOCK_NB);  // not every file system has locks
    start_thread();
    Holder holder = this_holder();
    holder.gives_signs_of_life = thread.joinable();
    const std::string text = to_text(holder) + "token " + token + "\n";
    if (::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
        ::fsync(fd) == 0)
      return;
    const int reason = errno;
    stop();
    ::unlink(temporary.c_str());
    ::close(fd);
    fail_claim(claim, fmt::format("cannot be written: {}", std::strerror(reason)));
  }

  // False where the name is taken.
  bool place(const fs::path& name) {
    const bool placed = name_if_free(temporary, name);
    if (placed) {
      const std::lock_guard lock(mutex);
      file = name;
    }
    return placed;
  }

  bool held() const {
    see_news(folder_of(claim));
    struct stat own {};
    struct stat there {};
    if (::fstat(fd, &own) != 0) return errno != ESTALE;
    if (::lstat(file.c_str(), &there) != 0) return errno != ENOENT && errno != ESTALE;
    if (own.st_ino != there.st_ino || own.st_dev != there.st_dev) return false;
    return !exists_at_all(successor_of(claim, token));
  }

  // Makes the file that would take our claim over, so that nobody else does, and removes the chain.
  // False where that file could not be made.
  bool release() const {
    const fs::path end = successor_of(claim, token), draft = end.string() + ".tmp";
    const int marker = ::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (marker < 0) return false;
    const std::string text = to_text(this_holder()) + "token " + new_token() + "\n";
    (void)!::write(marker, text.data(), text.size());  // the name is what counts
    ::close(marker);
    if (!name_if_free(draft, end)) return false;
    for (const fs::path& each : chain_of(claim)) ::unlink(each.c_str());
    ::unlink(end.c_str());
    return true;
  }

  void stop() {
    if (!thread.joinable()) return;
    thread.request_stop();
    thread.join();
  }

  ~Hold() {
    stop();
    if (!file.empty()) {
      try {
        // Again where another process has cleaned the folder, and took our draft for litter. Where
        // all fails, others see that this process has ended.
        constexpr int kTries = 100;
        for (int i = 0; i < kTries && held() && !release(); ++i) {
        }
      } catch (const Error&) {  // others see that this process has ended
      }
    }
    ::close(fd);
  }

 private:
  void start_thread() {
    // Signals are for the other threads.
    sigset_t all{}, before{};
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      thread = std::jthread([this](const std::stop_token& end) { give_signs(end); });
    } catch (const std::system_error&) {  // no more threads: the file will say so
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  void give_signs(const std::stop_token& end) {
    std::unique_lock lock(mutex);
    while (!wake.wait_for(lock, end, beat, [&] { return end.stop_requested(); })) {
      if (file.empty()) continue;
      if (!held()) {
        lost = true;
        return;
      }
      ::futimens(fd, nullptr);
    }
  }
};

Claim::Claim(std::unique_ptr<Hold> hold) : hold_(std::move(hold)) {}
Claim::Claim(Claim&& other) noexcept = default;

Claim& Claim::operator=(Claim&& other) noexcept {
  std::swap(hold_, other.hold_);
  return *this;
}

Claim::~Claim() {
  // In a forked child there is no thread to end, and the claim is its parent's.
  if (hold_ && hold_->owner != ::getpid()) (void)hold_.release();
}

bool Claim::held() const { return !lost() && hold_->held(); }
bool Claim::lost() const { return hold_->lost; }
int Claim::descriptor() const { return hold_->fd; }

void Claim::require(const std::string& what) const {
  if (held()) return;
  const auto now = ClaimWatch().look(hold_->claim);
  throw FileError(fmt::format(
      "{}: {} was taken over{} while this process gave no sign of life; it writes nothing more",
      hold_->claim.string(), what, now ? " by " + described(now->holder) : ""));
}

struct ClaimWatch::End {
  fs::path file;
  std::string token;
};

std::optional<ClaimSight> ClaimWatch::look(const fs::path& claim) {
  End end;
  return look(claim, end);
}

std::optional<ClaimSight> ClaimWatch::look(const fs::path& claim, End& end) {
  const std::vector<fs::path> chain = chain_of(claim);
  const auto nobody = [&] {
    seen_.erase(claim);
    return std::nullopt;
  };
  if (chain.empty()) return nobody();
  end.file = chain.back();
  const Opened opened(end.file);
  if (!opened) return nobody();  // released just now
  const std::string text = opened.text();
  end.token = token_in(text);
  ClaimSight sight;
  sight.holder = parse_holder(text);
  sight.lock = opened.lock();
  sight.last_sign = opened.info().st_mtim.tv_sec;
  const std::int64_t time =
      std::int64_t{opened.info().st_mtim.tv_sec} * 1'000'000'000 + opened.info().st_mtim.tv_nsec;
  const auto now = std::chrono::steady_clock::now();
  Seen& seen = seen_[claim];
  if (seen.token != end.token) {
    seen = {end.token, time, now, {}, false};
  } else if (seen.time != time) {
    seen = {end.token, time, now, {}, true};
  } else {
    const auto gap = std::chrono::duration_cast<milliseconds>(now - seen.at);
    seen.still += std::min(gap, 2 * times_.beat);
    seen.at = now;
  }
  sight.moved = seen.moved;
  sight.still = seen.still;
  sight.existence = existence_of(sight.holder, sight.lock);
  sight.gone = sight.existence == Existence::kGone ||
               (sight.existence == Existence::kUnknown && seen.still >= times_.patience);
  return sight;
}

std::optional<Claim> ClaimWatch::take(const fs::path& claim) {
  End end;
  const auto sight = look(claim, end);
  if (sight && !sight->gone) return std::nullopt;
  auto hold = std::make_unique<Claim::Hold>(claim, times_.beat);
  if (!hold->place(sight ? successor_of(claim, end.token) : claim)) return std::nullopt;
  // Where the chain was released meanwhile, nothing leads to our file.
  const std::vector<fs::path> chain = chain_of(claim);
  if (chain.empty() || chain.back() != hold->file) {
    ::unlink(hold->file.c_str());
    return std::nullopt;
  }
  seen_.erase(claim);
  return Claim(std::move(hold));
}

std::vector<fs::path> litter_of_claim(const fs::path& claim) {
  const std::string begin = claim.filename().string() + ".";
  std::vector<fs::path> litter;
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(folder_of(claim), code)) {
    if (entry.path().filename().string().starts_with(begin)) litter.push_back(entry.path());
  }
  // Afterwards, so that what is made meanwhile is not among them.
  for (const fs::path& file : chain_of(claim)) {
    std::erase_if(litter, [&](const fs::path& each) { return each.filename() == file.filename(); });
  }
  return litter;
}

}  // namespace fovea::io
