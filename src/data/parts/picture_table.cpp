#include "data/parts/picture_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>
#include <system_error>

#include "base/error.h"
#include "base/extension.h"
#include "base/file.h"
#include "base/suggest.h"
#include "data/files/csv.h"
#include "data/files/pictures/image_file.h"
#include "data/files/text_decode.h"
#include "data/parts/folder.h"

namespace fovea::data {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSplitMark = "{split}";
constexpr const char* kTablePage = "datasets/image_folder.md";

bool by_split(const std::string& table) { return table.find(kSplitMark) != std::string::npos; }

// Of "lists/{split}.csv": "lists/" and ".csv".
std::array<std::string, 2> around_mark(const std::string& table) {
  const std::size_t at = table.find(kSplitMark);
  return {table.substr(0, at), table.substr(at + kSplitMark.size())};
}

fs::path table_path(const fs::path& root, Split split, const PictureTableOptions& o) {
  if (!by_split(o.table)) return root / o.table;
  const auto [before, ending] = around_mark(o.table);
  return part_path(before.empty() ? root : root / before, split, ending);
}

struct Columns {
  std::size_t file = 0, label = 0;
  std::optional<std::size_t> split;
};

std::size_t table_column(const fs::path& table, const CsvRow& head, const char* key,
                         const std::string& name) {
  const auto found = std::find(head.fields.begin(), head.fields.end(), name);
  const std::string hint = did_you_mean(name, head.fields);
  FOVEA_CHECK(found != head.fields.end(), FileError,
              fmt::format("{}:{}: has no column \"{}\"{} set dataset.{} to a column of its first "
                          "line; see {}",
                          table.string(), head.line, name, hint.empty() ? std::string(";") : hint,
                          key, kTablePage));
  return static_cast<std::size_t>(found - head.fields.begin());
}

Columns columns_of(const fs::path& table, const CsvRow& head, const PictureTableOptions& o) {
  Columns columns;
  columns.file = table_column(table, head, "file_column", o.file_column);
  columns.label = table_column(table, head, "label_column", o.label_column);
  const bool there = std::ranges::count(head.fields, o.split_column) > 0;
  const bool named =
      !o.split_column.empty() && o.split_column != PictureTableOptions{}.split_column;
  if (there || named) columns.split = table_column(table, head, "split_column", o.split_column);
  return columns;
}

Split split_of(const std::string& word, const std::string& place) {
  static const std::map<std::string, Split> kWords = {
      {"train", Split::kTrain}, {"training", Split::kTrain}, {"val", Split::kVal},
      {"valid", Split::kVal},   {"validation", Split::kVal}, {"dev", Split::kVal},
      {"test", Split::kTest},   {"testing", Split::kTest}};
  const auto found = kWords.find(word);
  FOVEA_CHECK(found != kWords.end(), FileError,
              fmt::format("{}: the part is \"{}\"; expected train, val or test", place, word));
  return found->second;
}

ListedPicture find_picture(const fs::path& folder, const std::string& name,
                           const std::string& place) {
  FOVEA_CHECK(!name.empty(), FileError,
              fmt::format("{}: the file is empty; expected the name of a picture", place));
  std::error_code code;
  ListedPicture picture{folder / name, "", place};
  if (has_image_extension(name) || fs::is_regular_file(picture.file, code)) {
    picture.found = fs::is_regular_file(picture.file, code);
    return picture;
  }
  for (const std::string& ending : image_extensions()) {
    const fs::path file = folder / (name + ending);
    if (fs::is_regular_file(file, code)) return {file, "", place};
  }
  picture.found = false;
  return picture;
}

// The whole number that a text is.
std::optional<std::int64_t> whole_number(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<std::vector<ListedPicture>> listed_pictures(const fs::path& root, Split split,
                                                          const PictureTableOptions& o) {
  const fs::path table = table_path(root, split, o);
  std::error_code code;
  if (by_split(o.table) && split != Split::kTrain && !fs::exists(table, code)) return std::nullopt;
  const char separator = lower_extension(table) == ".tsv" ? '\t' : ',';
  const std::vector<CsvRow> rows =
      parse_csv(without_mark(io::read_text(table)), separator, true, table.string());
  FOVEA_CHECK(rows.size() >= 2, FileError,
              fmt::format("{}: holds no rows; expected a first line of names of columns and a line "
                          "for each picture; see {}",
                          table.string(), kTablePage));
  const Columns columns = columns_of(table, rows.front(), o);
  std::vector<ListedPicture> chosen;
  std::map<fs::path, std::int64_t> lines;  // of the files so far, of all parts
  for (std::size_t r = 1; r < rows.size(); ++r) {
    const CsvRow& row = rows[r];
    const std::string place = fmt::format("{}:{}", table.string(), row.line);
    FOVEA_CHECK(row.fields.size() == rows.front().fields.size(), FileError,
                fmt::format("{}: has {} fields; expected {} as in the first line", place,
                            row.fields.size(), rows.front().fields.size()));
    ListedPicture picture = find_picture(root / o.images, row.fields[columns.file], place);
    const auto [first, added] = lines.emplace(picture.file, row.line);
    FOVEA_CHECK(added, FileError,
                fmt::format("{}: {} is also in line {}; expected every picture once", place,
                            row.fields[columns.file], first->second));
    picture.label = row.fields[columns.label];
    FOVEA_CHECK(picture.label.find_first_not_of(" \t") != std::string::npos, FileError,
                fmt::format("{}: the label is empty; expected a class", place));
    const Split part = columns.split       ? split_of(row.fields[*columns.split], place)
                       : by_split(o.table) ? split
                                           : Split::kTrain;
    if (part == split) chosen.push_back(std::move(picture));
  }
  if (!chosen.empty()) return chosen;
  FOVEA_CHECK(split != Split::kTrain, FileError,
              fmt::format("{}: no row is of train; see {}", table.string(), kTablePage));
  return std::nullopt;
}

std::vector<std::string> table_names(const std::string& table) {
  if (table.empty()) return {};
  if (!by_split(table)) return {table};
  const auto [before, ending] = around_mark(table);
  return part_names(before.empty() ? "." : before, ending);
}

std::vector<std::string> labels_in(const std::vector<ListedPicture>& pictures) {
  std::set<std::string> distinct;
  for (const ListedPicture& picture : pictures) distinct.insert(picture.label);
  std::vector<std::string> names(distinct.begin(), distinct.end());
  if (std::all_of(names.begin(), names.end(), [](const auto& n) { return whole_number(n); }))
    std::stable_sort(names.begin(), names.end(), [](const auto& a, const auto& b) {
      return *whole_number(a) < *whole_number(b);
    });
  return names;
}

}  // namespace fovea::data
