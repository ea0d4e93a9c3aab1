// Scores of explanations by name: what one is to the list of them. A score is a source file, which
// ends in FOVEA_SCORE, and a line in scores.def.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "explain/baselines.h"
#include "explain/questions.h"
#include "explain/units.h"
#include "schema/fields.h"
#include "schema/registry.h"
#include "tensor/random.h"

namespace fovea::explain {

/// An explained sample, and what scores may ask about it. What a score does not need may be empty.
struct Explained {
  std::vector<double> relevance;  // of the units row by row, or of the tokens of the text
  std::int64_t target = 0;        // the class that it is for

  const Questions* network = nullptr;
  Image image = {};
  std::optional<Units> units = {};      // of the image
  Colours colours = {};                 // of the images' normalisation
  std::vector<std::int64_t> text = {};  // ids, 0 = padding
  std::vector<std::uint8_t> mask = {};  // of the object: (height, width), 0 = elsewhere
  /// The relevance of another image for the same class by the same method.
  std::function<std::vector<double>(const Image&)> explain = {};
  /// The relevance after each step of making the network's parameters random, the last of all.
  std::vector<std::vector<double>> randomised = {};
  RandomStream stream = {};  // of this sample, for noise
};

/// Which way is better.
enum class Better { kHigher, kLower, kNeither };

/// What a score needs of an Explained besides relevance and target.
enum class Need {
  kImage,       // network, image, units
  kText,        // network, text
  kMask,        // units, mask
  kMethod,      // image, explain
  kRandomised,  // randomised
};

struct ScoreRule {
  Better better = Better::kHigher;
  std::vector<Need> needs = {};
};

/// What a score is of one sample; NaN where it is not defined.
struct Scored {
  double value = 0;
  /// Of scores that are the area under a curve: what was watched over the share of changed units.
  std::vector<double> shares = {}, watched = {};

  Scored(double of_sample) : value(of_sample) {}
  Scored(double of_sample, std::vector<double> x, std::vector<double> y)
      : value(of_sample), shares(std::move(x)), watched(std::move(y)) {}
};

struct ScoreEntry : schema::Choice {
  static constexpr const char* kKind = "score";
  ScoreRule rule;
  /// Throws ConfigError where something is missing that the rule says it needs, ShapeError where
  /// relevance does not fit the units or the text.
  std::function<Scored(const Explained&, const schema::Component&)> score;
};

/// All of scores.def.
const schema::Registry<ScoreEntry>& scores();

namespace detail {

/// Throws as ScoreEntry::score.
void check_needs(const std::string& name, const ScoreRule& rule, const Explained& explained);

template <class Options, class Result>
ScoreEntry make_score(const std::string& name, std::string help, ScoreRule rule,
                      const schema::Fields<Options>& fields,
                      Result (*score)(const Explained&, const Options&)) {
  const auto shared = std::make_shared<const schema::Fields<Options>>(fields);
  return {{name, std::move(help), shared},
          rule,
          [=](const Explained& explained, const schema::Component& component) -> Scored {
            check_needs(name, rule, explained);
            return score(explained, shared->parse(component, name));
          }};
}

}  // namespace detail

/// The options of a score without any.
struct NoOptions {};

}  // namespace fovea::explain

/// FOVEA_SCORE(name, help, ScoreRule, Fields<Options>, double or Scored (*)(const Explained&, const
/// Options&)): defines the entry that a line of scores.def refers to. Inside namespace
/// fovea::explain.
#define FOVEA_SCORE(name, help, rule, fields, function)             \
  ScoreEntry score_entry_##name() {                                 \
    return detail::make_score(#name, help, rule, fields, function); \
  }
