// The settings of a run for TensorBoard: its tab HPARAMS compares runs by them, its tab TEXT shows
// config.json. Both are values of an event's Summary with the metadata of a plugin.
#pragma once

#include <string>

#include "schema/json/value.h"

namespace fovea::training {

/// For HPARAMS: the beginning of a session. Settings have dotted names ("optimizer.lr"); numbers,
/// words and booleans are as they are, lists are written as JSON, null is left out.
/// start_time: seconds since 1970.
std::string hparams_value(const schema::Value& settings, double start_time);
/// For HPARAMS: the session came to its end.
std::string finished_value(double end_time);
/// For TEXT: a text in Markdown.
std::string text_value(const std::string& tag, const std::string& markdown);

}  // namespace fovea::training
