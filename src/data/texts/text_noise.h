// Noise on texts for training and for measuring robustness (dgsa section 8): five types, each with
// a level s in (0, 1). Every type is a pure function of the ids, the level and random fields;
// corrupt() draws the fields from a stream.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "data/augment/noise.h"
#include "tensor/random.h"

namespace fovea::data {

using Ids = std::vector<std::int64_t>;

enum class TextCorruption {
  kInsert,   // spurious words: a random one before word i
  kReplace,  // word i becomes a random one
  kDelete,   // word i is dropped; if all would be, the one with the largest u stays
  kMask,     // word i becomes unknown
  kSwap,     // words i and i + 1 change places
};

/// All types; the first three are those of the preset.
std::span<const TextCorruption> all_text_corruptions();
/// "insert", "replace", "delete", "mask", "swap".
std::string_view name_of(TextCorruption type);
/// Inverse of name_of. Throws ConfigError with the nearest name.
TextCorruption text_corruption_from_name(std::string_view name);

struct TextCorruptionLevel {
  TextCorruption type = TextCorruption::kInsert;
  double level = 0.1;
};

/// Word i is changed if u[i] < level; a random word is 2 + floor(w[i] (vocab_size - 2)). u, w:
/// uniform in [0, 1), one for each word. Nothing is inserted or replaced where there is no word.
Ids corrupt(const Ids& ids, TextCorruptionLevel what, std::span<const float> u,
            std::span<const float> w, std::int64_t vocab_size);
/// The same with fields that are a function of `stream`, the type and the level. Throws ConfigError
/// unless 0 < level < 1.
Ids corrupt(const Ids& ids, TextCorruptionLevel what, const RandomStream& stream,
            std::int64_t vocab_size);

/// The same with a type by its name. Throws ConfigError also for an unknown one.
Ids corrupt(const Ids& ids, const NoiseLevel& what, const RandomStream& stream,
            std::int64_t vocab_size);

/// Names, preset (dgsa section 8) and help of these types, for options and reports.
const NoiseKind& text_noise();

}  // namespace fovea::data
