// Connectionist temporal classification: the loss of recognising a sequence of symbols in a longer
// sequence of frames. mala 7.5; Graves et al., Connectionist Temporal Classification (ICML 2006).
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/tensor.h"

namespace fovea::ops {

struct CtcOptions {
  std::int64_t blank = 0;
  /// Sequences that no path of so many frames gives cost 0 and have no gradient; without it they
  /// cost infinity, and their gradient is NaN, as in PyTorch.
  bool zero_infinity = false;
};

/// -log of the summed probability of all paths that become the target when repeated symbols are
/// merged and blanks dropped, a number for each sequence: (b).
/// logits (b, t, symbols), of which sequence i has the first input_lengths[i] frames; targets (b,
/// s) int64, of which it has the first target_lengths[i] symbols, which may be none. Frames behind
/// the end have no gradient. Sums are float64 with exponents of their own, on the host: no path is
/// too unlikely for them. Throws ShapeError for shapes, lengths and symbols that do not fit; a
/// target may not hold blanks.
Tensor ctc_loss(const Tensor& logits, const Tensor& targets,
                const std::vector<std::int64_t>& input_lengths,
                const std::vector<std::int64_t>& target_lengths, const CtcOptions& options = {});

/// Frames that a target needs: its symbols, and a blank between equal neighbours.
std::int64_t ctc_frames(const std::int64_t* target, std::int64_t length);

}  // namespace fovea::ops
