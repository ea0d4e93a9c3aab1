// How GPT-2 cuts a text before byte pairs are merged: contractions, words, numbers, other signs,
// each with the blank before it, and white space. Radford et al., "Language Models are Unsupervised
// Multitask Learners", 2019; the expression is that of its public code.
#pragma once

#include <cstddef>
#include <string_view>

namespace fovea::data {

/// The length in bytes of the first piece of a text that is not empty, by
///   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
/// The pieces of a text, one behind the other, are the text. Bytes that are no UTF-8 are signs.
std::size_t pre_token_length(std::string_view text);

/// Calls visit(piece) for every piece.
template <class Visit>
void for_pre_tokens(std::string_view text, const Visit& visit) {
  while (!text.empty()) {
    const std::size_t length = pre_token_length(text);
    visit(text.substr(0, length));
    text.remove_prefix(length);
  }
}

}  // namespace fovea::data
