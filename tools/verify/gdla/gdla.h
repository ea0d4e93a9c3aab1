// What runners of the gdla paper's cases share.
#pragma once

#include <memory>

#include "models/model.h"
#include "schema/describe/description.h"
#include "verify/case.h"

namespace fovea::verify {

/// A token attention of the registry with the options that a case names.
schema::Component gdla_attention(const Case& c, const std::string& variant);
/// A feed-forward network; `ratio` of its hidden width to the width of the tokens.
schema::Component gdla_ffn(const Case& c, const std::string& kind, double ratio);
/// A PVTv2 backbone of the registry, or its classifier, from a case's description of one.
schema::Value gdla_backbone(const Config& config);
/// The PVTv2 classifier of a case's configuration.
std::unique_ptr<models::Model> pvt_v2_classifier(const Case& c);
/// A decoder of attention blocks over a PVTv2 backbone.
schema::Value gdla_decoder(const Case& c);

}  // namespace fovea::verify
