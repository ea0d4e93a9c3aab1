#include "training/tasks/task_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "base/suggest.h"

namespace fovea::training {

std::set<std::string> parse_saves(const std::vector<std::string>& words,
                                  const std::vector<std::string>& known, const std::string& gives) {
  for (const std::string& word : words) {
    FOVEA_CHECK(
        std::find(known.begin(), known.end(), word) != known.end(), ConfigError,
        fmt::format("--save {}: a network that gives {} has nothing of that name{} known: {}", word,
                    gives, did_you_mean(word, known), fmt::join(known, ", ")));
  }
  return {words.begin(), words.end()};
}

}  // namespace fovea::training
