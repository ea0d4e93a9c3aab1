#include "experiment/inference/postprocessing_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "experiment/inference/eval_results.h"
#include "schema/json/parse.h"

namespace fovea::experiment {
namespace {

using schema::Value;
using training::PostprocessingOptions;

PostprocessingOptions without_none(PostprocessingOptions asked) {
  auto& words = asked.keep_largest;
  if (std::find(words.begin(), words.end(), kNoPostprocessing) == words.end()) return asked;
  FOVEA_CHECK(words.size() == 1, ConfigError,
              "--keep-largest none: beside other names; expected it alone");
  words.clear();
  return asked;
}

struct Stored {
  PostprocessingOptions options;
  std::string split;
  std::int64_t cases = 0;
};

// Nothing where there is none, or where it is of other weights, which is noted.
std::optional<Stored> stored_in(const Opened& opened, std::vector<std::string>& notes) {
  if (opened.postprocessing.empty()) return std::nullopt;
  try {
    const Value value = schema::parse(opened.postprocessing, kPostprocessingFile);
    if (value.at("weights").as_string() != weights_hash(opened.run->model())) {
      notes.push_back(
          fmt::format("{} was chosen for other weights ({}) and is not applied; fovea eval "
                      "--choose-postprocessing chooses again",
                      kPostprocessingFile, value.at("checkpoint").as_string()));
      return std::nullopt;
    }
    return Stored{training::postprocessing_from(value), value.at("split").as_string(),
                  value.at("cases").as_int()};
  } catch (const ConfigError& error) {  // with the place in the file
    throw FileError(error.what());
  }
}

}  // namespace

Value described(const training::PostprocessingChoice& choice, const Opened& opened,
                data::Split split) {
  Value value = training::to_value(choice.options), steps = Value::array();
  for (const auto& step : choice.steps)
    steps.push_back(Value::object({{"keep_largest", step.keep_largest},
                                   {"dice_before", step.before},
                                   {"dice_after", step.after},
                                   {"taken", step.taken}}));
  value.set("weights", weights_hash(opened.run->model()));
  value.set("checkpoint", opened.weights.text());
  value.set("split", data::name_of(split));
  value.set("cases", choice.cases);
  value.set("steps", steps);
  return value;
}

std::vector<std::string> use_postprocessing(const std::vector<Opened>& opened,
                                            const PostprocessingOptions& asked) {
  if (!asked.empty()) {
    for (const Opened& one : opened) one.run->task().set_postprocessing(without_none(asked));
    return {};
  }
  std::vector<std::string> notes;
  std::vector<std::optional<Stored>> stored;
  for (const Opened& one : opened) stored.push_back(stored_in(one, notes));
  const auto options = [](const std::optional<Stored>& one) {
    return one ? one->options : PostprocessingOptions{};
  };
  for (const auto& one : stored) {
    if (options(one) == options(stored.front())) continue;
    notes.push_back(
        "the runs have different post-processing, and their mean has none; choose one with "
        "--keep-largest");
    return notes;
  }
  if (options(stored.front()).empty()) return notes;
  for (const Opened& one : opened) one.run->task().set_postprocessing(stored.front()->options);
  notes.push_back(fmt::format("post-processing: {} ({}, chosen on {} cases of {})",
                              stored.front()->options.text(), kPostprocessingFile,
                              stored.front()->cases, stored.front()->split));
  return notes;
}

}  // namespace fovea::experiment
