// The pages for the browser that show explanations: the explorer of images and texts, and the
// slices of volumes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "explain/pictures/explained_inputs.h"
#include "visualise/drawing/canvas.h"
#include "visualise/pages/case_volume.h"

namespace fovea::explain {

/// The page's name in the folder of the request.
inline constexpr const char* kExplainedPage = "explain.html";
/// The most bytes of a page.
inline constexpr std::int64_t kMostPageBytes = 64'000'000;

/// One input as the page shows it.
struct PageInput {
  std::string name;
  visualise::Canvas picture = {};  // of an image; no pixels for a text
};

/// Writes the page of images or texts: for each input the maps of all methods and runs. `all`: of
/// each run, in the order of the inputs. Throws ConfigError for a page that would be larger than
/// kMostPageBytes.
void write_relevance_page(const ExplainedRuns& asked, const std::vector<PageInput>& inputs,
                          const std::vector<ExplainedRun>& all);

/// Writes the page of volumes, whose maps are relevance. Where they take more than kMostPageBytes,
/// fewer voxels are kept, which the page says.
void write_relevance_page(const ExplainedRuns& asked, std::vector<visualise::CaseVolume> cases,
                          std::vector<std::string> notes);

/// What the network said of an input, and what is explained: "predicts cat; dog has 12.3 %".
std::string said_of(const ExplainedInput& one);

}  // namespace fovea::explain
