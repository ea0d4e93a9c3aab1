#include "common/output.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>

namespace fovea::apps {

int finish_output(const std::string& program, int code) {
  errno = 0;
  std::cout.flush();
  const bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.good();
  if (written || errno == EPIPE) return code;  // who reads through a pipe may have seen enough
  const std::string reason = errno != 0 ? std::strerror(errno) : "output error";
  std::cerr << program << ": standard output: cannot be written: " << reason << "\n";
  return code == 0 ? 1 : code;
}

void prepare_children() { ::setenv("OPENBLAS_NUM_THREADS", "1", 0); }

}  // namespace fovea::apps
