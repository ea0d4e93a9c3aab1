// Names of metrics and tasks are written where these are made, and nowhere else.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <regex>

#include "base/file.h"
#include "metrics/classification.h"
#include "metrics/label_maps.h"
#include "metrics/segmentation.h"
#include "tests/support/paths.h"
#include "training/tasks/task_registry.h"

using namespace fovea;

namespace {

// Sources without their comments, by path.
std::map<std::string, std::string> sources() {
  static const std::regex comment("//[^\n]*");
  std::map<std::string, std::string> all;
  const io::fs::path root = test::source_dir();
  for (const char* folder : {"src", "apps", "tools"}) {
    for (const auto& entry : io::fs::recursive_directory_iterator(root / folder)) {
      const std::string ending = entry.path().extension().string();
      if (ending == ".cpp" || ending == ".h")
        all[io::fs::relative(entry.path(), root).string()] =
            std::regex_replace(io::read_text(entry.path()), comment, "");
    }
  }
  return all;
}

std::vector<std::string> files_with(const std::map<std::string, std::string>& all,
                                    const std::string& literal) {
  std::vector<std::string> files;
  for (const auto& [path, text] : all) {
    if (text.find(literal) != std::string::npos) files.push_back(path);
  }
  return files;
}

}  // namespace

TEST_CASE("one place: renaming a metric is a change in one file", "[experiment]") {
  const auto all = sources();
  std::vector<metrics::MetricInfo> known = metrics::class_metrics(10);
  for (const auto& more : {metrics::mask_metrics(), metrics::label_map_metrics()})
    known.insert(known.end(), more.begin(), more.end());
  for (const metrics::MetricInfo& metric : known) {
    // These two words are also a section of experiment files, and the score of a single class.
    if (metric.is_loss || metric.name == "accuracy") continue;
    INFO(metric.name);
    const auto files = files_with(all, fmt::format("\"{}\"", metric.name));
    REQUIRE(files.size() == 1);
    CHECK(files[0].starts_with("src/metrics/"));
  }
}

TEST_CASE("one place: nothing but its own file names a task", "[experiment]") {
  const auto all = sources();
  for (const training::TaskEntry& task : training::tasks()) {
    INFO(task.name);
    auto files = files_with(all, fmt::format("\"{}\"", task.name));
    // COCO's files have a key "segmentation", the mask of an object; one of the figure's options is
    // the number of a detection.
    std::erase_if(files, [](const std::string& file) {
      return file.find("/coco") != file.npos || file.find("/figures/detections") != file.npos;
    });
    CHECK(files == std::vector<std::string>{});
  }
}
