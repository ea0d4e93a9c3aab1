#include "visualise_attention/layers.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/distinct_names.h"
#include "base/file.h"
#include "ops/elementwise.h"
#include "visualise/maps/across_depth.h"
#include "visualise_attention/subject.h"

namespace fovea::apps {

void draw_across_depth(const Arguments& args, const Common& common) {
  constexpr std::int64_t kBatch = 64;
  const std::vector<std::string> names = folder_names(args);
  for (std::size_t i = 0; i < args.runs.size(); ++i) {
    const experiment::Opened opened = open_run(i, args);
    experiment::Run& run = *opened.run;
    const data::Dataset& dataset = run.task().source().at(split_of(args, run));
    const std::int64_t count = std::min(args.samples, dataset.size());
    std::int64_t at = 0;
    const auto next = [&]() -> Tensor {
      if (at == count) return {};
      const std::int64_t end = std::min(count, at + kBatch);
      data::Collator collator(dataset.fields(), end - at, run.task().source().options().host);
      data::Sample sample;
      for (; at < end; ++at) {
        collator.next(sample);
        dataset.prepare(at, {}, sample);
        collator.add(sample);
      }
      return ops::to(collator.finish().at("image"), run.device());
    };
    const io::fs::path out =
        args.runs.size() == 1 ? io::fs::path(args.out) : io::fs::path(args.out) / slug(names[i]);
    for (const std::string& name : visualise::write_across_depth(run.model(), next, out.string())) {
      if (!common.quiet) fmt::print("{}\n", (out / name).string());
    }
  }
}

}  // namespace fovea::apps
