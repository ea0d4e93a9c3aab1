#include "schema/synonyms.h"

#include <catch2/catch.hpp>

using fovea::schema::suggest_key;

TEST_CASE("suggest_key: spelling first, then other tools' words", "[schema]") {
  const std::vector<std::string> known = {"num_heads",  "embed_dim", "img_size", "lr",
                                          "batch_size", "dropout",   "schedule"};
  CHECK(suggest_key("numHeads", known) == "num_heads");
  CHECK(suggest_key("num-heads", known) == "num_heads");
  CHECK(suggest_key("embeddim", known) == "embed_dim");
  CHECK(suggest_key("batch_sise", known) == "batch_size");
  CHECK(suggest_key("heads", known) == "num_heads");
  CHECK(suggest_key("dim", known) == "embed_dim");
  CHECK(suggest_key("image_size", known) == "img_size");
  CHECK(suggest_key("imageSize", known) == "img_size");
  CHECK(suggest_key("learning_rate", known) == "lr");
  CHECK(suggest_key("lr_scheduler", known) == "schedule");
  CHECK(suggest_key("bs", known) == "batch_size");
  CHECK(suggest_key("dropout_rate", known) == "dropout");
  CHECK(suggest_key("zebra", known).empty());
}
