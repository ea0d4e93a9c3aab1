// For builds without SentencePiece.
#include <fmt/format.h>

#include "base/error.h"
#include "data/streams/sentence_pieces.h"

namespace fovea::data {
namespace {

[[noreturn]] void refuse(const std::string& name) {
  throw FileError(fmt::format(
      "{}: this program is built without SentencePiece, whose model this is; install it "
      "(libsentencepiece-dev) and build again",
      name));
}

}  // namespace

bool has_sentencepiece() { return false; }
std::shared_ptr<const StreamTokeniser> sentence_piece_tokeniser(std::string,
                                                                const std::string& name) {
  refuse(name);
}
std::shared_ptr<const StreamTokeniser> load_sentence_pieces(const std::filesystem::path& model) {
  refuse(model.string());
}

}  // namespace fovea::data
