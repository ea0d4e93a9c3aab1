// From text to words. dgsa section 7.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fovea::data {

/// All make ASCII letters lower case and leave other bytes as they are; white space is space, \t,
/// \n, \r, \f and \v.
enum class Tokeniser {
  kBasicEnglish,  // torchtext's rules: punctuation apart or dropped, then split at white space
  kWhitespace,    // split at white space
  kWord,          // runs of letters, digits, _ and bytes from 128 on
  kWordpunct,     // the same runs, and every other character that is no white space
};

std::vector<std::string> tokenise(Tokeniser tokeniser, std::string_view text);

}  // namespace fovea::data
