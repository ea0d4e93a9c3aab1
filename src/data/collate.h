// Collates samples to a batch. Every name has one rule, so that the loader knows no kind of data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/batch.h"
#include "tensor/device.h"

namespace fovea::data {

/// How the tensors of one name are collated.
enum class Collate {
  kStack,  // all have one shape: (b, shape)
  kPad,    // they differ along their first axis: (b, longest, shape), zeros behind the end, lengths
  kGrow,   // they differ along any axis: (b, largest), zeros behind the end of each
  kList,   // one tensor a sample: (any, shape) each
  kAlone,  // of any shape, one sample to a batch: (1, shape)
};

/// One name of a data set's samples.
struct Field {
  std::string name;
  DType dtype = DType::kFloat32;
  Collate rule = Collate::kStack;
  Shape shape = {};           // of a sample; where it is padded or listed, behind the first axis;
                              // of kAlone a usual one. An axis of kGrow and kList may be kAnySize
  std::int64_t pad_to = 0;    // a padded axis is at least this long
  std::int64_t multiple = 1;  // axes of kGrow that are of any size become multiples of it
};
/// An axis along which samples differ.
inline constexpr std::int64_t kAnySize = 0;

/// Whether a batch holds one sample alone.
bool one_a_batch(const std::vector<Field>& fields);

/// Makes one batch, row by row, in memory of `device`, a host device.
class Collator {
 public:
  /// `rows`: the most samples that may be added.
  Collator(const std::vector<Field>& fields, std::int64_t rows, const Device& device);

  /// Prepares `sample` to be filled: its stacked tensors are the next row of the batch, so that
  /// they are written in place. The data set sets the others. One sample may serve for all rows.
  void next(Sample& sample) const;
  /// Keeps the sample; the row of a sample that is not kept is used for the next one. Throws
  /// ShapeError for a tensor of another type or shape than its field says.
  void add(Sample& sample);
  /// The batch of all samples added; without samples it has no tensors.
  Batch finish();

 private:
  using Column = std::vector<Tensor>;  // one a sample
  Tensor padded(const Field& field, const Column& column, std::vector<std::int64_t>& lengths) const;
  Tensor grown(const Field& field, const Column& column) const;
  Tensor copy(const Tensor& from) const;

  const std::vector<Field>& fields_;
  std::int64_t rows_;
  Device device_;
  Column stacked_;               // by field, of rows_ rows; undefined where nothing is stacked
  std::vector<Column> columns_;  // by field; empty where all is stacked
  std::vector<Geometry> geometry_;
  std::vector<std::int64_t> indices_;
};

}  // namespace fovea::data
