// The few parts of a SentencePiece model (sentencepiece_model.proto) that we read ourselves: a
// switch of its normalisation, and what the library believes without a look: the texts of pieces,
// and every offset in the table of characters.
#pragma once

#include <string>
#include <string_view>

namespace fovea::data {

/// What is known of a model before the library reads it.
struct SentencePieceFile {
  bool dummy_prefix = true;  // a text begins with white space, as its other words do
  std::string untested;      // the model without its own test sentences
};

/// Throws FileError, which starts with `name`, for what is no such message, for a piece that is
/// empty, longer than 8000 bytes or has a zero byte, and for a table of characters that points
/// outside itself.
SentencePieceFile read_sentence_piece_file(std::string_view model, const std::string& name);

/// The same model with the switch as it is given.
std::string with_dummy_prefix(const SentencePieceFile& file, bool dummy_prefix);

}  // namespace fovea::data
