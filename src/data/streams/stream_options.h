// The keys of data sets that are one long text: how it becomes tokens, and how long samples are.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "data/dataset.h"
#include "data/files/text_decode.h"
#include "data/parts/split.h"
#include "data/streams/stream_tokeniser.h"
#include "schema/registry.h"

namespace fovea::data {

struct StreamOptions : SplitOptions {
  static constexpr Kind kKind = Kind::kStreams;
  using Common = StreamOptions;
  static const schema::Fields<StreamOptions>& keys();
  /// Without files the size of the vocabulary is known of bytes alone; else 0.
  std::optional<SampleShape> sample_shape() const;

  TextEncoding encoding = TextEncoding::kAuto;
  schema::Component tokeniser{"byte", {}};
  std::int64_t context = 256;
  bool shift = true;
};

/// A way to make tokens, by name.
struct StreamTokeniserEntry : schema::Choice {
  static constexpr const char* kKind = "tokeniser";
  bool learns = false;  // from the text of train
  std::function<std::shared_ptr<const StreamTokeniser>(const schema::Component&,
                                                       std::string_view train)>
      make;
};
const schema::Registry<StreamTokeniserEntry>& stream_tokenisers();

}  // namespace fovea::data
