// The published numbers that ship, against the tables of the papers' specifications and against the
// sweeps that compare with them.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <cstdlib>
#include <map>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "experiment/costs/costs.h"
#include "experiment/file/experiment.h"
#include "experiment/sweep/ablation.h"
#include "schema/json/parse.h"
#include "schema/load.h"
#include "tests/support/paths.h"

using namespace fovea;
using namespace fovea::experiment;
namespace fs = std::filesystem;

namespace {

const char* const kPapers[] = {"dgsa", "gdla", "kcla", "mala", "dformer"};

fs::path root() { return fovea::test::source_dir(); }

schema::Value published(const std::string& paper) {
  return schema::load(root() / "experiments" / paper / "published.json");
}

// The different numbers of a row, means and spreads alike, by its name.
using RowNumbers = std::map<std::string, std::set<std::string>>;

void add_number(const schema::Value& value, std::set<std::string>& to) {
  if (value.is_object()) {
    for (const auto& part : value.members()) add_number(part.value, to);
  } else if (value.is_number()) {
    to.insert(fmt::format("{:.6g}", value.as_double()));
  } else if (value.is_string() && value.as_string() == "NaN") {
    to.insert("NaN");
  } else if (value.is_string()) {  // a number as it is printed, or a word
    char* end = nullptr;
    const double number = std::strtod(value.as_string().c_str(), &end);
    if (end != value.as_string().c_str() && *end == '\0') to.insert(fmt::format("{:.6g}", number));
  }
}

RowNumbers shipped_numbers(const std::string& paper) {
  RowNumbers rows;
  const schema::Value content = published(paper);
  for (const schema::Value& table : content.at("tables").items()) {
    for (const schema::Value& row : table.at("rows").items()) {
      const std::string name = row.at("row").as_string();
      std::set<std::string>& numbers = rows[name.substr(0, name.find(", Kvasir-SEG"))];
      for (const auto& cell : row.at("values").members()) {
        // Multiply-adds stand in millions here and in billions in the specification.
        add_number(
            cell.key == "macs_paper" ? schema::Value(cell.value.as_double() / 1000) : cell.value,
            numbers);
      }
    }
  }
  return rows;
}

// Not settings, sizes of data sets, points of figures or counts of our own.
bool has_results(const std::string& paper, const std::string& table) {
  if (paper == "dgsa" && (table == "Table 3" || table == "Table 4")) return false;
  for (const char* other : {"header", "verif", "fig", "Appendix A.1", "Appendix A.5"}) {
    if (table.find(other) != std::string::npos) return false;
  }
  return true;
}

// Rows that have a shorter name here.
std::string shipped_name(const std::string& row) {
  static const std::map<std::string, std::string> shorter = {
      {"softmax with unit query (Q over its norm)", "softmax_qnorm"},
      {"softmax replaced by linear", "linear"}};
  const auto found = shorter.find(row);
  return found == shorter.end() ? row : found->second;
}

RowNumbers specified_numbers(const std::string& paper, const fs::path& file) {
  RowNumbers rows;
  const schema::Value content = schema::parse(io::read_text(file), file.string());
  for (const schema::Value& table : content.items()) {
    if (!has_results(paper, table.at("table").as_string())) continue;
    for (const schema::Value& row : table.at("rows").items())
      add_number(row.at("values"), rows[shipped_name(row.at("model").as_string())]);
  }
  return rows;
}

// Where the data are not here: ImageNet, or images with masks of kcla 5.4.
models::DataShape shape_of_data(const Experiment& e) {
  try {
    return data_shape(e);
  } catch (const FileError&) {
    const bool masks = e.task == "segmentation";
    const std::int64_t size = masks ? 256 : 224;
    return {.channels = 3, .height = size, .width = size, .num_classes = masks ? 1 : 1000};
  }
}

struct Compared {
  std::set<std::pair<std::string, std::string>> rows;  // with their tables
  std::set<std::string> tables;
};

Compared compared_by_sweeps(const std::string& paper) {
  Compared found;
  for (const auto& entry : fs::directory_iterator(root() / "experiments" / paper)) {
    const fs::path& file = entry.path();
    if (file.extension() != ".json" || file.filename() == "published.json") continue;
    const schema::Value value = schema::load(file);
    if (value.find("rows") == nullptr && value.find("axes") == nullptr) continue;
    for (const Row& row : load_ablation(file, experiment_kind()).rows) {
      for (const PublishedCell& cell : row.published) {
        found.rows.insert({cell.table, cell.row});
        found.tables.insert(cell.table);
      }
    }
  }
  return found;
}

}  // namespace

TEST_CASE("published tables: every number is one of the paper's, and none is missing",
          "[experiment]") {
  for (const std::string paper : kPapers) {
    INFO(paper);
    const fs::path file = root() / "../shared/papers" / (paper + ".tables.json");
    if (!fs::exists(file)) {
      WARN(file.string() << " is not here: the numbers of " << paper << " are not compared");
      continue;
    }
    const RowNumbers ours = shipped_numbers(paper);
    const RowNumbers theirs = specified_numbers(paper, file);
    CHECK(ours.size() == theirs.size());
    for (const auto& [row, numbers] : theirs) {
      INFO(row);
      REQUIRE(ours.contains(row));
      CHECK(ours.at(row) == numbers);
    }
  }
}

TEST_CASE("published tables: costs beside published ones are counted, and near them",
          "[experiment]") {
  int compared = 0;
  for (const std::string paper : {"gdla", "kcla", "mala", "dformer"}) {
    for (const auto& entry : fs::directory_iterator(root() / "experiments" / paper)) {
      const fs::path& file = entry.path();
      if (file.extension() != ".json" || file.filename() == "published.json") continue;
      if (schema::load(file).find("rows") == nullptr) continue;
      for (const Row& row : load_ablation(file, experiment_kind()).rows) {
        for (const PublishedCell& cell : row.published) {
          if (cell.metric != "macs" && cell.metric != "macs_paper") continue;
          INFO(file.filename().string() << ": " << row.name);
          const Experiment e = parse(row.config);
          const Summary costs = count_costs(e, shape_of_data(e));
          const auto ours = cell.metric == "macs" ? std::optional(costs.macs) : costs.macs_paper;
          REQUIRE(ours);
          CHECK(static_cast<double>(*ours) == Approx(cell.value.mean).epsilon(0.06));
          ++compared;
        }
      }
    }
  }
  CHECK(compared >= 70);
}

TEST_CASE("published tables: what no sweep compares with is in the README's list of left out",
          "[experiment]") {
  for (const std::string paper : kPapers) {
    INFO(paper);
    const Compared compared = compared_by_sweeps(paper);
    const std::string readme = io::read_text(root() / "experiments" / paper / "README.md");
    const std::size_t list = readme.find("## Left out");
    REQUIRE(list != std::string::npos);
    const schema::Value content = published(paper);
    for (const schema::Value& table : content.at("tables").items()) {
      const std::string name = table.at("table").as_string();
      for (const schema::Value& row : table.at("rows").items()) {
        const std::string row_name = row.at("row").as_string();
        INFO(name << ": " << row_name);
        if (compared.rows.contains({name, row_name})) continue;
        // A whole table by its name up to the first comma, a row of another table by its own.
        const bool whole = !compared.tables.contains(name);
        CHECK(readme.find(whole ? name.substr(0, name.find(',')) : row_name, list) !=
              std::string::npos);
      }
    }
  }
}
