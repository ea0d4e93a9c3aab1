// Networks that write down what is said: features of a recording, frame by frame, to logits of
// symbols, frame by frame, at a lower rate; symbol 0 is CTC's blank. A network is one source file
// in this room and one line in models.def. mala 4.6, 7.5.
#pragma once

#include "models/model.h"

namespace fovea::models {

class Transcriber : public ModelOf<Interface::kTranscriber> {
 public:
  /// Frames of logits that belong to so many frames of features.
  virtual std::int64_t frames_of(std::int64_t frames) const = 0;
};

}  // namespace fovea::models
