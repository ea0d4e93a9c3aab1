// Starting threads where there may not be room for all of them.
#pragma once

#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

namespace fovea {

/// The most that a setting may ask for.
inline constexpr int kMostThreads = 1024;

/// Starts `count` threads that run `work`, or as many as the system gives: a limit of processes or
/// of memory is no reason to end a program whose results do not depend on their number.
std::vector<std::jthread> start_threads(std::size_t count, const std::function<void()>& work);

}  // namespace fovea
