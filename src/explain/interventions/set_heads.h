// Heads of a network that users switch off or scale by name: --set-heads 'blocks.3:0,2=off'.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "explain/interventions/heads.h"
#include "explain/interventions/number_ranges.h"

namespace fovea::explain {

/// One assignment of heads.
struct HeadSetting {
  /// The dotted name of an attention, or of what it is a part of ("blocks.3"), in which * stands
  /// for any characters.
  std::string module;
  std::vector<NumberRange> ranges;  // of heads; empty: all
  double factor = 0;
  std::string text;  // as it was given
};

/// "MODULE:HEADS=off" or "=FACTOR", where HEADS are numbers and ranges apart by commas, or *.
/// Throws ConfigError, which names --set-heads.
HeadSetting head_setting(const std::string& text);
std::vector<HeadSetting> head_settings(const std::vector<std::string>& texts);

/// The heads of a network as the settings say, while it lives; of two settings of a head the later
/// one counts.
class SetHeads {
 public:
  /// Throws ConfigError, which names --set-heads and the nearest known name, for a module or a head
  /// that is not there.
  SetHeads(const std::vector<HeadSite>& sites, const std::vector<HeadSetting>& settings);

 private:
  std::vector<std::unique_ptr<ScaledHeads>> scaled_;
};

}  // namespace fovea::explain
