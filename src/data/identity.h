// The data of a run: a hash of the content of the data set's files, and the names of the samples of
// every part. Both are independent of where the data set lies, of the order of directory listings,
// and of file times.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "schema/json/value.h"

namespace fovea::data {

/// Where the samples of a data set come from.
struct Origin {
  std::string root;
  std::vector<std::filesystem::path> files;  // any order, may hold one twice
  std::string recipe;                        // of samples that are made in memory, else empty
  bool whole = false;                        // every byte counts, whatever the size of a file
};

/// 32 hexadecimal digits of the files' names below root, their sizes and samples of their bytes,
/// and of the recipe. Small files are read whole, of larger ones up to 64 pieces of 4 KiB, the
/// first and the last among them: a change elsewhere in a large file is not seen. With `whole`
/// every byte is read, except in files packed with gzip, whose ends hold a checksum of everything.
/// A file that cannot be read is hashed as unreadable.
std::string content_hash(const Origin& origin);

/// {"hash": content_hash(), "samples": {"train": n, ...}, "parts": {"train": hash, ...}}, the
/// hashes of all parts and of each; null where no part is open.
schema::Value fingerprint(const Splits& splits);
/// Whether the parts of `now` have the content that they have in `before`, of which there may be
/// more. Fingerprints of older programs have no "parts"; null is unknown and equals all.
bool same_content(const schema::Value& before, const schema::Value& now);

/// A JSON object of the parts, each a list of the names of its samples below root, one a line.
std::string sample_lists(const Splits& splits);

}  // namespace fovea::data
