#include "ops/elementwise.h"
#include "ops/losses/ctc_loss.h"
#include "ops/reduce.h"
#include "tensor/host.h"
#include "training/losses/loss_entry.h"

namespace fovea::training {
namespace {

enum class CtcReduction { kBatch, kTargetLength };

struct Ctc : MapOptions {
  CtcReduction reduction = CtcReduction::kBatch;
  bool zero_infinity = true;
};

// Symbols of each row before the blanks that fill it up.
std::vector<std::int64_t> target_lengths(const Tensor& symbols) {
  const std::int64_t b = symbols.size(0), s = symbols.size(1);
  const auto values = symbols.host_values<std::int64_t>();
  std::vector<std::int64_t> lengths;
  for (std::int64_t i = 0; i < b; ++i) {
    std::int64_t length = s;
    while (length > 0 && values[static_cast<std::size_t>(i * s + length - 1)] == 0) --length;
    lengths.push_back(length);
  }
  return lengths;
}

Tensor ctc(const models::Outputs& output, const Tensor& symbols, const Ctc& o) {
  const Tensor& logits = output.logits;
  const std::int64_t b = logits.size(0);
  std::vector<std::int64_t> frames(static_cast<std::size_t>(b), logits.size(1));
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(b), symbols.size(1));
  if (!output.frames.empty()) {
    frames = output.frames;
    lengths = target_lengths(symbols);
  }
  const Tensor losses =
      ops::ctc_loss(logits, symbols, frames, lengths, {.zero_infinity = o.zero_infinity});
  if (o.reduction == CtcReduction::kBatch) return ops::mean(losses);
  std::vector<double> shares;
  for (const std::int64_t length : lengths)
    shares.push_back(1 / static_cast<double>(std::max<std::int64_t>(1, length)));
  return ops::mean(ops::mul(losses, from_doubles(shares, {b}, losses.dtype(), losses.device())));
}

}  // namespace

FOVEA_LOSS(
    ctc,
    LossMaker<Ctc>("connectionist temporal classification: -log p of a transcript, summed over all "
                   "ways in which frames can spell it (mala 7.5)",
                   schema::Fields<Ctc>{}
                       .add_enum("reduction", &Ctc::reduction,
                                 {{"batch", CtcReduction::kBatch},
                                  {"target_length", CtcReduction::kTargetLength}},
                                 "the sum over recordings divided by their number, or the mean of "
                                 "losses over lengths of transcripts, as PyTorch's mean")
                       .add("zero_infinity", &Ctc::zero_infinity,
                            "recordings with too few frames for their transcript count 0; false: "
                            "infinity, which ends the run"))
        .compares_sequences(ctc))

}  // namespace fovea::training
