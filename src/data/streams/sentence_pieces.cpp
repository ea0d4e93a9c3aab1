#include "data/streams/sentence_pieces.h"

#include <fmt/format.h>
#include <sentencepiece_processor.h>

#include <charconv>
#include <map>
#include <utility>

#include "base/base64.h"
#include "base/error.h"
#include "base/file.h"
#include "base/shown.h"
#include "data/streams/byte_pairs.h"
#include "data/streams/sentence_piece_file.h"

namespace fovea::data {
namespace {

using Processor = sentencepiece::SentencePieceProcessor;

constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::string_view kSpaceSign = "\xe2\x96\x81";  // U+2581, white space inside pieces
constexpr std::size_t kLongPart = 4096;

void load(Processor& processor, const std::string& model, const std::string& name) {
  const auto status = processor.LoadFromSerializedProto(model);
  if (status.ok()) return;
  // Some of its messages are places in its sources, others hold pieces as they are.
  std::string why = status.message();
  why = why.find(".cc(") != std::string::npos ? "cannot be read" : shown(why);
  throw FileError(fmt::format("{}: {}; expected a model of SentencePiece", name, why));
}

// The byte that a piece of byte_fallback, "<0x0A>", stands for.
char byte_of(const std::string& piece) {
  unsigned byte = 0;
  if (piece.size() == 6) std::from_chars(piece.data() + 3, piece.data() + 5, byte, 16);
  return static_cast<char>(byte);
}

// Where the last character of a text that is not empty begins.
std::size_t last_character(std::string_view text) {
  std::size_t at = text.size() - 1;
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xc0U) == 0x80U) --at;
  return at;
}

class SentencePieceTokeniser final : public StreamTokeniser {
 public:
  SentencePieceTokeniser(std::string model, const std::string& name)
      : model_(std::move(model)), name_(name) {
    const SentencePieceFile file = read_sentence_piece_file(model_, name);
    Processor& own = file.dummy_prefix ? with_prefix_ : without_prefix_;
    Processor& other = file.dummy_prefix ? without_prefix_ : with_prefix_;
    load(own, model_, name);
    load(other, with_dummy_prefix(file, !file.dummy_prefix), name);
    first_ = &own;
    FOVEA_CHECK(own.GetPieceSize() > 0, FileError, fmt::format("{}: has no pieces", name));
  }

  std::int64_t size() const override { return first_->GetPieceSize(); }

  StreamTokens encode(std::string_view text) const override {
    StreamTokens ids;
    std::map<std::string, Gap, std::less<>> known;
    for (const Processor* by = first_; !text.empty();) {
      const Cut cut = first_cut(text, known);
      append(*by, text.substr(0, cut.end), ids);
      text.remove_prefix(cut.next);
      by = cut.then;
    }
    return ids;
  }

  schema::Value to_value() const override {
    return schema::Value::object({{"type", "sentencepiece"}, {"model", to_base64(model_)}});
  }

 protected:
  std::string piece_of(std::int64_t at) const override {
    const int id = static_cast<int>(at);
    const std::string& piece = first_->IdToPiece(id);
    if (first_->IsControl(id)) return {};
    if (first_->IsByte(id)) return std::string(1, byte_of(piece));
    std::string bytes;
    if (first_->IsUnknown(id)) {  // what the model writes for unknown characters
      return first_->Decode(std::vector<int>{id}, &bytes).ok() ? bytes : std::string();
    }
    for (std::size_t i = 0; i < piece.size();) {
      const bool space = piece.compare(i, kSpaceSign.size(), kSpaceSign) == 0;
      bytes += space ? ' ' : piece[i];
      i += space ? kSpaceSign.size() : 1;
    }
    return bytes;
  }

 private:
  // How a text may be cut at a piece of white space: not at all; so that the rest begins behind it,
  // with the prefix in its place; so that the rest begins with it.
  enum class Gap { kNone, kBehind, kBefore };
  struct Cut {
    std::size_t end = 0, next = 0;    // of this part, of the rest
    const Processor* then = nullptr;  // encodes the rest
  };

  Cut first_cut(std::string_view text, std::map<std::string, Gap, std::less<>>& known) const {
    std::size_t at = text.find_first_not_of(kBlanks);
    while ((at = text.find_first_of(kBlanks, at)) != std::string_view::npos) {
      const std::size_t end = text.find_first_not_of(kBlanks, at);
      if (end == std::string_view::npos) break;
      const std::string_view blanks = text.substr(at, end - at);
      if (at >= kLongPart || blanks.find('\n') != std::string_view::npos) {
        const std::size_t before = last_character(text.substr(0, at));
        const std::string_view place = text.substr(before, end - before);
        auto found = known.find(place);
        if (found == known.end())
          found = known.emplace(place, gap_of(text.substr(before, at - before), blanks)).first;
        if (found->second == Gap::kBehind) return {at, end, &with_prefix_};
        if (found->second == Gap::kBefore) return {at, at, &without_prefix_};
      }
      at = end;
    }
    return {text.size(), text.size(), nullptr};
  }

  // Models differ in what they make of white space, so that they are asked. The character before it
  // may be white space of another kind.
  Gap gap_of(std::string_view character, std::string_view blanks) const {
    const std::string head = "a" + std::string(character), gap(blanks);
    StreamTokens whole, behind;
    append(*first_, head + gap + "b", whole);
    append(*first_, head, behind);
    StreamTokens before = behind;
    append(with_prefix_, "b", behind);
    if (behind == whole) return Gap::kBehind;
    append(without_prefix_, gap + "b", before);
    return before == whole ? Gap::kBefore : Gap::kNone;
  }

  void append(const Processor& processor, std::string_view text, StreamTokens& ids) const {
    std::vector<int> part;
    const auto status = processor.Encode(absl::string_view(text.data(), text.size()), &part);
    FOVEA_CHECK(status.ok(), FileError,
                fmt::format("{}: cannot encode a text: {}", name_, status.message()));
    ids.insert(ids.end(), part.begin(), part.end());
  }

  std::string model_, name_;
  // The model, and the same with the other choice of a prefix: white space before the first word.
  Processor with_prefix_, without_prefix_;
  const Processor* first_ = nullptr;  // as the model itself has it
};

}  // namespace

bool has_sentencepiece() { return true; }

std::shared_ptr<const StreamTokeniser> sentence_piece_tokeniser(std::string model,
                                                                const std::string& name) {
  return std::make_shared<const SentencePieceTokeniser>(std::move(model), name);
}

std::shared_ptr<const StreamTokeniser> load_sentence_pieces(const std::filesystem::path& model) {
  // In base64, as a run has it, the model is a third longer.
  constexpr std::size_t kMost = kMaxTokeniserBytes / 4 * 3 - 1024;
  return sentence_piece_tokeniser(io::read_text(model, kMost), model.string());
}

}  // namespace fovea::data
