// Networks of the library and what methods say of them, for tests.
#pragma once

#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

#include "explain/methods/method.h"
#include "models/model.h"
#include "tests/support/tensors.h"

namespace fovea::test {

using explain::Explanation;
using explain::ExplanationRequest;
using explain::Subject;

// float64, so that equalities are tight.
inline std::unique_ptr<models::Model> network(const char* type, const schema::Value& options,
                                              const models::DataShape& data) {
  const models::Entry& entry = models::entries().find(type);
  schema::Value given = options;
  given.set("type", type);
  return models::make_model({type, entry.fields->resolve_component(given, "model")},
                            {cpu(), DType::kFloat64, RandomStream(5)}, data);
}

// Samples of the subject are those of a split from `first` on.
inline Explanation explained(const char* method, const Subject& subject,
                             const schema::Value& options = schema::Value::object(),
                             std::int64_t target = 1, std::int64_t first = 0,
                             std::int64_t batch_size = 32) {
  std::vector<RandomStream> streams;
  for (std::int64_t i = first; i < first + subject.batch(); ++i)
    streams.push_back(explain::explanation_stream(1, i));
  const ExplanationRequest request{
      subject, std::vector<std::int64_t>(explain::as_index(subject.batch()), target), streams,
      batch_size};
  return explain::methods().find(method).explain(request, options);
}

inline double sum_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

}  // namespace fovea::test
