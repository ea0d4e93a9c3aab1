// One program at a time in a run folder.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <string>

#include "base/claim.h"

namespace fovea::training {

/// The file of a run's claim (base/claim.h): run.lock.
std::filesystem::path run_lock_of(const std::filesystem::path& run_folder);

/// Claims a run folder. What was left by a program that is gone is taken over. A program on another
/// machine cannot be asked: this one waits for a sign of life, for as long as `times` say, and
/// first tells `say` why. Throws FileError that names the holder if it is alive, Interrupted if
/// `stop` becomes true meanwhile.
io::Claim claim_run(const std::filesystem::path& run_folder,
                    const std::function<void(const std::string& line)>& say = {},
                    const std::atomic<bool>* stop = nullptr, io::ClaimTimes times = {});

}  // namespace fovea::training
