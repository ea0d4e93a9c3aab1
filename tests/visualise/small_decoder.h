// A decoder of attention blocks small enough for tests.
#pragma once

#include "tests/models/network.h"

namespace fovea::test {

inline const models::DataShape kSmallImages{
    .channels = 3, .height = 32, .width = 32, .num_classes = 3};

/// PVTv2 with one block a stage and a decoder of blocks of 8 channels.
inline schema::Value small_decoder(const char* type) {
  const auto list = [](std::vector<std::int64_t> values) { return schema::Value::array(values); };
  return options_of(type, {{"backbone", options_of("pvt_v2_b0", {{"embed_dims", list({8, 8, 8, 8})},
                                                                 {"num_heads", list({1, 2, 2, 2})},
                                                                 {"depths", list({1, 1, 1, 1})}})},
                           {"num_heads", list({2, 2, 2})}});
}

}  // namespace fovea::test
