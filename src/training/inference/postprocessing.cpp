#include "training/inference/postprocessing.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "base/suggest.h"

namespace fovea::training {
namespace {

using schema::Value;

constexpr const char* kForeground = "foreground";
constexpr const char* kEach = "each";

// The labels of all, without those of the background.
std::vector<std::int64_t> joined(const metrics::LabelSets& sets, std::size_t first) {
  std::vector<std::int64_t> all;
  for (std::size_t k = first; k < sets.size(); ++k)
    for (const std::int64_t label : sets[k])
      if (std::find(all.begin(), all.end(), label) == all.end()) all.push_back(label);
  return all;
}

void read_size(const std::string& text, Postprocessing& into) {
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, into.min_size);
  const std::string unit(rest, end);
  into.millimetre_axes = unit == "mm2" ? 2 : unit == "mm3" ? 3 : 0;
  FOVEA_CHECK(
      error == std::errc() && into.min_size > 0 && into.min_size < 1e15 &&
          (unit.empty() || into.millimetre_axes > 0),
      ConfigError,
      fmt::format("--min-size {}: expected a number above 0 of pixels or voxels (50), or of "
                  "square or cubic millimetres (50mm2, 50mm3)",
                  text));
}

// Sets the pixels of these labels to 0 whose component is not to be kept, by the sizes of all:
// keeps(size, largest).
template <class Label, class Keeps>
void remove(std::span<Label> labels, const std::vector<std::int64_t>& of, const metrics::Grid& grid,
            const Keeps& keeps) {
  std::vector<std::uint8_t> mask;
  mask.reserve(labels.size());
  for (const Label label : labels)
    mask.push_back(std::find(of.begin(), of.end(), static_cast<std::int64_t>(label)) != of.end());
  const metrics::Components components = metrics::connected_components(mask, grid);
  const std::vector<std::int64_t> sizes = components.sizes();
  const std::int64_t largest = *std::max_element(sizes.begin(), sizes.end());
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (mask[i] != 0 && !keeps(sizes[static_cast<std::size_t>(components.of_pixel[i])], largest))
      labels[i] = 0;
}

template <class Label>
void apply(const Postprocessing& how, std::span<Label> labels, const metrics::Grid& grid) {
  for (const std::vector<std::int64_t>& of : how.keep_largest)
    remove(labels, of, grid,
           [](std::int64_t size, std::int64_t largest) { return size == largest; });
  if (how.sized.empty()) return;
  double each = 1;  // the size of a pixel
  if (how.millimetre_axes > 0) {
    FOVEA_CHECK(
        !grid.spacing.empty(), ConfigError,
        "--min-size: in millimetres, but the data do not say how large pixels are; expected "
        "a number of pixels");
    FOVEA_CHECK(std::ssize(grid.size) == how.millimetre_axes, ConfigError,
                fmt::format("--min-size: in mm{}, but predictions have {} axes; expected mm{}",
                            how.millimetre_axes, grid.size.size(), grid.size.size()));
    for (const double step : grid.spacing) each *= step;
  }
  for (const std::vector<std::int64_t>& of : how.sized)
    remove(labels, of, grid, [&](std::int64_t size, std::int64_t) {
      return static_cast<double>(size) * each >= how.min_size;
    });
}

}  // namespace

std::string PostprocessingOptions::text() const {
  std::string text;
  if (!keep_largest.empty())
    text = fmt::format("largest component of {}", fmt::join(keep_largest, ", "));
  if (!min_size.empty())
    text += fmt::format("{}components of at least {}{}", text.empty() ? "" : "; ", min_size,
                        min_size.ends_with("mm2") || min_size.ends_with("mm3") ? "" : " pixels");
  return text.empty() ? "none" : text;
}

Value to_value(const PostprocessingOptions& options) {
  return Value::object(
      {{"keep_largest", Value::array(options.keep_largest)}, {"min_size", options.min_size}});
}

PostprocessingOptions postprocessing_from(const Value& value) {
  PostprocessingOptions options;
  for (const Value& name : value.at("keep_largest").items())
    options.keep_largest.push_back(name.as_string());
  options.min_size = value.at("min_size").as_string();
  return options;
}

Postprocessing make_postprocessing(const PostprocessingOptions& options,
                                   const std::vector<std::string>& names,
                                   const metrics::LabelSets& labels, std::size_t first) {
  Postprocessing made{options, {}, {}};
  if (options.empty()) return made;
  FOVEA_CHECK(first > 0, ConfigError,
              "--keep-largest, --min-size: the data have no background, which pixels that are "
              "removed could get");
  const metrics::LabelSets sets(labels.begin() + static_cast<std::ptrdiff_t>(first), labels.end());
  std::vector<std::string> known = {kForeground, kEach};
  if (first < names.size())
    known.insert(known.end(), names.begin() + static_cast<std::ptrdiff_t>(first), names.end());
  for (const std::string& word : options.keep_largest) {
    if (word == kForeground) {
      made.keep_largest.push_back(joined(labels, first));
    } else if (word == kEach) {
      made.keep_largest.insert(made.keep_largest.end(), sets.begin(), sets.end());
    } else {
      const auto found = std::find(known.begin() + 2, known.end(), word);
      FOVEA_CHECK(found != known.end(), ConfigError,
                  fmt::format("--keep-largest {}: no class of that name{} (known: {})", word,
                              did_you_mean(word, known), fmt::join(known, ", ")));
      made.keep_largest.push_back(sets[static_cast<std::size_t>(found - known.begin()) - 2]);
    }
  }
  if (!options.min_size.empty()) {
    read_size(options.min_size, made);
    made.sized = sets;
  }
  return made;
}

void postprocess(const Postprocessing& how, std::span<std::int64_t> labels,
                 const metrics::Grid& grid) {
  apply(how, labels, grid);
}

void postprocess(const Postprocessing& how, std::span<std::uint8_t> labels,
                 const metrics::Grid& grid) {
  apply(how, labels, grid);
}

Tensor postprocessed(const Postprocessing& how, const Tensor& labels,
                     const std::vector<std::int64_t>& size,
                     const std::optional<std::vector<double>>& spacing) {
  if (how.empty()) return labels;
  const auto given = labels.host_values<std::int64_t>();
  std::vector<std::int64_t> values(given.begin(), given.end());
  postprocess(how, values, {size, spacing.value_or(std::vector<double>())});
  return Tensor::from(values, labels.shape(), labels.device());
}

}  // namespace fovea::training
