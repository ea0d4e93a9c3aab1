// What runners of the kcla paper's operators share.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "layer_attention/layer_attention.h"
#include "models/model.h"
#include "verify/case.h"

namespace fovea::verify {

/// Words of cases and the keys that they have in experiment files.
using Words = std::vector<std::pair<const char*, const char*>>;

/// A layer attention of the registry. Throws ConfigError where its schema refuses the options.
schema::Component kcla_component(const schema::Value& options);
/// Options of one variant under the case's words.
schema::Value kcla_options(const Case& c, const char* type, const Words& words);

/// How many layers the case has inputs for.
std::int64_t layer_count(const Case& c);
/// Layer t of a stack of one stage.
layer_attention::Slot slot_at(const Case& c, std::int64_t t);

/// What follows from the channels of a layer: heads, and the rule for kernels over channels (2.0).
void check_derived(const Case& c, std::int64_t channels);
/// What a case says of its layers one by one must be what its inputs are.
void check_layers(const Case& c);

/// The ResNet for small images of a case's configuration.
std::unique_ptr<models::Model> cifar_resnet(const Case& c);

}  // namespace fovea::verify
