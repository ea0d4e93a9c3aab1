// Sentence polarity (B. Pang, L. Lee, ACL 2005): 5,331 positive and 5,331 negative sentences, one a
// line, cut into the customary parts of 8,530, 1,066 and 1,066. dgsa section 7.
#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "data/registry.h"

namespace fovea::data {
namespace {

constexpr const char* kRottenTomatoesPage = "datasets/rotten_tomatoes.md";

struct RottenTomatoesOptions : TextOptions {};

// Only \n ends a line: other line breaks of Unicode occur inside of sentences.
std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

std::optional<TextSource> open_rotten_tomatoes(const Place& place,
                                               const RottenTomatoesOptions& options) {
  TextSource source;
  source.class_names = {"neg", "pos"};
  for (const std::int64_t label : {1, 0}) {  // positives first
    const std::filesystem::path path =
        place.root / (label == 1 ? "rt-polarity.pos" : "rt-polarity.neg");
    source.files.push_back(path);
    const auto lines = lines_of(read_text_file(path, options.encoding, kRottenTomatoesPage));
    const auto bound = [&](double share) {
      return static_cast<std::size_t>(std::floor(share * static_cast<double>(lines.size()) + 0.5));
    };
    const std::size_t begin = place.split == Split::kTrain ? 0
                              : place.split == Split::kVal ? bound(0.8)
                                                           : bound(0.9);
    const std::size_t end = place.split == Split::kTrain ? bound(0.8)
                            : place.split == Split::kVal ? bound(0.9)
                                                         : lines.size();
    FOVEA_CHECK(begin < end, FileError,
                fmt::format("{}: holds {} lines; expected thousands of sentences; see {}",
                            path.string(), lines.size(), kRottenTomatoesPage));
    for (std::size_t i = begin; i < end; ++i)
      source.documents.push_back({lines[i], label, fmt::format("{}:{}", path.string(), i + 1)});
  }
  return source;
}

}  // namespace

FOVEA_DATASET(rotten_tomatoes, open_rotten_tomatoes,
              "sentences of film reviews, positive or negative", kRottenTomatoesPage,
              schema::Fields<RottenTomatoesOptions>{})

}  // namespace fovea::data
