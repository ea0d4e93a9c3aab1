// What is wrong with the rows of an ablation, all of it at once.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace fovea::experiment {

/// One line for each complaint, which names its rows.
class RowErrors : public ConfigError {
 public:
  explicit RowErrors(std::vector<std::string> lines);
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::vector<std::string> lines_;
};

class RowComplaints {
 public:
  /// A complaint about one row; the same about several rows is one line.
  void add(const std::string& row, const std::string& message);
  /// A complaint about no single row.
  void add(const std::string& message);
  bool empty() const { return found_.empty(); }
  /// `message (row "a")`, `message (rows "a", "b")`, in the order they came.
  std::vector<std::string> lines() const;
  /// Throws RowErrors if there are any.
  void raise() const;

 private:
  struct Complaint {
    std::string message;
    std::vector<std::string> rows;
  };
  std::vector<Complaint> found_;
};

}  // namespace fovea::experiment
