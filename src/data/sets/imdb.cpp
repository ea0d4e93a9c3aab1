// Large Movie Review Dataset (A. Maas et al., ACL 2011):
// ROOT/{train,test}/{neg,pos}/<id>_<rating>.txt.
#include "data/registry.h"

namespace fovea::data {
namespace {

struct ImdbOptions : TextOptions {};

std::optional<TextSource> open_imdb(const Place& place, const ImdbOptions& options) {
  if (place.split == Split::kVal) return std::nullopt;
  // (train/unsup holds reviews without a label.)
  return read_text_folder("imdb", place.root / name_of(place.split), {"neg", "pos"}, false,
                          options.encoding, "datasets/imdb.md");
}

}  // namespace

FOVEA_DATASET(imdb, open_imdb, "film reviews, positive or negative", "datasets/imdb.md",
              schema::Fields<ImdbOptions>{})

}  // namespace fovea::data
