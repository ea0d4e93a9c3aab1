// Windows that an attention saw as samples, put together again.
#pragma once

#include "attention/probe.h"

namespace fovea::explain {

/// What an attention did in windows as if it had seen all tokens: values (b, heads, n, width),
/// result and, where backward reached it, gradient (b, n, heads * width), float64 on the host. Any
/// other comes back as it is.
attention::Probe::Attended joined(const attention::Probe::Attended& recorded);

}  // namespace fovea::explain
