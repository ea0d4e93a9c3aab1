// What programs do at their beginning and end, also the front, which needs none of the layers.
#pragma once

#include <string>

namespace fovea::apps {

/// The exit code of a program that has printed all it had: `code`, or 1 with a word on stderr where
/// stdout could not take it (a full disk). Who reads through a pipe may stop when it has seen
/// enough.
int finish_output(const std::string& program, int code);

/// Programs that this one starts share their work out themselves: OpenBLAS, which starts a thread
/// for every core before they begin and ends them where it cannot, is asked for none.
void prepare_children();

}  // namespace fovea::apps
