#include "visualise_attention/layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/file.h"
#include "visualise/across_depth.h"
#include "visualise_attention/names.h"
#include "visualise_attention/subject.h"

namespace fovea::apps {

void draw_across_depth(const Arguments& args, const Common& common) {
  constexpr std::int64_t kBatch = 64;
  std::vector<std::string> names;
  for (const std::string& folder : args.runs) {
    names.push_back(io::fs::path(folder).filename().string());
  }
  names = distinct(std::move(names));
  for (std::size_t i = 0; i < args.runs.size(); ++i) {
    const experiment::Opened opened = open_run(i, args);
    experiment::Run& run = *opened.run;
    const data::Dataset& dataset = run.images().images(split_of(args, run));
    const std::int64_t count = std::min(args.samples, dataset.size());
    std::int64_t at = 0;
    const auto next = [&]() -> Tensor {
      if (at == count) return {};
      const std::int64_t end = std::min(count, at + kBatch);
      std::vector<float> values;
      const Shape shape{end - at, dataset.channels(), dataset.height(), dataset.width()};
      for (; at < end; ++at) {
        std::vector<float> image = dataset.get(at).image;
        const data::Planes planes{dataset.channels(), dataset.height(), dataset.width(),
                                  image.data()};
        data::normalise(planes, dataset.mean(), dataset.std());
        values.insert(values.end(), image.begin(), image.end());
      }
      return Tensor::from(values, shape, run.device());
    };
    const io::fs::path out =
        args.runs.size() == 1 ? io::fs::path(args.out) : io::fs::path(args.out) / slug(names[i]);
    for (const std::string& name : visualise::write_across_depth(run.model(), next, out.string())) {
      if (!common.quiet) fmt::print("{}\n", (out / name).string());
    }
  }
}

}  // namespace fovea::apps
