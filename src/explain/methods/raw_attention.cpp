// Attention weights as they are. explain A.1.
#include "base/error.h"
#include "explain/methods/from_maps.h"

namespace fovea::explain {
namespace {

struct RawAttentionOptions : MapLayerOption {
  visualise::Fusion fusion = visualise::Fusion::kMean;
};

Explanation raw_attention(const ExplanationRequest& request, const RawAttentionOptions& o) {
  const Subject& subject = request.subject;
  const Recording seen = record(subject, request.targets, Wanted::kMaps, "raw_attention");
  if (!seen.one_grid) {
    FOVEA_CHECK(o.fusion == visualise::Fusion::kMean && o.layer != "mean", ConfigError,
                "raw_attention: the network has grids of several sizes, windows or reduced keys; "
                "expected one layer and fusion=mean");
    const RecordedLayer& layer = seen.layers[layer_place(o.layer, seen, "raw_attention")];
    LayerMaps maps = weighed_maps(Weighing::kWeights);
    maps.is_signed = layer.map.is_signed;
    return of_layer(subject, layer, maps);
  }
  std::vector<std::size_t> places;
  for (std::size_t l = 0; o.layer == "mean" && l < seen.layers.size(); ++l) places.push_back(l);
  if (places.empty()) places.push_back(layer_place(o.layer, seen, "raw_attention"));
  return of_tokens(subject, seen.is_signed, [&](std::int64_t item) {
    std::vector<double> mean;
    for (const std::size_t place : places) {
      const auto map = map_of(subject, seen.layers[place], item, "raw_attention");
      const std::vector<double> row =
          reading_row(visualise::fused_heads(map, o.fusion), subject.layout());
      mean.resize(row.size(), 0.0);
      for (std::size_t j = 0; j < row.size(); ++j)
        mean[j] += row[j] / static_cast<double>(places.size());
    }
    return mean;
  });
}

schema::Fields<RawAttentionOptions> raw_attention_fields() {
  return schema::Fields<RawAttentionOptions>{}
      .add("layer", &RawAttentionOptions::layer, schema::any(),
           "attention whose map is read: last, its number from 0 or from -1 backwards, its module "
           "or "
           "one around it (blocks.5.attn, block2), or mean, of all")
      .add_enum("fusion", &RawAttentionOptions::fusion,
                {{"mean", visualise::Fusion::kMean},
                 {"max", visualise::Fusion::kMax},
                 {"min", visualise::Fusion::kMin}},
                "how heads become one");
}

}  // namespace

FOVEA_EXPLANATION(raw_attention,
                  {.title = "attention weights of a layer",
                   .source = "Vaswani et al., 2017",
                   .class_specific = false},
                  raw_attention_fields(), raw_attention)

}  // namespace fovea::explain
