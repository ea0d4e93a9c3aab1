#include "data/texts/tokeniser.h"

namespace fovea::data {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         static_cast<unsigned char>(c) >= 128;
}

// The replacements of torchtext's basic_english normaliser that come before its treatment of
// "<br />", which has to see their result: ' and . apart, " dropped.
std::string quotes_and_points(std::string_view text) {
  std::string result;
  result.reserve(text.size() + text.size() / 4);
  for (const char c : text) {
    if (c == '\'' || c == '.') {
      result += ' ';
      result += c;
      result += ' ';
    } else if (c != '"') {
      result += lower(c);
    }
  }
  return result;
}

std::string basic_english(std::string_view text) {
  constexpr std::string_view kBreak = "<br />";
  const std::string prepared = quotes_and_points(text);
  std::string result;
  result.reserve(prepared.size() + prepared.size() / 8);
  for (std::size_t at = 0; at < prepared.size(); ++at) {
    const char c = prepared[at];
    if (c == '<' && std::string_view(prepared).substr(at).starts_with(kBreak)) {
      result += ' ';
      at += kBreak.size() - 1;
    } else if (c == ',' || c == '(' || c == ')' || c == '!' || c == '?') {
      result += ' ';
      result += c;
      result += ' ';
    } else {
      result += c == ';' || c == ':' ? ' ' : c;
    }
  }
  return result;
}

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> tokens;
  std::size_t at = 0;
  while (at < text.size()) {
    if (is_space(text[at])) {
      ++at;
      continue;
    }
    std::string token;
    for (; at < text.size() && !is_space(text[at]); ++at) token += lower(text[at]);
    tokens.push_back(std::move(token));
  }
  return tokens;
}

std::vector<std::string> runs(std::string_view text, bool punctuation) {
  std::vector<std::string> tokens;
  std::size_t at = 0;
  while (at < text.size()) {
    std::string token;
    for (; at < text.size() && is_word(text[at]); ++at) token += lower(text[at]);
    if (!token.empty()) {
      tokens.push_back(std::move(token));
      continue;
    }
    if (punctuation && !is_space(text[at])) tokens.emplace_back(1, text[at]);
    ++at;
  }
  return tokens;
}

}  // namespace

std::vector<std::string> tokenise(Tokeniser tokeniser, std::string_view text) {
  switch (tokeniser) {
    case Tokeniser::kBasicEnglish:
      return split(basic_english(text));
    case Tokeniser::kWhitespace:
      return split(text);
    case Tokeniser::kWord:
      return runs(text, false);
    case Tokeniser::kWordpunct:
      return runs(text, true);
  }
  return {};
}

}  // namespace fovea::data
