// The texts that are looked at: samples of a split by their numbers, and words.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "visualise/figures/figure.h"

namespace fovea::explain {

struct TextInput {
  std::string name, file, text;              // "7: yes"; of its picture; the words
  std::optional<std::int64_t> index, label;  // of a sample of the split
};

/// The texts that are asked for, as the first run has them. Throws ConfigError.
std::vector<TextInput> text_inputs(const visualise::FigureRequest& request);

/// The ids (1, n) of a text as a run reads it, on its host.
Tensor prepared_text(const std::string& text, const visualise::ShownRun& run);

}  // namespace fovea::explain
