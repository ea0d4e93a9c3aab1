#include "explain/scored/asked_scores.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"

namespace fovea::explain {
namespace {

struct Named {
  const ScoreEntry* score;
  schema::Value options;
};

bool needs(const ScoreEntry& score, Need need) {
  return std::ranges::find(score.rule.needs, need) != score.rule.needs.end();
}

std::vector<Named> named_scores(const std::vector<std::string>& names, Judges judges,
                                std::vector<std::string>& left_out) {
  std::vector<Named> asked;
  if (names.size() == 1 && names.front() == "all") {
    for (const ScoreEntry& score : scores()) {
      const std::string why = unfit(score, judges);
      if (why.empty()) asked.push_back({&score, schema::Value::object()});
      if (!why.empty()) left_out.push_back(fmt::format("{} is left out: it {}", score.name, why));
    }
    return asked;
  }
  for (const std::string& name : names) {
    FOVEA_CHECK(name != "all", ConfigError,
                "--score: all stands beside other scores; expected it alone");
    const ScoreEntry& score = scores().find(name, "--score");
    const auto same = [&](const Named& one) { return one.score == &score; };
    FOVEA_CHECK(std::ranges::none_of(asked, same), ConfigError,
                fmt::format("--score: {} is given twice", name));
    const std::string why = unfit(score, judges);
    FOVEA_CHECK(why.empty(), ConfigError, fmt::format("--score {}: {}", name, why));
    asked.push_back({&score, schema::Value::object()});
  }
  return asked;
}

}  // namespace

std::string unfit(const ScoreEntry& score, Judges judges) {
  const bool texts = judges == Judges::kTexts;
  if (needs(score, Need::kMask) && judges != Judges::kSegmentations)
    return fmt::format("needs masks of objects; {}",
                       texts ? "texts have none" : "the data have classes alone");
  if (needs(score, Need::kText) && !texts) return "needs texts; the network reads images";
  if ((needs(score, Need::kImage) || needs(score, Need::kMethod)) && texts)
    return "needs images; the network reads texts";
  if (needs(score, Need::kRandomised) && judges == Judges::kSegmentations)
    return "needs a class of the whole image; a random network gives its pixels to other classes";
  if (needs(score, Need::kImage) && judges == Judges::kSegmentations)
    return "needs the probability of a class; the network gives one to every pixel";
  return "";
}

std::vector<AskedScore> asked_scores(const std::vector<std::string>& names,
                                     const std::vector<std::string>& assignments, Judges judges,
                                     std::vector<std::string>& left_out) {
  std::vector<Named> named = named_scores(names, judges, left_out);
  for (const std::string& assignment : assignments) {
    const std::string name = name_in(assignment);
    const ScoreEntry& score = scores().find(name, "--option " + assignment);
    const auto found =
        std::ranges::find_if(named, [&](const Named& one) { return one.score == &score; });
    FOVEA_CHECK(found != named.end(), ConfigError,
                fmt::format("--option {}: {} is not among the scores; add it to --score",
                            assignment, name));
    set_option(score, assignment, found->options);
  }
  std::vector<AskedScore> asked;
  for (Named& one : named) {
    schema::Value options = schema::Value::object({{"type", one.score->name}});
    for (const schema::Value::Member& member : one.options.members())
      options.set(member.key, member.value);
    asked.push_back(
        {one.score,
         {one.score->name, one.score->fields->resolve_component(options, one.score->name)}});
  }
  return asked;
}

bool is_of_score(const std::string& assignment) {
  const std::string name = name_in(assignment);
  return std::ranges::any_of(scores(), [&](const ScoreEntry& one) { return one.name == name; });
}

}  // namespace fovea::explain
