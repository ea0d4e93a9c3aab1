#include "data/collate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace fovea::data {
namespace {

// `first` and then the axes of `rest`.
Shape with_axis(std::int64_t first, const Shape& rest) {
  Shape shape{first};
  for (const std::int64_t axis : rest) shape.push_back(axis);
  return shape;
}

void check(const Tensor& tensor, const Field& field) {
  if (field.rule == Collate::kAlone) {
    FOVEA_CHECK(tensor.dtype() == field.dtype && tensor.rank() == field.shape.rank(), ShapeError,
                fmt::format("batch: \"{}\" of a sample is {} of {} axes; expected {} of {}",
                            field.name, name_of(tensor.dtype()), tensor.rank(),
                            name_of(field.dtype), field.shape.rank()));
    return;
  }
  const bool whole = field.rule == Collate::kStack || field.rule == Collate::kGrow;
  const int first = whole ? 0 : 1;  // axis that the field's shape begins with
  const bool free = field.rule == Collate::kGrow || field.rule == Collate::kList;
  bool fits = tensor.dtype() == field.dtype && tensor.rank() == field.shape.rank() + first;
  for (int axis = 0; fits && axis < field.shape.rank(); ++axis) {
    const bool any = free && field.shape[axis] == kAnySize;
    fits = any || tensor.size(axis + first) == field.shape[axis];
  }
  FOVEA_CHECK(fits, ShapeError,
              fmt::format("batch: \"{}\" of a sample is {} {}; expected {} {}{}", field.name,
                          name_of(tensor.dtype()), to_string(tensor.shape()), name_of(field.dtype),
                          whole ? "" : "any number of ", to_string(field.shape)));
}

// Copies `from` into the corner of `to`, row by row, behind which zeros follow. Both have at least
// one axis; those of `to` are as long or longer.
void copy_into_corner(const Tensor& from, const Tensor& to) {
  const int last = from.rank() - 1;
  const auto bytes = static_cast<std::size_t>(from.size(last) * size_of(from.dtype()));
  const auto room = static_cast<std::size_t>(to.size(last) * size_of(to.dtype()));
  const std::byte* read = from.host_memory();
  std::byte* write = to.host_memory();
  const std::int64_t rows = to.numel() / std::max<std::int64_t>(to.size(last), 1);
  for (std::int64_t row = 0; row < rows; ++row, write += room) {
    bool inside = true;
    std::int64_t rest = row;
    for (int axis = last - 1; axis >= 0; rest /= to.size(axis), --axis)
      inside = inside && rest % to.size(axis) < from.size(axis);
    if (inside && bytes > 0) std::memcpy(write, read, bytes);
    std::memset(write + (inside ? bytes : 0), 0, room - (inside ? bytes : 0));
    if (inside) read += bytes;
  }
}

}  // namespace

bool one_a_batch(const std::vector<Field>& fields) {
  return std::any_of(fields.begin(), fields.end(),
                     [](const Field& field) { return field.rule == Collate::kAlone; });
}

Collator::Collator(const std::vector<Field>& fields, std::int64_t rows, const Device& device)
    : fields_(fields),
      rows_(rows),
      device_(device),
      stacked_(fields.size()),
      columns_(fields.size()) {
  for (std::size_t f = 0; f < fields_.size(); ++f) {
    const Field& field = fields_[f];
    if (field.rule == Collate::kStack)
      stacked_[f] = Tensor::empty(with_axis(rows, field.shape), field.dtype, device);
  }
  FOVEA_CHECK(rows <= 1 || !one_a_batch(fields), ShapeError,
              fmt::format("batch: {} samples of their own sizes; expected one", rows));
  indices_.reserve(static_cast<std::size_t>(rows));
  geometry_.reserve(static_cast<std::size_t>(rows));
}

void Collator::next(Sample& sample) const {
  const std::int64_t row = std::ssize(indices_);
  FOVEA_CHECK(row < rows_, ShapeError,
              fmt::format("batch: has {} rows, which are all taken", rows_));
  for (std::size_t f = 0; f < fields_.size(); ++f) {
    if (stacked_[f].defined())
      sample.set(fields_[f].name, stacked_[f].rows(row, row + 1).alias(fields_[f].shape));
  }
}

void Collator::add(Sample& sample) {
  for (std::size_t f = 0; f < fields_.size(); ++f) {
    const Field& field = fields_[f];
    const Tensor& tensor = sample.at(field.name);
    check(tensor, field);
    if (field.rule != Collate::kStack) {
      columns_[f].push_back(tensor);
      continue;
    }
    FOVEA_CHECK(tensor.same_storage(stacked_[f]), ShapeError,
                fmt::format("batch: \"{}\" of a sample was replaced; expected its values in the "
                            "tensor that was given",
                            field.name));
  }
  geometry_.push_back(std::move(sample.geometry));
  indices_.push_back(sample.index);
}

Tensor Collator::padded(const Field& field, const Column& column,
                        std::vector<std::int64_t>& lengths) const {
  std::int64_t longest = field.pad_to;
  for (const Tensor& tensor : column) {
    lengths.push_back(tensor.size(0));
    longest = std::max(longest, lengths.back());
  }
  const Shape row = with_axis(longest, field.shape);
  const Tensor batch = Tensor::empty(with_axis(std::ssize(column), row), field.dtype, device_);
  const auto row_bytes = static_cast<std::size_t>(row.numel() * size_of(field.dtype));
  std::byte* to = batch.host_memory();
  for (const Tensor& tensor : column) {
    const auto bytes = static_cast<std::size_t>(tensor.bytes());
    if (bytes > 0) std::memcpy(to, tensor.host_memory(), bytes);
    std::memset(to + bytes, 0, row_bytes - bytes);
    to += row_bytes;
  }
  return batch;
}

Tensor Collator::grown(const Field& field, const Column& column) const {
  Shape largest = field.shape;
  for (int axis = 0; axis < largest.rank(); ++axis) {
    if (field.shape[axis] != kAnySize) continue;
    for (const Tensor& tensor : column) largest[axis] = std::max(largest[axis], tensor.size(axis));
    largest[axis] = (largest[axis] + field.multiple - 1) / field.multiple * field.multiple;
  }
  const Tensor batch = Tensor::empty(with_axis(std::ssize(column), largest), field.dtype, device_);
  for (std::int64_t row = 0; row < std::ssize(column); ++row) {
    copy_into_corner(column[static_cast<std::size_t>(row)],
                     batch.rows(row, row + 1).alias(largest));
  }
  return batch;
}

Tensor Collator::copy(const Tensor& from) const {
  const Tensor to = Tensor::empty(from.shape(), from.dtype(), device_);
  if (from.bytes() > 0)
    std::memcpy(to.host_memory(), from.host_memory(), static_cast<std::size_t>(from.bytes()));
  return to;
}

Batch Collator::finish() {
  Batch batch;
  const std::int64_t rows = std::ssize(indices_);
  if (rows == 0) return batch;
  for (std::size_t f = 0; f < fields_.size(); ++f) {
    const Field& field = fields_[f];
    switch (field.rule) {
      case Collate::kStack:
        batch.set(field.name, rows < rows_ ? stacked_[f].rows(0, rows) : stacked_[f]);
        break;
      case Collate::kPad:
        batch.set(field.name, padded(field, columns_[f], batch.lengths[field.name]));
        break;
      case Collate::kGrow:
        batch.set(field.name, grown(field, columns_[f]));
        break;
      case Collate::kAlone: {
        const Tensor whole = copy(columns_[f].front());
        batch.set(field.name, whole.alias(with_axis(1, whole.shape())));
        break;
      }
      case Collate::kList:
        for (const Tensor& tensor : columns_[f]) batch.lists[field.name].push_back(copy(tensor));
        break;
    }
  }
  batch.geometry = std::move(geometry_);
  batch.indices = std::move(indices_);
  return batch;
}

}  // namespace fovea::data
