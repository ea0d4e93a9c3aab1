#include "experiment/file/folds.h"

#include <fmt/format.h>

#include "base/error.h"
#include "data/registry.h"
#include "experiment/file/experiment.h"
#include "schema/load.h"

namespace fovea::experiment {

using schema::Value;

Value with_fold(const Value& resolved, std::int64_t index, std::int64_t count) {
  const Value& split = *schema::find_path(resolved, "dataset.split");
  FOVEA_CHECK(split.at("fold").as_string().empty(), ConfigError,
              "dataset.split.fold: is given beside folds, which make every fold the val part in "
              "turn; leave one of them out");
  FOVEA_CHECK(split.at("val").as_double() == 0, ConfigError,
              fmt::format("dataset.split.val: is {}, but with folds every fold is the val part in "
                          "turn; set it to 0 (--set dataset.split.val=0)",
                          split.at("val").as_double()));
  Value result = resolved;
  schema::set_path(result, "dataset.split.fold", fmt::format("{}/{}", index, count));
  const data::Kind kind = data::kind_of(parse(resolved).dataset);
  const bool has_classes = kind == data::Kind::kImages || kind == data::Kind::kTexts;
  if (has_classes && split.at("stratified").is_null())
    schema::set_path(result, "dataset.split.stratified", true);
  return resolve(result);
}

std::string complaint_about_own_val(const Value& resolved) {
  const schema::Component dataset = parse(resolved).dataset;
  if (!data::comes_with(dataset, data::Split::kVal)) return "";
  return fmt::format(
      "folds: {} comes with a val part, whose samples would be in no fold; train without folds, or "
      "on data whose train part has all samples",
      dataset.type);
}

}  // namespace fovea::experiment
