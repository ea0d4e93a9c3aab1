// Starting threads where there may not be room for all of them.
#pragma once

#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

namespace fovea {

/// The largest number of threads that a setting may ask for.
inline constexpr int kMostThreads = 1024;

/// Starts `count` threads that run `work`, or as many as the system allows: results do not depend
/// on the number of threads, so a limit on processes or memory does not end the program.
std::vector<std::jthread> start_threads(std::size_t count, const std::function<void()>& work);

}  // namespace fovea
