#include "experiment/file/changes.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "schema/load.h"

namespace fovea::experiment {
namespace {

using schema::Value;

std::optional<std::int64_t> integer(const Value& config, const std::string& path) {
  const Value* found = schema::find_path(config, path);
  if (found == nullptr || !found->is_integer()) return std::nullopt;
  return found->as_int();
}

// "50,000"
std::string grouped(std::int64_t count) {
  std::string digits = std::to_string(count);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

void add_length(const RowPlan& row, std::vector<std::string>& changes) {
  const auto positive = [](std::optional<std::int64_t> count) {
    return count && *count > 0 ? count : std::nullopt;
  };
  const auto steps = positive(integer(row.config, "train.steps"));
  const auto planned_steps = positive(integer(row.planned, "train.steps"));
  const auto epochs = integer(row.config, "train.epochs");
  const auto planned_epochs =
      row.published.epochs ? row.published.epochs : integer(row.planned, "train.epochs");
  if (steps && planned_steps) {
    if (*steps < *planned_steps)
      changes.push_back(fmt::format("{} of {} steps", grouped(*steps), grouped(*planned_steps)));
  } else if (steps && planned_epochs && !row.planned.is_null()) {
    changes.push_back(
        fmt::format("{} steps instead of {} epochs", grouped(*steps), grouped(*planned_epochs)));
  } else if (!steps && epochs && planned_epochs && *epochs < *planned_epochs) {
    changes.push_back(fmt::format("{} of {} epochs", grouped(*epochs), grouped(*planned_epochs)));
  }
}

void add_limits(const RowPlan& row, std::vector<std::string>& changes) {
  using Words = std::pair<const char*, const char*>;
  for (const auto& [split, word] :
       {Words{"train", "training"}, Words{"val", "validation"}, Words{"test", "test"}}) {
    const std::string path = std::string("dataset.limit.") + split;
    const auto limit = integer(row.config, path);
    if (!limit) continue;
    auto whole = integer(row.planned, path);
    if (std::string(split) == "train" && row.published.train_samples)
      whole = row.published.train_samples;
    if (whole && *limit < *whole) {
      changes.push_back(fmt::format("{} of {} {} samples", grouped(*limit), grouped(*whole), word));
    } else if (!row.published.train_samples || std::string(split) != "train") {
      changes.push_back(fmt::format("{} {} samples (limit)", grouped(*limit), word));
    }
  }
}

void add_seeds(const RowPlan& row, std::vector<std::string>& changes) {
  const auto ours = static_cast<std::int64_t>(row.seeds.size());
  const auto planned =
      row.published.seeds.value_or(static_cast<std::int64_t>(row.planned_seeds.size()));
  if (ours < planned) {
    changes.push_back(fmt::format("{} of {} seeds", ours, planned));
  } else if (row.seeds != row.planned_seeds) {
    changes.push_back(fmt::format("seeds {} instead of {}", fmt::join(row.seeds, ", "),
                                  fmt::join(row.planned_seeds, ", ")));
  }
}

// A backbone with no weights of a file begins with random numbers.
void add_pretrained(const RowPlan& row, std::vector<std::string>& changes) {
  if (row.published.pretrained.empty()) return;
  const Value* weights = schema::find_path(row.config, "model.backbone.weights");
  if (weights == nullptr || !weights->is_string() || !weights->as_string().empty()) return;
  changes.push_back(
      fmt::format("backbone from random numbers, published: from {}", row.published.pretrained));
}

}  // namespace

std::vector<std::string> changes_of(const RowPlan& row) {
  std::vector<std::string> changes;
  add_length(row, changes);
  add_limits(row, changes);
  add_seeds(row, changes);
  add_pretrained(row, changes);
  for (const std::string& assignment : row.set) changes.push_back("--set " + assignment);
  return changes;
}

}  // namespace fovea::experiment
