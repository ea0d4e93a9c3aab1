// AG News (X. Zhang, J. Zhao, Y. LeCun, NeurIPS 2015): titles and leads of news in 4 classes, as
// CSV rows "class","title","description" without a header. dgsa section 7.
#include <fmt/format.h>

#include "base/error.h"
#include "data/files/csv.h"
#include "data/registry.h"

namespace fovea::data {
namespace {

constexpr const char* kAgNewsPage = "datasets/ag_news.md";

// kTestFile: everything comes from test.csv, of whose rows numbers 7 of nine are val, 8 of nine
// test and the others train, for those who do not have the 120,000 rows of train.csv.
enum class Parts { kPublished, kTestFile };

struct AgNewsOptions : TextOptions {
  Parts parts = Parts::kPublished;
};

Split part_of(std::size_t row) {
  const std::size_t r = row % 9;
  return r == 7 ? Split::kVal : r == 8 ? Split::kTest : Split::kTrain;
}

std::optional<TextSource> open_ag_news(const Place& place, const AgNewsOptions& options) {
  const bool published = options.parts == Parts::kPublished;
  if (published && place.split == Split::kVal) return std::nullopt;
  const bool train = published && place.split == Split::kTrain;
  const std::filesystem::path path = place.root / (train ? "train.csv" : "test.csv");
  std::error_code code;
  FOVEA_CHECK(!train || std::filesystem::exists(path, code), FileError,
              fmt::format("dataset.root: {}: not found; see {}; with test.csv alone set "
                          "dataset.parts=test_file",
                          path.string(), kAgNewsPage));
  TextSource source;
  source.files = {path};
  source.class_names = {"World", "Sports", "Business", "Sci/Tech"};
  const auto rows =
      parse_csv(read_text_file(path, options.encoding, kAgNewsPage), ',', true, path.string());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!published && part_of(i) != place.split) continue;
    const auto& fields = rows[i].fields;
    const std::string name = fmt::format("{}:{}", path.string(), rows[i].line);
    FOVEA_CHECK(
        fields.size() == 3 && fields[0].size() == 1 && fields[0] >= "1" && fields[0] <= "4",
        FileError,
        fmt::format("{}: {} fields, the first \"{}\"; expected a class 1 to 4, a title and a "
                    "description",
                    name, fields.size(), fields[0].substr(0, 40)));
    source.documents.push_back({fields[1] + " " + fields[2], fields[0][0] - '1', name});
  }
  return source;
}

}  // namespace

FOVEA_DATASET(ag_news, open_ag_news, "titles and leads of news, 4 topics", kAgNewsPage,
              schema::Fields<AgNewsOptions>{}.add_enum(
                  "parts", &AgNewsOptions::parts,
                  {{"published", Parts::kPublished}, {"test_file", Parts::kTestFile}},
                  "train.csv and test.csv; or all from test.csv, rows 7 and 8 of every nine, "
                  "counted from 0, for val and test"))

}  // namespace fovea::data
