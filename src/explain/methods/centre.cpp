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
  Explanation result{{}, control_grid(request.subject)};
  const auto h = static_cast<double>(result.grid.h), w = static_cast<double>(result.grid.w);
  for (std::int64_t i = 0; i < request.subject.batch(); ++i) {
    for (std::int64_t y = 0; y < result.grid.h; ++y) {
      for (std::int64_t x = 0; x < result.grid.w; ++x) {
        // From -1 to 1 over each side of the image.
        const double down = (2 * static_cast<double>(y) + 1) / h - 1;
        const double right = (2 * static_cast<double>(x) + 1) / w - 1;
        result.values.push_back(1 - std::hypot(down, right) / std::sqrt(2.0));
      }
    }
  }
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
