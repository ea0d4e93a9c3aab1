// Names from experiment files as text of a LaTeX table.
#pragma once

#include <string>

namespace fovea::experiment {

/// What LaTeX takes for commands is escaped, also at the start of a row; Greek letters, accents and
/// common signs become commands, so that every engine sets them. What has no command stays, bytes
/// that are no text become "?", line breaks spaces.
std::string latex_text(const std::string& text);

/// True if characters stayed that only lualatex and xelatex take.
bool needs_unicode_engine(const std::string& latex);

}  // namespace fovea::experiment
