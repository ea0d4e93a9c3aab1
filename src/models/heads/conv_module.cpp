#include "models/heads/conv_module.h"

namespace fovea::models {
namespace {

nn::Build kaiming(nn::Build build) {
  build.init = nn::Init::kKaiming;
  return build;
}

}  // namespace

ConvModule::ConvModule(const nn::Build& build, std::int64_t in, std::int64_t out,
                       std::int64_t kernel)
    : conv_(child<nn::Conv2d>("conv", kaiming(build), in, out, ops::Sizes{kernel},
                              ops::ConvOptions{.padding = {kernel / 2}}, false)),
      bn_(child<nn::BatchNorm2d>("bn", build, out)) {}

}  // namespace fovea::models
