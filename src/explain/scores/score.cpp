#include "explain/scores/score.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace fovea::explain {

#define FOVEA_ENTRY(name) ScoreEntry score_entry_##name();
#include "explain/scores/scores.def"
#undef FOVEA_ENTRY

const schema::Registry<ScoreEntry>& scores() {
  static const schema::Registry<ScoreEntry> all = {
#define FOVEA_ENTRY(name) score_entry_##name(),
#include "explain/scores/scores.def"
#undef FOVEA_ENTRY
  };
  return all;
}

namespace detail {
namespace {

// What is missing of a need; null if it is there.
const char* missing(Need need, const Explained& e) {
  const bool image = e.units && !e.image.values.empty();
  switch (need) {
    case Need::kImage:
      return e.network != nullptr && image ? nullptr : "a network and an image with its units";
    case Need::kText:
      return e.network != nullptr && !e.text.empty() ? nullptr : "a network and a text";
    case Need::kMask:
      return e.units && !e.mask.empty() ? nullptr : "a mask of the object";
    case Need::kMethod:
      return e.explain && !e.image.values.empty() ? nullptr : "the method of the explanation";
    case Need::kRandomised:
      return e.randomised.empty() ? "explanations of a network with random parameters" : nullptr;
  }
  return nullptr;
}

}  // namespace

void check_needs(const std::string& name, const ScoreRule& rule, const Explained& e) {
  for (const Need need : rule.needs) {
    const char* what = missing(need, e);
    FOVEA_CHECK(what == nullptr, ConfigError, fmt::format("{}: needs {}", name, what));
  }
  FOVEA_CHECK(!e.relevance.empty(), ShapeError, fmt::format("{}: no relevance", name));
  const std::int64_t count = e.units ? e.units->count() : std::ssize(e.text);
  FOVEA_CHECK(
      count == 0 || std::ssize(e.relevance) == count, ShapeError,
      fmt::format("{}: relevance of {} units; expected {}", name, e.relevance.size(), count));
}

}  // namespace detail
}  // namespace fovea::explain
