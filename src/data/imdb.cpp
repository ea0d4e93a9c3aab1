// Large Movie Review Dataset (A. Maas et al., ACL 2011):
// ROOT/{train,test}/{neg,pos}/<id>_<rating>.txt.
#include "data/registry.h"

namespace fovea::data {
namespace {

struct Options : TextOptions {};

std::optional<TextSource> open(const Place& place, const Options& options) {
  if (place.split == Split::kVal) return std::nullopt;
  // (train/unsup holds reviews without a label.)
  return read_text_folder("imdb", place.root / name_of(place.split), {"neg", "pos"}, false,
                          options.encoding, "datasets/imdb.md");
}

}  // namespace

FOVEA_DATASET(imdb, open, "film reviews, positive or negative", "datasets/imdb.md",
              schema::Fields<Options>{})

}  // namespace fovea::data
