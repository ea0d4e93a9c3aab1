#include "bench/user_time.h"

#ifdef __unix__
#include <sys/resource.h>
#endif

namespace fovea::bench {

double user_seconds() {
#ifdef __unix__
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec) +
         1e-6 * static_cast<double>(usage.ru_utime.tv_usec);
#else
  return 0;
#endif
}

}  // namespace fovea::bench
