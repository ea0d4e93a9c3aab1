#include "training/inference/choose_postprocessing.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "data/batch.h"
#include "data/files/packed_file.h"
#include "metrics/label_maps.h"

namespace fovea::training {
namespace {

constexpr std::uint8_t kIgnored = 255;

std::string packed(std::span<const std::int64_t> labels) {
  std::string bytes;
  bytes.reserve(labels.size());
  for (const std::int64_t label : labels)
    bytes += static_cast<char>(label < 0 ? kIgnored : static_cast<std::uint8_t>(label));
  return data::pack_gzip(bytes);
}

std::vector<std::int64_t> unpacked(const std::string& packed, std::int64_t pixels) {
  const std::vector<std::byte> bytes =
      data::inflate(std::as_bytes(std::span(packed)), static_cast<std::size_t>(pixels), "labels");
  std::vector<std::int64_t> labels;
  labels.reserve(bytes.size());
  for (const std::byte byte : bytes) {
    const auto label = std::to_integer<std::uint8_t>(byte);
    labels.push_back(label == kIgnored ? data::kIgnoreLabel : std::int64_t{label});
  }
  return labels;
}

std::int64_t classes_in(const metrics::LabelSets& sets) {
  std::int64_t last = 0;
  for (const std::vector<std::int64_t>& set : sets)
    for (const std::int64_t label : set) last = std::max(last, label);
  return last + 1;
}

}  // namespace

PostprocessingChooser::PostprocessingChooser(std::vector<std::string> names,
                                             metrics::LabelSets labels, std::size_t first)
    : names_(std::move(names)), labels_(std::move(labels)), first_(first) {
  make_postprocessing({{"foreground"}, ""}, names_, labels_, first_);
}

void PostprocessingChooser::add(std::span<const std::int64_t> truth,
                                std::span<const std::int64_t> predicted,
                                const metrics::Grid& grid) {
  cases_.push_back({packed(truth), packed(predicted), grid});
}

std::vector<double> PostprocessingChooser::dice_with(const PostprocessingOptions& options) const {
  const Postprocessing how = make_postprocessing(options, names_, labels_, first_);
  std::vector<double> sums(labels_.size(), 0), counts(labels_.size(), 0);
  for (const Case& one : cases_) {
    const std::int64_t pixels = one.grid.pixels();
    std::vector<std::int64_t> predicted = unpacked(one.predicted, pixels);
    postprocess(how, predicted, one.grid);
    metrics::ConfusionMatrix confusion(classes_in(labels_));
    confusion.add(unpacked(one.truth, pixels), predicted, data::kIgnoreLabel);
    const std::vector<double> dice = metrics::class_dice(metrics::class_counts(confusion, labels_));
    for (std::size_t c = 0; c < dice.size(); ++c) {
      if (std::isnan(dice[c])) continue;
      sums[c] += dice[c];
      ++counts[c];
    }
  }
  for (std::size_t c = 0; c < sums.size(); ++c)
    sums[c] = counts[c] > 0 ? sums[c] / counts[c] : std::nan("");
  return sums;
}

PostprocessingChoice PostprocessingChooser::choose() const {
  PostprocessingChoice choice{{}, {}, std::ssize(cases_)};
  std::vector<double> best = dice_with({});
  const auto mean = [&](const std::vector<double>& dice) {
    return metrics::class_mean(dice, first_, metrics::Empty::kLeftOut);
  };
  const auto attempt = [&](const std::string& word, const auto& judge) {
    PostprocessingOptions with = choice.options;
    with.keep_largest.push_back(word);
    const std::vector<double> dice = dice_with(with);
    PostprocessingChoice::Step step = judge(dice);
    step.keep_largest = word;
    choice.steps.push_back(step);
    if (!step.taken) return;
    choice.options = with;
    best = dice;
  };
  attempt("foreground", [&](const std::vector<double>& dice) {
    bool better = mean(dice) > mean(best);
    for (std::size_t c = first_; c < dice.size(); ++c) better = better && !(dice[c] < best[c]);
    return PostprocessingChoice::Step{"", mean(best), mean(dice), better};
  });
  if (labels_.size() - first_ < 2) return choice;
  for (std::size_t c = first_; c < labels_.size(); ++c)
    attempt(names_.at(c), [&](const std::vector<double>& dice) {
      return PostprocessingChoice::Step{"", best[c], dice[c], dice[c] > best[c]};
    });
  return choice;
}

}  // namespace fovea::training
