// Files in folders that several machines share, as over NFS.
#pragma once

#include <filesystem>

namespace fovea::io {

/// Asks the server of a network file system what is in a folder now: else what another machine has
/// just made may be missing for a minute, and what it has removed still be there. Elsewhere nothing
/// happens, nor where there is no such folder.
void see_news(const std::filesystem::path& folder);

/// Gives a file another name on the same file system, unless that is taken, in one operation that
/// is atomic also for other machines. The old name is gone then, whatever happened. False where the
/// name is taken, or the file was removed meanwhile. Throws FileError where neither links nor
/// renaming without replacing are possible. (Tests can make it fail: "link".)
bool name_if_free(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace fovea::io
