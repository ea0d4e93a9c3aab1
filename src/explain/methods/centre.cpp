// Relevance that knows where objects of photographs usually are and nothing of the image: what a
// map has to be better than before it locates anything (Judd, Ehinger, Durand, Torralba, Learning
// to predict where humans look, 2009, where the distance to the centre beats most models of
// saliency).
#include <cmath>

#include "base/error.h"
#include "explain/methods/controls.h"

namespace fovea::explain {
namespace {

struct CentreOptions {};

Explanation centre(const ExplanationRequest& request, const CentreOptions&) {
  FOVEA_CHECK(!request.subject.reads_text(), ConfigError,
              "centre: is of images; expected a network of images");
  const GridSize grid = control_grid(request.subject);
  // From -1 to 1 over each side of the image or volume.
  const auto along = [](std::int64_t i, std::int64_t places) {
    return (2 * static_cast<double>(i) + 1) / static_cast<double>(places) - 1;
  };
  std::vector<double> one;
  for (std::int64_t i = 0; i < grid.count(); ++i) {
    one.push_back(1 - std::hypot(along(i / (grid.h * grid.w), grid.d),
                                 along(i / grid.w % grid.h, grid.h), along(i % grid.w, grid.w)) /
                          std::sqrt(grid.d > 1 ? 3.0 : 2.0));
  }
  Explanation result{{}, grid};
  for (std::int64_t i = 0; i < request.subject.batch(); ++i)
    result.values.insert(result.values.end(), one.begin(), one.end());
  return result;
}

}  // namespace

FOVEA_EXPLANATION(centre,
                  {.title = "nearness to the centre of the image, as a control",
                   .source = "Judd et al., MIT 2009",
                   .class_specific = false,
                   .controls = true},
                  schema::Fields<CentreOptions>{}, centre)

}  // namespace fovea::explain
