#include "explain/interventions/number_ranges.h"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace fovea::explain {
namespace {

bool reads_number(std::string_view text, std::int64_t& value) {
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && stop == text.data() + text.size();
}

}  // namespace

std::vector<NumberRange> number_ranges(const std::string& text,
                                       const std::function<void(const std::string& word)>& refuse) {
  std::vector<NumberRange> ranges;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view word = std::string_view(text).substr(begin, end - begin);
    const std::size_t dash = word.find('-');
    NumberRange range;
    const bool read = reads_number(word.substr(0, dash), range.first) &&
                      reads_number(dash == word.npos ? word : word.substr(dash + 1), range.second);
    if (!read || range.first < 0 || range.second < range.first) refuse(std::string(word));
    ranges.push_back(range);
    begin = end + 1;
  }
  return ranges;
}

}  // namespace fovea::explain
