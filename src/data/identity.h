// What a run was made with: the content of the data set's files, and the names of the samples of
// every part. Both are independent of where the data set lies, of the order in which the file
// system lists it, and of times.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "data/split.h"
#include "schema/value.h"

namespace fovea::data {

/// Where the samples of a data set come from.
struct Origin {
  std::string root;
  std::vector<std::filesystem::path> files;  // any order, may hold one twice
  std::string recipe;                        // of samples that are made in memory, else empty
};

/// 32 hexadecimal digits of the files' names below root, their sizes and samples of their bytes,
/// and of the recipe. Small files are read whole, of larger ones up to 64 pieces of 4 KiB, the
/// first and the last among them: a change elsewhere in a large file is not seen. A file that
/// cannot be read counts as such.
std::string content_hash(const Origin& origin);

/// {"hash": content_hash(), "samples": {"train": n, ...}}. D: a Dataset or TextDataset.
template <class D>
schema::Value fingerprint(const Splits<D>& splits) {
  Origin origin{splits.any().options().root, {}, splits.any().recipe()};
  schema::Value samples = schema::Value::object();
  for (const char* name : {"train", "val", "test"}) {
    const auto part = splits.find(name);
    if (part == nullptr) continue;
    samples.set(name, part->size());
    const auto files = part->files();
    origin.files.insert(origin.files.end(), files.begin(), files.end());
  }
  return schema::Value::object({{"hash", content_hash(origin)}, {"samples", samples}});
}

/// A JSON object of the parts, each a list of names, one a line.
class SampleLists {
 public:
  explicit SampleLists(std::string root) : root_(std::move(root)) {}
  template <class D>
  void add(std::string_view part, const D& samples) {
    begin(part);
    for (std::int64_t i = 0; i < samples.size(); ++i) add_name(samples.name(i));
    text_ += "]";
  }
  std::string text() const { return (text_.empty() ? "{" : text_) + "\n}\n"; }

 private:
  void begin(std::string_view part);
  void add_name(const std::string& name);

  std::string root_;
  std::string text_;
  bool first_ = true;
};

template <class D>
std::string sample_lists(const Splits<D>& splits) {
  SampleLists lists(splits.any().options().root);
  for (const char* name : {"train", "val", "test"}) {
    if (const auto part = splits.find(name)) lists.add(name, *part);
  }
  return lists.text();
}

}  // namespace fovea::data
