#include "experiment/tables/row_errors.h"

#include <fmt/format.h>

#include <algorithm>

namespace fovea::experiment {

RowErrors::RowErrors(std::vector<std::string> lines)
    : ConfigError(fmt::format("{}", fmt::join(lines, "\n"))), lines_(std::move(lines)) {}

void RowComplaints::add(const std::string& row, const std::string& message) {
  const auto same = std::find_if(found_.begin(), found_.end(), [&](const Complaint& complaint) {
    return complaint.message == message && !complaint.rows.empty();
  });
  if (same == found_.end()) {
    found_.push_back({message, {row}});
  } else if (std::find(same->rows.begin(), same->rows.end(), row) == same->rows.end()) {
    same->rows.push_back(row);
  }
}

void RowComplaints::add(const std::string& message) { found_.push_back({message, {}}); }

std::vector<std::string> RowComplaints::lines() const {
  std::vector<std::string> lines;
  for (const Complaint& complaint : found_) {
    if (complaint.rows.empty()) {
      lines.push_back(complaint.message);
      continue;
    }
    lines.push_back(fmt::format("{} (row{} \"{}\")", complaint.message,
                                complaint.rows.size() == 1 ? "" : "s",
                                fmt::join(complaint.rows, "\", \"")));
  }
  return lines;
}

void RowComplaints::raise() const {
  if (!empty()) throw RowErrors(lines());
}

}  // namespace fovea::experiment
