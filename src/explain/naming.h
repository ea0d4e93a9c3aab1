// Errors of one of several runs.
#pragma once

#include <fmt/format.h>

#include "base/error.h"
#include "visualise/figures/shared/shown_run.h"

namespace fovea::explain {

/// What `make` returns; its ConfigErrors begin with the name of the run.
template <class Make>
auto naming(const visualise::ShownRun& run, const Make& make) {
  try {
    return make();
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("{}: {}", run.name, error.what()));
  }
}

}  // namespace fovea::explain
