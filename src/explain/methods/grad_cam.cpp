// Class activation maps of a layer. explain A.8.
#include <fmt/format.h>

#include <cmath>
#include <map>

#include "autograd/hooks.h"
#include "base/error.h"
#include "explain/maps/cam.h"
#include "explain/methods/method.h"
#include "tensor/host.h"
#include "visualise/drawing/heatmap.h"

namespace fovea::explain {
namespace {

struct CamOptions {
  std::vector<std::string> layer;
};

// What a module put out in the pass, and its gradient.
struct Seen {
  std::string module;
  Tensor value;
  std::shared_ptr<Tensor> gradient;
};

// The places of a layer, (b, channels, places) float64, and their grid.
struct Activations {
  std::int64_t channels = 0;
  GridSize grid;
  std::vector<double> values, gradients;
};

// Tokens (b, n, dim), or a map (b, dim, spatial...).
std::int64_t places_of(const Tensor& x) {
  return x.rank() == 3 ? x.size(1) : x.numel() / (x.size(0) * x.size(1));
}

// The grid of `places` tokens behind the prefix: one that blocks of the network work on, or of an
// image one of its proportions.
GridSize grid_of(const Subject& subject, const std::vector<GridSize>& known, std::int64_t places) {
  if (subject.grid().count() == places) return subject.grid();
  for (const GridSize& grid : known) {
    if (grid.count() == places) return grid;
  }
  const GridSize image = subject.size();
  if (image.d > 1) return {};
  const double cells =
      static_cast<double>(places) * static_cast<double>(image.h) / static_cast<double>(image.w);
  const auto h = static_cast<std::int64_t>(std::lround(std::sqrt(cells)));
  return h > 0 && places % h == 0 ? GridSize{h, places / h} : GridSize{};
}

GridSize grid_of_map(const Tensor& map) {
  return {map.size(-2), map.size(-1), map.rank() == 5 ? map.size(2) : 1};
}

// What the modules of a network put out, and the grids that its blocks hand on.
struct SeenNetwork {
  std::vector<Seen> modules;
  std::vector<GridSize> grids;
};

SeenNetwork see_modules(const ExplanationRequest& request) {
  SeenNetwork seen;
  std::map<std::string, int> runs;
  const autograd::ModuleHook see = [&](const std::string& module, const Tensor& output) {
    ++runs[module];
    // Modules inside windows see more than the samples.
    if (output.rank() < 3 || output.rank() > 5 || output.size(0) != request.subject.batch())
      return output;
    auto gradient = std::make_shared<Tensor>();
    seen.modules.push_back({module, output.detach(), gradient});
    return autograd::observed(output, [gradient](const Tensor& dy) { *gradient = dy; });
  };
  const autograd::HookModules hooks(see);
  attention::Probe probe;
  probe.without_maps();
  request.subject.gradient(request.subject.x(), request.targets, &probe);
  // Or as many, where windows of one size are one: tokens of a module that ran for several sizes.
  std::erase_if(seen.modules,
                [&](const Seen& one) { return one.value.rank() == 3 && runs[one.module] > 1; });
  for (const Tensor& features : probe.all("features")) {
    if (features.rank() >= 4) seen.grids.push_back(grid_of_map(features));
  }
  return seen;
}

bool is_token_norm(const Seen& one) {
  const std::string name = one.module.substr(one.module.rfind('.') + 1);
  return one.value.rank() == 3 && name.starts_with("norm");
}

// The last layer of the coarsest grid among those that fit; null if there is none.
template <class Fits>
const Seen* last_of(const std::vector<Seen>& all, Fits fits) {
  const Seen* found = nullptr;
  for (const Seen& one : all) {
    if (!one.gradient->defined() || places_of(one.value) < 2 || !fits(one)) continue;
    if (found == nullptr || places_of(one.value) <= places_of(found->value)) found = &one;
  }
  return found;
}

// The layer of a word: norm1_last, final_norm, last_stage. Null if there is none.
const Seen* place_named(const std::vector<Seen>& all, const std::string& word) {
  if (word == "norm1_last")
    return last_of(all, [](const Seen& one) { return one.module.ends_with("norm1"); });
  if (word == "final_norm") return last_of(all, is_token_norm);
  return last_of(all, [](const Seen& one) { return one.value.rank() >= 4; });
}

// pytorch-grad-cam's advice for ViTs: behind the last block only the class token is read, so the
// gradients of patches are 0 there. Without a class token what the head pools; of convolutions the
// end of the last stage.
const Seen& default_layer(const ExplanationRequest& request, const std::vector<Seen>& all) {
  const bool class_token = request.subject.layout().pooling == Pooling::kClass;
  const Seen* found =
      class_token ? place_named(all, "norm1_last") : last_of(all, [](const Seen&) { return true; });
  FOVEA_CHECK(found != nullptr, ConfigError,
              "grad_cam: no layer of the network has a grid; expected tokens or maps");
  return *found;
}

const Seen& named_layer(const std::vector<Seen>& all, const std::string& name) {
  for (const Seen& one : all) {
    if (one.module == name && one.gradient->defined()) return one;
  }
  if (name == "norm1_last" || name == "final_norm" || name == "last_stage") {
    if (const Seen* found = place_named(all, name)) return *found;
  }
  throw ConfigError(
      fmt::format("grad_cam: no layer \"{}\" gives a map or tokens that the score "
                  "depends on; expected a module as inspect lists them, for example "
                  "{}, or norm1_last, final_norm, last_stage",
                  name, all.empty() ? "none" : all.back().module));
}

Activations activations_of(const Subject& subject, const SeenNetwork& network, const Seen& seen) {
  const Tensor& x = seen.value;
  const std::vector<double> values = host_doubles(x), gradients = host_doubles(*seen.gradient);
  if (x.rank() >= 4) return {x.size(1), grid_of_map(x), values, gradients};
  const std::int64_t prefix = subject.reads_text() ? 0 : subject.layout().prefix;
  const std::int64_t b = x.size(0), n = x.size(1), channels = x.size(2), places = n - prefix;
  Activations a{channels, grid_of(subject, network.grids, places), {}, {}};
  FOVEA_CHECK(a.grid.count() == places, ConfigError,
              fmt::format("grad_cam: {} puts out {} tokens, which lie on no grid of the image",
                          seen.module, places));
  for (std::int64_t i = 0; i < b; ++i) {
    for (std::int64_t c = 0; c < channels; ++c) {
      for (std::int64_t j = prefix; j < n; ++j) {
        const auto from = static_cast<std::size_t>((i * n + j) * channels + c);
        a.values.push_back(values[from]);
        a.gradients.push_back(gradients[from]);
      }
    }
  }
  return a;
}

std::vector<double> cams_of(Cam kind, const Activations& a, std::int64_t batch) {
  std::vector<double> maps;
  const auto size = static_cast<std::ptrdiff_t>(a.channels * a.grid.count());
  for (std::int64_t i = 0; i < batch; ++i) {
    const auto part = [&](const std::vector<double>& all) {
      return std::vector<double>(all.begin() + i * size, all.begin() + (i + 1) * size);
    };
    const auto map = class_activation_map(kind, part(a.values), part(a.gradients), a.channels);
    maps.insert(maps.end(), map.begin(), map.end());
  }
  return maps;
}

// Maps of several layers, each scaled, enlarged to the largest grid and averaged.
Explanation averaged(const std::vector<Explanation>& maps, std::int64_t batch) {
  Explanation mean{{}, maps.front().grid};
  for (const Explanation& one : maps) {
    if (one.grid.count() > mean.grid.count()) mean.grid = one.grid;
  }
  mean.values.assign(static_cast<std::size_t>(batch * mean.grid.count()), 0.0);
  for (const Explanation& one : maps) {
    for (std::int64_t i = 0; i < batch; ++i) {
      const auto first = one.values.begin() + i * one.grid.count();
      const visualise::Matrix small{one.grid.h, one.grid.w,
                                    scaled_cam({first, first + one.grid.count()})};
      const visualise::Matrix large = visualise::heat_map(small, mean.grid.h, mean.grid.w, true);
      for (std::int64_t j = 0; j < mean.grid.count(); ++j)
        mean.values[static_cast<std::size_t>(i * mean.grid.count() + j)] +=
            large.values[static_cast<std::size_t>(j)] / static_cast<double>(maps.size());
    }
  }
  return mean;
}

Explanation cam(Cam kind, const ExplanationRequest& request, const CamOptions& o) {
  const Subject& subject = request.subject;
  FOVEA_CHECK(!subject.reads_text(), ConfigError,
              "grad_cam: the network reads texts; expected one of images");
  const SeenNetwork network = see_modules(request);
  const std::vector<Seen>& all = network.modules;
  std::vector<const Seen*> chosen;
  for (const std::string& name : o.layer) chosen.push_back(&named_layer(all, name));
  if (chosen.empty()) chosen.push_back(&default_layer(request, all));
  FOVEA_CHECK(chosen.size() == 1 || subject.size().d == 1, ConfigError,
              "grad_cam: several layers are for images; expected one of a network of volumes");
  std::vector<Explanation> maps;
  for (const Seen* layer : chosen) {
    const Activations a = activations_of(subject, network, *layer);
    maps.push_back({cams_of(kind, a, subject.batch()), a.grid});
  }
  return maps.size() == 1 ? maps.front() : averaged(maps, subject.batch());
}

Explanation grad_cam(const ExplanationRequest& request, const CamOptions& o) {
  return cam(Cam::kGradCam, request, o);
}
Explanation hires_cam(const ExplanationRequest& request, const CamOptions& o) {
  return cam(Cam::kHiResCam, request, o);
}
Explanation layer_cam(const ExplanationRequest& request, const CamOptions& o) {
  return cam(Cam::kLayerCam, request, o);
}

schema::Fields<CamOptions> cam_fields() {
  return schema::Fields<CamOptions>{}.add(
      "layer", &CamOptions::layer, schema::any(),
      "modules whose outputs are read (blocks.5.norm1), or norm1_last, final_norm, last_stage; "
      "several: the mean of their scaled maps; none: norm1_last where a class token is read, else "
      "the last of these before the head");
}

}  // namespace

FOVEA_EXPLANATION(grad_cam,
                  {.title = "channels of a layer, each weighted by its mean gradient",
                   .source = "Selvaraju et al., 2017"},
                  cam_fields(), grad_cam)
FOVEA_EXPLANATION(hires_cam,
                  {.title = "activations of a layer times their gradients",
                   .source = "Draelos & Carin, 2020"},
                  cam_fields(), hires_cam)
FOVEA_EXPLANATION(layer_cam,
                  {.title = "activations of a layer times their positive gradients",
                   .source = "Jiang et al., 2021"},
                  cam_fields(), layer_cam)

}  // namespace fovea::explain
