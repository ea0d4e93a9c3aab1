#include "base/shared_folder.h"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/error.h"
#include "base/fault_hook.h"

namespace fovea::io {

namespace fs = std::filesystem;

void see_news(const fs::path& folder) {
#ifdef AT_STATX_FORCE_SYNC
  struct statx info {};
  (void)!::statx(AT_FDCWD, folder.c_str(), AT_STATX_FORCE_SYNC, STATX_MTIME, &info);
#else
  (void)folder;
#endif
}

bool name_if_free(const fs::path& from, const fs::path& to) {
  const auto named = [&] {
    if (::link(from.c_str(), to.c_str()) == 0) return 0;
    const int reason = errno;
    // The answer of a server may be lost, and the question be asked again: then the link is there.
    struct stat info {};
    if (reason == EEXIST && ::stat(from.c_str(), &info) == 0 && info.st_nlink > 1) return 0;
#ifdef RENAME_NOREPLACE
    const bool no_links =
        reason == EPERM || reason == ENOSYS || reason == EOPNOTSUPP || reason == EINVAL;
    if (no_links) {
      if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0)
        return 0;
      if (errno == EEXIST) return 1;
    }
#endif
    errno = reason;
    return reason == EEXIST || reason == ENOENT ? 1 : -1;
  };
  const int injected = injected_fault("link");
  errno = injected;
  const int result = injected != 0 ? -1 : named();
  const int reason = errno;
  ::unlink(from.c_str());
  FOVEA_CHECK(result >= 0, FileError,
              fmt::format("{}: cannot be made: {}", to.string(), std::strerror(reason)));
  return result == 0;
}

}  // namespace fovea::io
