#include "explain/pictures/explained_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "visualise/pages/explorer.h"
#include "visualise/pages/volume_page.h"

namespace fovea::explain {
namespace {

constexpr const char* kTitle = "What spoke for a class";

// Numbers of one method have one name, so that its maps of several runs can have one scale.
visualise::Quantity quantity_by(const std::string& method, const Explanation& found) {
  return {found.is_signed,
          fmt::format("relevance by {}{}", method, found.is_signed ? "" : ", without sign")};
}

}  // namespace

std::string said_of(const ExplainedInput& one) {
  const std::string percent =
      one.probability > 0 ? fmt::format("{:.1f} %", 100 * one.probability) : "";
  if (one.target == one.predicted)
    return percent.empty() ? fmt::format("predicts {}", one.predicted)
                           : fmt::format("predicts {} with {}", one.predicted, percent);
  return fmt::format("predicts {}; explained: {}{}", one.predicted, one.target,
                     percent.empty() ? "" : " with " + percent);
}

void write_relevance_page(const ExplainedRuns& asked, const std::vector<PageInput>& inputs,
                          const std::vector<ExplainedRun>& all) {
  visualise::Explorer explorer{.title = kTitle, .samples = {}};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    visualise::ExplorerSample sample{inputs[i].name, inputs[i].picture, {}};
    for (std::size_t m = 0; m < asked.methods.size(); ++m) {
      for (std::size_t r = 0; r < all.size(); ++r) {
        const ExplainedInput& one = all[r][i];
        const Explanation& found = one.found[m];
        const std::string& method = asked.methods[m].method->name;
        sample.relevance.push_back({.run = asked.request.runs[r].title,
                                    .method = method,
                                    .note = asked.request.runs[r].title + " " + said_of(one),
                                    .target = one.target,
                                    .quantity = quantity_by(method, found),
                                    .rows = found.grid.h,
                                    .cols = found.grid.w,
                                    .words = one.words,
                                    .values = found.values});
      }
    }
    explorer.samples.push_back(std::move(sample));
  }
  const std::string page = visualise::explorer_page(explorer);
  FOVEA_CHECK(
      std::ssize(page) <= kMostPageBytes, ConfigError,
      fmt::format("--page: {} would have {} MB, more than {} MB; ask for fewer inputs, runs "
                  "or methods at a time",
                  kExplainedPage, std::ssize(page) / 1'000'000, kMostPageBytes / 1'000'000));
  io::make_directories(asked.request.out);
  io::write_atomic(asked.request.out / kExplainedPage, page);
}

void write_relevance_page(const ExplainedRuns& asked, std::vector<visualise::CaseVolume> cases,
                          std::vector<std::string> notes) {
  visualise::VolumePage page{
      .title = kTitle,
      .notes = std::move(notes),
      .cases = std::move(cases),
      .maps = "Method",
      .begins_with_maps = true,
  };
  page.case_bytes = std::min(page.case_bytes, kMostPageBytes / std::ssize(page.cases));
  page.notes.push_back(
      "Maps are relevance in shares of the largest of each: red speaks for the class, blue against "
      "it. A volume is explained inside one window, as large as the crops of the training; the map "
      "is 0 outside of it.");
  io::make_directories(asked.request.out);
  write_volume_page(asked.request.out / kExplainedPage, page);
}

}  // namespace fovea::explain
