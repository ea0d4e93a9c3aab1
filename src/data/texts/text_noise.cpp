#include "data/texts/text_noise.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>
#include <vector>

#include "base/error.h"
#include "data/texts/vocabulary.h"

namespace fovea::data {
namespace {

constexpr std::array kAll = {TextCorruption::kInsert, TextCorruption::kReplace,
                             TextCorruption::kDelete, TextCorruption::kMask, TextCorruption::kSwap};
constexpr std::array<std::string_view, 5> kNoiseNames = {"insert", "replace", "delete", "mask",
                                                         "swap"};

std::int64_t random_word(float w, std::int64_t vocab_size) {
  const std::int64_t words = vocab_size - Vocabulary::kSpecial;
  const auto chosen = static_cast<std::int64_t>(std::floor(double{w} * static_cast<double>(words)));
  return Vocabulary::kSpecial + std::min(chosen, words - 1);
}

Ids without(const Ids& ids, double s, std::span<const float> u) {
  Ids kept;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (!(double{u[i]} < s)) kept.push_back(ids[i]);
  }
  if (kept.empty() && !ids.empty()) {
    const auto largest = std::max_element(u.begin(), u.begin() + std::ssize(ids));
    kept.push_back(ids[static_cast<std::size_t>(largest - u.begin())]);
  }
  return kept;
}

Ids swapped(Ids ids, double s, std::span<const float> u) {
  for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
    if (!(double{u[i]} < s)) continue;
    std::swap(ids[i], ids[i + 1]);
    ++i;
  }
  return ids;
}

}  // namespace

std::span<const TextCorruption> all_text_corruptions() { return kAll; }

std::string_view name_of(TextCorruption type) {
  return kNoiseNames[static_cast<std::size_t>(type)];
}

TextCorruption text_corruption_from_name(std::string_view name) {
  return kAll[find_noise_type("corruption of texts", name, kNoiseNames)];
}

Ids corrupt(const Ids& ids, TextCorruptionLevel what, std::span<const float> u,
            std::span<const float> w, std::int64_t vocab_size) {
  if (what.type == TextCorruption::kDelete) return without(ids, what.level, u);
  if (what.type == TextCorruption::kSwap) return swapped(ids, what.level, u);
  const bool words = vocab_size > Vocabulary::kSpecial;
  Ids result;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const bool hit = double{u[i]} < what.level;
    if (what.type == TextCorruption::kMask) {
      result.push_back(hit ? Vocabulary::kUnknown : ids[i]);
      continue;
    }
    const bool changed = hit && words;
    if (changed) result.push_back(random_word(w[i], vocab_size));
    if (!changed || what.type == TextCorruption::kInsert) result.push_back(ids[i]);
  }
  return result;
}

Ids corrupt(const Ids& ids, TextCorruptionLevel what, const RandomStream& stream,
            std::int64_t vocab_size) {
  FOVEA_CHECK(what.level > 0.0 && what.level < 1.0, ConfigError,
              fmt::format("{}: level {} is outside (0, 1)", name_of(what.type), what.level));
  const RandomStream draws =
      stream.fork(name_of(what.type)).fork(std::bit_cast<std::uint64_t>(what.level));
  const auto field = [&](const char* name) {
    const RandomStream values = draws.fork(name);
    std::vector<float> all(ids.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = values.uniform(i);
    return all;
  };
  return corrupt(ids, what, field("u"), field("w"), vocab_size);
}

Ids corrupt(const Ids& ids, const NoiseLevel& what, const RandomStream& stream,
            std::int64_t vocab_size) {
  const TextCorruptionLevel found{text_corruption_from_name(what.type), what.level};
  return corrupt(ids, found, stream, vocab_size);
}

const NoiseKind& text_noise() {
  static const NoiseKind kind{{kNoiseNames.begin(), kNoiseNames.end()},
                              {"insert", "replace", "delete"},
                              ": the share of the words that is hit",
                              false};
  return kind;
}

}  // namespace fovea::data
