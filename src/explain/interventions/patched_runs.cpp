#include "explain/interventions/patched_runs.h"

#include <fmt/format.h>

#include "base/error.h"
#include "explain/interventions/dropped_inputs.h"
#include "explain/naming.h"
#include "explain/pictures/text_inputs.h"
#include "explain/targets.h"
#include "visualise/figures/shared/image_inputs.h"

namespace fovea::explain {
namespace {

using visualise::FigureRequest;
using visualise::ImageInput;
using visualise::Reads;
using visualise::ShownRun;

// The other input alone, as a request of its own.
FigureRequest request_of_other(const PatchRequest& asked, bool texts) {
  FigureRequest other = asked.request;
  const bool words = texts && !visualise::is_index(asked.from);
  other.inputs = words ? std::vector<std::string>{} : std::vector<std::string>{asked.from};
  other.texts = words ? std::vector<std::string>{asked.from} : std::vector<std::string>{};
  return other;
}

struct NamedInput {
  std::string name;
  Tensor input;  // as the run reads it
  std::optional<std::int64_t> label;
};

std::vector<NamedInput> inputs_of_run(const FigureRequest& request, const ShownRun& run, bool texts,
                                      const std::optional<PatchDrop>& drop) {
  std::vector<NamedInput> inputs;
  if (texts) {
    for (const TextInput& text : text_inputs(request))
      inputs.push_back({text.label ? text.name : fmt::format("\"{}\"", text.text),
                        prepared_text(text.text, run), text.label});
    return inputs;
  }
  check_size(run, request);
  for (const ImageInput& image : image_inputs(request)) {
    std::optional<std::int64_t> label;
    if (image.index && run.samples.has("label"))
      label = run.samples.label(place_of(image, run, request));
    inputs.push_back({image.name, prepared(image, run, request, drop), label});
  }
  return inputs;
}

PatchedInput patched(const PatchRequest& asked, const ShownRun& run, const NamedInput& input,
                     const NamedInput& other) {
  const Subject subject(run.model, input.input);
  const std::int64_t target = target_of(asked.target, run, subject, 0, input.label);
  Tensor x;
  {
    const Subject of_other(run.model, other.input);
    x = of_other.x();
  }
  const std::vector<HeadSite> sites =
      head_sites(run.model, models::only_input(run.model.interface(), subject.input()));
  const std::string name = input.name + (asked.drop ? ", without patches" : "");
  return {run.title,
          run.weights,
          name,
          other.name,
          class_name(run, target),
          patch_activations(subject, x, target, sites)};
}

bool reads_text(const ShownRun& run) {
  const Reads reads = reads_of(run);
  FOVEA_CHECK(
      reads == Reads::kOneGrid || reads == Reads::kSeveralGrids || reads == Reads::kTexts,
      ConfigError,
      fmt::format("{}: reads {}; expected a network of images or texts", run.name, name_of(reads)));
  return reads == Reads::kTexts;
}

}  // namespace

std::vector<PatchedInput> patch_runs(const PatchRequest& asked) {
  FOVEA_CHECK(!asked.request.runs.empty(), ConfigError, "explain: expected at least one run");
  const bool texts = reads_text(asked.request.runs.front());
  FOVEA_CHECK(!asked.drop || !texts, ConfigError,
              "--drop-patches: is for networks of images; these read texts");
  const FigureRequest request_other = request_of_other(asked, texts);
  std::vector<PatchedInput> all;
  for (const ShownRun& run : asked.request.runs) {
    FOVEA_CHECK(reads_text(run) == texts, ConfigError,
                fmt::format("{}: reads {}, the first run {}; patch them apart", run.name,
                            name_of(reads_of(run)), name_of(reads_of(asked.request.runs.front()))));
    naming(run, [&] {
      const NamedInput other = inputs_of_run(request_other, run, texts, {}).front();
      for (const NamedInput& input : inputs_of_run(asked.request, run, texts, asked.drop))
        all.push_back(patched(asked, run, input, other));
    });
  }
  return all;
}

}  // namespace fovea::explain
