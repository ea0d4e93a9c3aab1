// The names of the rollout policies, as JSON files and flags spell them.
#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/suggest.h"
#include "visualise/maps/rollouts/rollout.h"

namespace fovea::visualise {
namespace {

template <class Value, std::size_t size>
using Names = std::array<std::pair<std::string_view, Value>, size>;

constexpr Names<Fusion, 3> kFusions{
    {{"mean", Fusion::kMean}, {"max", Fusion::kMax}, {"min", Fusion::kMin}}};
constexpr Names<Sign, 4> kSigns{{{"raw", Sign::kRaw},
                                 {"abs", Sign::kAbs},
                                 {"positive", Sign::kPositive},
                                 {"negative", Sign::kNegative}}};
constexpr Names<Normalise, 3> kNormalisations{
    {{"sum", Normalise::kSum}, {"abs", Normalise::kAbs}, {"none", Normalise::kNone}}};

template <class Value, std::size_t size>
Value look_up(std::string_view what, std::string_view name, const Names<Value, size>& names) {
  std::vector<std::string> known;
  std::string list;
  for (const auto& [known_name, value] : names) {
    if (known_name == name) return value;
    known.emplace_back(known_name);
    list += fmt::format("{}{}", list.empty() ? "" : ", ", known_name);
  }
  throw ConfigError(fmt::format("rollout: no {} called \"{}\"{} (known: {})", what, name,
                                did_you_mean(name, known), list));
}

template <class Value, std::size_t size>
std::string_view look_up(Value value, const Names<Value, size>& names) {
  for (const auto& [name, known_value] : names) {
    if (known_value == value) return name;
  }
  return "?";
}

}  // namespace

Fusion fusion_from_name(std::string_view name) { return look_up("fusion", name, kFusions); }
Sign sign_from_name(std::string_view name) { return look_up("sign", name, kSigns); }
Normalise normalise_from_name(std::string_view name) {
  return look_up("normalise", name, kNormalisations);
}
std::string_view name_of(Fusion fusion) { return look_up(fusion, kFusions); }
std::string_view name_of(Sign sign) { return look_up(sign, kSigns); }
std::string_view name_of(Normalise normalise) { return look_up(normalise, kNormalisations); }

}  // namespace fovea::visualise
