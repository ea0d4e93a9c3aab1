// What layer attention does from layer to layer. kcla figures 2, 4 and 7.
#include "visualise/maps/across_depth.h"

#include <algorithm>

#include "base/distinct_names.h"
#include "ops/elementwise.h"
#include "visualise/figures/figure.h"

namespace fovea::visualise {
namespace {

struct AcrossDepthOptions {
  std::int64_t samples = 512;
};

const schema::Fields<AcrossDepthOptions>& across_depth_fields() {
  static const auto fields = schema::Fields<AcrossDepthOptions>{}.add(
      "samples", &AcrossDepthOptions::samples, schema::greater_than(0), "images of the split");
  return fields;
}

// The first `count` samples of a run in batches.
NextBatch batches_of(const ShownRun& run, std::int64_t count) {
  constexpr std::int64_t kBatch = 64;
  return [&run, count, at = std::int64_t{0}]() mutable -> Tensor {
    if (at == count) return {};
    const std::int64_t end = std::min(count, at + kBatch);
    data::Collator collator(run.samples.fields(), end - at, run.host);
    data::Sample sample;
    for (; at < end; ++at) {
      collator.next(sample);
      run.samples.prepare(at, {}, sample);
      collator.add(sample);
    }
    return ops::to(collator.finish().at("image"), run.device);
  };
}

void draw_across_depth(const FigureRequest& request, const AcrossDepthOptions& options) {
  for (const ShownRun& run : request.runs) {
    const std::filesystem::path out =
        request.runs.size() == 1 ? request.out : request.out / slug(run.name);
    const std::int64_t count = std::min(options.samples, run.samples.size());
    for (const std::string& name :
         write_across_depth(run.model, batches_of(run, count), out.string()))
      request.say((out / name).string());
  }
}

FigureInfo across_depth_info() {
  return {.help =
              "what layer attention does from layer to layer: likeness of keys, decay, weights of "
              "layers, over --samples images; of several runs in a folder for each",
          .files = {"keys.png", "keys.csv", "decay.png", "decay.csv", "scores.png", "scores.csv"},
          .fits = "a network of images with layer attention",
          .misfit = unless_images,
          .network =
              [](const ShownRun& run) {
                bool shows = false;
                return can([&] { shows = shows_across_depth(run.model, first_sample(run)); }) &&
                       shows;
              },
          .flag = true};
}

}  // namespace

FOVEA_FIGURE(across_depth, across_depth_info(), across_depth_fields(), draw_across_depth)

}  // namespace fovea::visualise
