#include "verify/table.h"

#include <fmt/format.h>

namespace fovea::verify {

Runner& Table::add(const std::string& name) {
  const auto [place, fresh] = runners_.emplace(name, Runner());
  FOVEA_CHECK(fresh, Error, fmt::format("verify: two runners are called \"{}\"", name));
  return place->second;
}

void Table::merge(const Table& other) {
  for (const auto& [name, runner] : other.runners_) add(name) = runner;
}

const Runner* Table::find(const std::string& name) const {
  const auto found = runners_.find(name);
  return found == runners_.end() ? nullptr : &found->second;
}

}  // namespace fovea::verify
