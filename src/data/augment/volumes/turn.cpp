#include <numbers>
#include <optional>

#include "data/augment/transform_entry.h"
#include "data/augment/volumes/volume_turn.h"

namespace fovea::data {
namespace {

class VolumeTurn final : public VolumeTransform {
 public:
  explicit VolumeTurn(const NoOptions&) {}
  std::optional<CropMatrix> turn(const VolumeSides& size,
                                 const RandomStream& draws) const override {
    constexpr CropMatrix kIdentity{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
    CropMatrix turn = kIdentity;
    const bool plane = turns_in_plane(size);
    if (happens(draws.fork("rotate"), kProb)) {
      const RandomStream angles = draws.fork("angles");
      for (std::size_t axis = 0; axis < 3; ++axis) {
        if (plane && axis > 0) continue;
        const double most = plane ? std::numbers::pi : kMaxTurn;
        turn = product(turn, rotation(axis, draw_between(angles, axis, -most, most)));
      }
    }
    if (happens(draws.fork("scale"), kProb)) {
      const double scale = draw_around_one(draws.fork("scale"), 1, kLeastScale, kMostScale);
      for (std::size_t i = plane ? 1 : 0; i < 3; ++i) {
        for (double& entry : turn[i]) entry *= scale;
      }
    }
    if (turn == kIdentity) return {};
    return turn;
  }

 private:
  static constexpr double kProb = 0.2;
};

}  // namespace

FOVEA_TRANSFORM(turn, VolumeTurn, kVolumes,
                "turn within 30 degrees about each axis, flat crops by any angle in their plane, "
                "and scale by 0.7 to 1.4, each with probability 0.2; linear, labels nearest",
                schema::Fields<NoOptions>{})

}  // namespace fovea::data
