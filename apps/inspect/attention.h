// inspect attention: what the attention of trained networks is like, by layer and head.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/app.h"

namespace fovea::apps {

struct AttentionArguments {
  std::vector<std::string> runs, metrics;
  std::string split, checkpoint;  // empty: those that a run reports
  std::optional<bool> averaged;
  std::int64_t limit = 64;
  std::string out = "attention";
};

/// The subcommand "attention". `args` must outlive the parsing.
Options add_attention(Options cli, AttentionArguments& args);
/// Prints the table, or one JSON object, and writes both with a picture; returns the exit status.
/// `overrides`: of the runs' settings.
int inspect_attention(const AttentionArguments& args, const std::vector<std::string>& overrides,
                      bool json);

}  // namespace fovea::apps
