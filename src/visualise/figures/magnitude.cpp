// Bars of what a trained layer scores as one of its queries grows. mala section 9, figure 2.
#include "visualise/maps/magnitude.h"

#include <fmt/format.h>

#include "autograd/mode.h"
#include "base/error.h"
#include "base/file.h"
#include "ops/elementwise.h"
#include "visualise/figures/shared/image_inputs.h"
#include "visualise/figures/shared/shared_options.h"

namespace fovea::visualise {
namespace {

using attention::Probe;

struct MagnitudeOptions : QueryOption, LayerOption {
  std::int64_t head = 0;
};

const schema::Fields<MagnitudeOptions>& magnitude_fields() {
  static const auto fields =
      schema::Fields<MagnitudeOptions>{}
          .include(query_field())
          .include(layer_field("the last"))
          .add("head", &MagnitudeOptions::head, schema::at_least(0), "of the layer, from 0");
  return fields;
}

// One head of a record (1, heads, n, head_dim): (n, head_dim).
std::vector<double> head_of(const Tensor& record, std::int64_t head) {
  const Tensor wide = ops::cast(record.alias(record.shape().part(1, 4)), DType::kFloat64);
  const auto values = wide.rows(head, head + 1).host_values<double>();
  return {values.begin(), values.end()};
}

// The query of the token at a place, and the keys of all tokens.
QueryAndKeys observed_query(const ShownRun& run, const Tensor& image, Probe::Place place,
                            const MagnitudeOptions& options) {
  const autograd::NoGrad no_grad;
  run.model.train(false);
  Probe probe;
  probe.only(place);
  probe.with_queries_and_keys();
  run.model(models::only_input(run.model.interface(), image), &probe);
  std::vector<std::string> layers;
  std::vector<Tensor> queries = probe.all("queries"), keys = probe.all("keys");
  for (const Probe::Record& record : probe.records()) {
    if (record.name == "queries")
      layers.push_back(record.module.substr(0, record.module.rfind('.')));
  }
  FOVEA_CHECK(
      !layers.empty(), ConfigError,
      fmt::format("--magnitude: the attention of {} tells no queries and keys; expected mala "
                  "or another linear attention",
                  run.name));
  const std::size_t layer = options.layer.empty()
                                ? layers.size() - 1
                                : layer_place(layers, options.layer.front(), run.name);
  const std::int64_t heads = keys[layer].size(1), tokens = keys[layer].size(2),
                     dim = keys[layer].size(3);
  FOVEA_CHECK(options.head < heads, ConfigError,
              fmt::format("--head {}: {} has {} heads", options.head, run.name, heads));
  const attention::Context geometry = run.model.geometry();
  FOVEA_CHECK(tokens == geometry.prefix_tokens + geometry.grid_h * geometry.grid_w, ConfigError,
              fmt::format("--magnitude: {} has grids of several sizes; expected one", run.name));
  const std::int64_t token =
      probe.rows(geometry.prefix_tokens, geometry.grid_h, geometry.grid_w).first;
  const std::vector<double> all = head_of(queries[layer], options.head);
  const auto first = all.begin() + token * dim;
  return {{first, first + dim}, head_of(keys[layer], options.head)};
}

void draw_magnitude(const FigureRequest& request, const MagnitudeOptions& options) {
  FOVEA_CHECK(request.inputs.size() <= 1 && options.layer.size() <= 1, ConfigError,
              "--magnitude: is drawn of one run, one input and one layer");
  const ShownRun& run = request.runs.front();
  const ImageInput input = image_inputs(request).front();
  const auto responses = magnitude_responses(
      observed_query(run, prepared(input, run, request), options.place_in(input.picture), options),
      MagnitudeSettings().factors);
  io::make_directories(request.out);
  write_magnitude(request.out / "magnitude.png", responses);
  request.say(fmt::format("{:<20} {}", run.name, run.weights));
  request.say_files({"magnitude.png", "magnitude.csv"});
}

FigureInfo magnitude_info() {
  return {
      .help =
          "bars of what the patch at --query scores in a layer and head of a linear attention as "
          "its query grows, by softmax, linear attention and MALA; with random keys: fovea "
          "inspect magnitude",
      .files = {"magnitude.png", "magnitude.csv"},
      .fits = "a network of images with linear or softmax attention on one grid",
      .misfit = unless_images,
      .network =
          [](const ShownRun& run) {
            return can([&] { observed_query(run, first_sample(run), {0.5, 0.5}, {}); });
          },
      .most_runs = 1,
      .flag = true};
}

}  // namespace

FOVEA_FIGURE(magnitude, magnitude_info(), magnitude_fields(), draw_magnitude)

}  // namespace fovea::visualise
