#include "common/ranks.h"

#include <fmt/format.h>

#include <chrono>
#include <iostream>
#include <thread>

#include "common/app.h"

namespace fovea::apps {
namespace {

using namespace std::chrono_literals;

// Most errors meet all ranks, a wrong setting for one. The first one says it and ends the others
// while they wait here; what they alone have met, they say themselves.
void let_lower_ranks_speak(int rank) {
  if (rank > 0) std::this_thread::sleep_for(2s + rank * 100ms);
}

}  // namespace

OneSpeaks::OneSpeaks(int rank) : rank_(rank), silent_(rank > 0) {
  if (!silent_) return;
  out_ = std::cout.rdbuf(&nowhere_);
  err_ = std::cerr.rdbuf(&nowhere_);
}

void OneSpeaks::end() {
  if (!silent_) return;
  std::cout.rdbuf(out_);
  std::cerr.rdbuf(err_);
  silent_ = false;
}

OneSpeaks::~OneSpeaks() {
  end();
  if (failed_) let_lower_ranks_speak(rank_);
}

int end_of_rank(parallel::Ranks& ranks, const std::function<void(const std::string&)>& say,
                int code) {
  if (ranks.alone()) {
    say("");
    return code;
  }
  if (code == kStopped) {  // all have agreed on it
    if (ranks.first()) say("");
    ranks.leave();
    return code;
  }
  if (!ranks.missing().empty()) {
    if (!parallel::speaks(ranks.rank(), ranks.missing())) std::this_thread::sleep_for(5s);
    say("");
  } else {
    let_lower_ranks_speak(ranks.rank());
    say(code == kUsageError && ranks.first() ? "" : fmt::format("rank {}: ", ranks.rank()));
  }
  ranks.abort(code);
}

}  // namespace fovea::apps
