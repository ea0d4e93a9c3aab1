#include "experiment/sweep/column_numbers.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "base/error.h"

namespace fovea::experiment {

std::map<std::string, double> numbers_by_column(const std::string& flag,
                                                const std::vector<std::string>& texts) {
  std::map<std::string, double> all;
  for (const std::string& text : texts) {
    const std::size_t cut = text.find('=');
    double number = 0;
    const char* end = text.data() + text.size();
    const bool read = cut != std::string::npos && cut > 0 &&
                      std::from_chars(text.data() + cut + 1, end, number).ptr == end;
    FOVEA_CHECK(read && number > 0 && std::isfinite(number), ConfigError,
                fmt::format("{}: expected COLUMN=NUMBER with a number above 0, such as "
                            "test_top1=0.5, got \"{}\"",
                            flag, text));
    all[text.substr(0, cut)] = number;
  }
  return all;
}

}  // namespace fovea::experiment
