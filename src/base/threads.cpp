#include "base/threads.h"

#include <new>
#include <system_error>

namespace fovea {

std::vector<std::jthread> start_threads(std::size_t count, const std::function<void()>& work) {
  std::vector<std::jthread> threads;
  threads.reserve(count);
  try {
    while (threads.size() < count) threads.emplace_back(work);
  } catch (const std::system_error&) {  // the threads that did start suffice
  } catch (const std::bad_alloc&) {
  }
  return threads;
}

}  // namespace fovea
