// 20 Newsgroups (K. Lang, ICML 1995), the by-date version: posts of Usenet, one a file, in
// ROOT/20news-bydate-{train,test}/<group>/<number>. Headers, footers and quotes give the answer
// away and are removed by default, with the rules of scikit-learn. dgsa section 7.
#include <algorithm>
#include <array>

#include "data/registry.h"

namespace fovea::data {
namespace {

constexpr const char* kNewsgroupsPage = "datasets/newsgroups20.md";

struct NewsgroupsOptions : TextOptions {
  NewsgroupsOptions() { on_empty = OnEmpty::kKeep; }  // of some posts nothing but quotes is there
  std::vector<std::string> remove = {"headers", "footers", "quotes"};

  bool removes(const char* part) const {
    return std::find(remove.begin(), remove.end(), part) != remove.end();
  }
};

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  for (;;) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return lines;
    text.remove_prefix(end + 1);
  }
}

std::string_view trimmed(std::string_view text, std::string_view what = " \t\n\r\f\v") {
  const std::size_t begin = text.find_first_not_of(what);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(what) + 1 - begin);
}

// What follows the first empty line.
std::string_view without_header(std::string_view post) {
  const std::size_t end = post.find("\n\n");
  return end == std::string_view::npos ? post : post.substr(end + 2);
}

// What precedes the last line that is empty or made of dashes: a signature stands behind it.
std::string_view without_footer(std::string_view post) {
  const std::string_view body = trimmed(post);
  const auto lines = lines_of(body);
  for (std::size_t i = lines.size(); i-- > 1;) {
    if (trimmed(trimmed(lines[i]), "-").empty())
      return body.substr(0, static_cast<std::size_t>(lines[i].data() - body.data()) - 1);
  }
  return post;
}

bool is_quote(std::string_view line) {
  constexpr std::array kAnywhere = {"writes in", "writes:", "wrote:", "says:", "said:"};
  constexpr std::array kAtBegin = {"In article", "Quoted from", "|", ">"};
  const auto there = [&](const char* words) { return line.find(words) != std::string_view::npos; };
  const auto first = [&](const char* words) { return line.starts_with(words); };
  return std::any_of(kAnywhere.begin(), kAnywhere.end(), there) ||
         std::any_of(kAtBegin.begin(), kAtBegin.end(), first);
}

std::string without_quotes(std::string_view post) {
  std::string kept;
  bool first = true;
  for (const std::string_view line : lines_of(post)) {
    if (is_quote(line)) continue;
    if (!first) kept += '\n';
    kept += line;
    first = false;
  }
  return kept;
}

std::optional<TextSource> open_newsgroups(const Place& place, const NewsgroupsOptions& options) {
  if (place.split == Split::kVal) return std::nullopt;
  const bool train = place.split == Split::kTrain;
  TextSource source = read_text_folder(
      "newsgroups20", place.root / (train ? "20news-bydate-train" : "20news-bydate-test"), {}, true,
      options.encoding, kNewsgroupsPage);
  for (Document& document : source.documents) {
    std::string_view post = document.text;
    if (options.removes("headers")) post = without_header(post);
    if (options.removes("footers")) post = without_footer(post);
    document.text = options.removes("quotes") ? without_quotes(post) : std::string(post);
  }
  return source;
}

}  // namespace

FOVEA_DATASET(newsgroups20, open_newsgroups, "posts of 20 groups, by date", kNewsgroupsPage,
              schema::Fields<NewsgroupsOptions>{}.add(
                  "remove", &NewsgroupsOptions::remove,
                  schema::one_of({"headers", "footers", "quotes"}), "what is cut out of the posts"))

}  // namespace fovea::data
