#include "data/batch.h"

#include <fmt/format.h>

#include "base/error.h"

namespace fovea::data {
namespace {

constexpr std::size_t kPlane = 2;  // axes

template <class T>
std::vector<T> last_two(const std::vector<T>& axes) {
  return axes.size() > kPlane ? std::vector<T>(axes.end() - kPlane, axes.end()) : axes;
}

}  // namespace

Geometry Geometry::in_plane() const {
  Geometry plane{last_two(original_size), last_two(spacing), last_two(offset)};
  const bool at_corner = plane.offset == std::vector<std::int64_t>(kPlane, 0);
  if (offset.size() > kPlane && at_corner) plane.offset.clear();
  return plane;
}

const Tensor* NamedTensors::find(std::string_view name) const {
  for (const Entry& entry : tensors_) {
    if (entry.first == name) return &entry.second;
  }
  return nullptr;
}

const Tensor& NamedTensors::at(std::string_view name) const {
  const Tensor* found = find(name);
  if (found != nullptr) return *found;
  std::string known;
  for (const Entry& entry : tensors_) known += (known.empty() ? "" : ", ") + entry.first;
  throw ConfigError(
      fmt::format("batch: holds no \"{}\"; it holds {}", name, known.empty() ? "nothing" : known));
}

void NamedTensors::set(std::string_view name, Tensor tensor) {
  for (Entry& entry : tensors_) {
    if (entry.first != name) continue;
    entry.second = std::move(tensor);
    return;
  }
  tensors_.emplace_back(name, std::move(tensor));
}

}  // namespace fovea::data
