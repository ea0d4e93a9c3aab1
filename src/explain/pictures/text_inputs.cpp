#include "explain/pictures/text_inputs.h"

#include <fmt/format.h>

#include "base/error.h"
#include "data/texts/text_dataset.h"
#include "explain/targets.h"
#include "visualise/figures/shared/image_inputs.h"

namespace fovea::explain {

using visualise::FigureRequest;
using visualise::ShownRun;

std::vector<TextInput> text_inputs(const FigureRequest& request) {
  const data::TextDataset& dataset = data::texts_of(request.runs.front().samples);
  std::vector<std::string> numbers = request.inputs;
  if (numbers.empty() && request.texts.empty()) numbers = standard_inputs(request);
  std::vector<TextInput> inputs;
  for (const std::string& number : numbers) {
    FOVEA_CHECK(visualise::is_index(number), ConfigError,
                fmt::format("--input {}: expected the number of a text of the split; give words "
                            "with --text",
                            number));
    const std::int64_t i = visualise::sample_index(number, dataset.size());
    inputs.push_back({fmt::format("{}: {}", i, class_name(request.runs.front(), dataset.label(i))),
                      fmt::format("explain-{}.png", i), dataset.text(i), i, dataset.label(i)});
  }
  for (std::size_t k = 1; k <= request.texts.size(); ++k) {
    const std::string& text = request.texts[k - 1];
    FOVEA_CHECK(!dataset.words_of(text).empty(), ConfigError,
                fmt::format("--text \"{}\": holds no word", text));
    inputs.push_back(
        {fmt::format("text {}", k), fmt::format("explain-text-{}.png", k), text, {}, {}});
  }
  return inputs;
}

Tensor prepared_text(const std::string& text, const ShownRun& run) {
  const data::TextDataset& dataset = data::texts_of(run.samples);
  const data::Ids ids = dataset.ids_of(dataset.words_of(text));
  return Tensor::from(ids, {1, std::ssize(ids)}, run.host);
}

}  // namespace fovea::explain
