#include "visualise_attention/magnitude.h"

#include <fmt/format.h>

#include "autograd/mode.h"
#include "base/error.h"
#include "base/file.h"
#include "ops/elementwise.h"
#include "visualise/maps/magnitude.h"
#include "visualise_attention/image_inputs.h"
#include "visualise_attention/subject.h"

namespace fovea::apps {
namespace {

using attention::Probe;

// One head of a record (1, heads, n, head_dim): (n, head_dim).
std::vector<double> head_of(const Tensor& record, std::int64_t head) {
  const Tensor wide = ops::cast(record.alias(record.shape().part(1, 4)), DType::kFloat64);
  const auto values = wide.rows(head, head + 1).host_values<double>();
  return {values.begin(), values.end()};
}

// The query of the token at a place, and the keys of all tokens.
visualise::QueryAndKeys observed(models::Model& model, const Tensor& image, Probe::Place place,
                                 const Arguments& args, const std::string& run) {
  const autograd::NoGrad no_grad;
  model.train(false);
  Probe probe;
  probe.only(place);
  probe.with_queries_and_keys();
  model(models::only_input(model.interface(), image), &probe);
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
                  run));
  const std::size_t layer =
      args.layers.empty() ? layers.size() - 1 : layer_place(layers, args.layers.front(), run);
  const std::int64_t heads = keys[layer].size(1), tokens = keys[layer].size(2),
                     dim = keys[layer].size(3);
  FOVEA_CHECK(args.head < heads, ConfigError,
              fmt::format("--head {}: {} has {} heads", args.head, run, heads));
  const attention::Context geometry = model.geometry();
  FOVEA_CHECK(tokens == geometry.prefix_tokens + geometry.grid_h * geometry.grid_w, ConfigError,
              fmt::format("--magnitude: {} has grids of several sizes; expected one", run));
  const std::int64_t token =
      probe.rows(geometry.prefix_tokens, geometry.grid_h, geometry.grid_w).first;
  const std::vector<double> all = head_of(queries[layer], args.head);
  const auto first = all.begin() + token * dim;
  return {{first, first + dim}, head_of(keys[layer], args.head)};
}

}  // namespace

void draw_magnitude(const Arguments& args, const Common& common) {
  FOVEA_CHECK(args.runs.size() == 1 && args.inputs.size() <= 1 && args.layers.size() <= 1,
              ConfigError, "--magnitude: is drawn of one run, one input and one layer");
  const std::string name = folder_names(args).front();
  experiment::Opened opened = open_run(0, args);
  experiment::Run& run = *opened.run;
  const data::ImageDataset& own = images_of(run, args);
  const ImageInput input = image_inputs(args, own, name).front();
  const auto responses = visualise::magnitude_responses(
      observed(run.model(), prepared(input, own, own, name, run.device()),
               place_of_query(args, input.picture), args, name),
      visualise::MagnitudeSettings().factors);
  const io::fs::path out = args.out;
  io::make_directories(out);
  visualise::write_magnitude(out / "magnitude.png", responses);
  if (common.quiet) return;
  fmt::print("{:<20} {}\n", name, weights_text(opened.weights));
  for (const char* file : {"magnitude.png", "magnitude.csv"})
    fmt::print("{}\n", (out / file).string());
}

}  // namespace fovea::apps
