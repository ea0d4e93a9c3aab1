// What a network does not see of the texts that it is given.
#pragma once

#include <cstdint>
#include <string>

#include "data/texts/text_dataset.h"

namespace fovea::experiment {

class LostWords {
 public:
  void add(const data::ReadText& read);
  /// How many words are unknown, how many were cut, and in how many texts; "" where nothing is
  /// lost.
  std::string text() const;

 private:
  std::int64_t texts_ = 0, words_ = 0;
  std::int64_t texts_with_unknown_ = 0, unknown_ = 0;
  std::int64_t texts_cut_ = 0, cut_ = 0;
};

}  // namespace fovea::experiment
