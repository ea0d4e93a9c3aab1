#include "training/store/run_lock.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "base/error.h"
#include "training/progress.h"

namespace fovea::training {

std::filesystem::path run_lock_of(const std::filesystem::path& run_folder) {
  return run_folder / "run.lock";
}

io::Claim claim_run(const std::filesystem::path& run_folder,
                    const std::function<void(const std::string& line)>& say,
                    const std::atomic<bool>* stop, io::ClaimTimes times) {
  const std::filesystem::path file = run_lock_of(run_folder);
  constexpr std::chrono::milliseconds kLook{500};
  io::ClaimWatch watch(times);
  for (bool told = false;;) {
    if (std::optional<io::Claim> claim = watch.take(file)) {
      for (const std::filesystem::path& litter : io::litter_of_claim(file)) io::remove_all(litter);
      return std::move(*claim);
    }
    const auto sight = watch.look(file);
    if (!sight || sight->gone) continue;
    const bool here = sight->holder.host == host_name();
    FOVEA_CHECK(
        sight->existence == Existence::kUnknown && !sight->moved, FileError,
        fmt::format("{}: the run is in use by {}{}", file.string(), described(sight->holder),
                    here ? "" : "; if that program is gone, delete this file"));
    if (stop != nullptr && *stop)
      throw Interrupted(
          fmt::format("{}: stopped while the run was still held by {}; nothing was "
                      "written",
                      file.string(), described(sight->holder)));
    if (!std::exchange(told, true) && say) {
      const double patience = std::chrono::duration<double>(times.patience).count();
      say(fmt::format("{}: held by {}; goes on if there is no sign of life from it for {}",
                      file.string(), described(sight->holder), duration_text(patience)));
    }
    std::this_thread::sleep_for(std::min(kLook, times.beat));
  }
}

}  // namespace fovea::training
