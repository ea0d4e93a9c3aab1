#include "explain/joined_windows.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "backend/devices.h"
#include "explain/maps/tokens.h"
#include "tensor/host.h"

namespace fovea::explain {
namespace {

using attention::Probe;

// The tokens of all windows, and how many there are.
struct Places {
  std::vector<std::int64_t> tokens;  // (windows, members)
  std::int64_t windows, members, n;

  explicit Places(const Tensor& recorded) : windows(recorded.size(0)), members(recorded.size(1)) {
    const auto read = recorded.host_values<std::int64_t>();
    tokens.assign(read.begin(), read.end());
    n = *std::ranges::max_element(tokens) + 1;
  }
  std::int64_t at(std::int64_t window, std::int64_t member) const {
    return tokens[as_index(window * members + member)];
  }
};

// Calls each(sample, row of (b windows, ...), window's member, token) for the windows of one size,
// the first of which is `first` among all.
template <class Each>
void for_members(const Places& places, std::int64_t first, std::int64_t count, std::int64_t b,
                 std::int64_t members, const Each& each) {
  for (std::int64_t sample = 0; sample < b; ++sample) {
    for (std::int64_t w = 0; w < count; ++w) {
      for (std::int64_t i = 0; i < members; ++i)
        each(sample, sample * count + w, i, places.at(first + w, i));
    }
  }
}

}  // namespace

Probe::Attended joined(const Probe::Attended& recorded) {
  if (recorded.windows.empty()) return recorded;
  const Places places(recorded.tokens);
  std::int64_t all = 0;
  for (const Probe::Attended& size : recorded.windows) all += size.values.size(0);
  const std::int64_t b = all / places.windows, n = places.n;
  const Tensor& like = recorded.windows.front().values;
  const std::int64_t heads = like.size(1), width = like.size(3), dim = heads * width;
  std::vector<double> values(as_index(b * n * dim)), result(values), gradient(values);
  bool reached = false;
  std::int64_t first = 0;
  for (const Probe::Attended& size : recorded.windows) {
    const std::int64_t count = size.values.size(0) / b, members = size.values.size(2);
    const std::vector<double> v = host_doubles(size.values);
    for_members(places, first, count, b, members,
                [&](std::int64_t sample, std::int64_t row, std::int64_t i, std::int64_t token) {
                  for (std::int64_t h = 0; h < heads; ++h) {
                    std::copy_n(v.data() + ((row * heads + h) * members + i) * width, width,
                                values.data() + ((sample * heads + h) * n + token) * width);
                  }
                });
    const auto place_rows = [&](const Tensor& rows, std::vector<double>& to) {
      const std::vector<double> u = host_doubles(rows);
      for_members(places, first, count, b, members,
                  [&](std::int64_t sample, std::int64_t row, std::int64_t i, std::int64_t token) {
                    std::copy_n(u.data() + (row * members + i) * dim, dim,
                                to.data() + (sample * n + token) * dim);
                  });
    };
    place_rows(size.result, result);
    if (size.gradient->defined()) {
      place_rows(*size.gradient, gradient);
      reached = true;
    }
    first += count;
  }
  const Device host = make_cpu(1);
  Probe::Attended whole{recorded.module, Tensor::from(values, {b, heads, n, width}, host),
                        Tensor::from(result, {b, n, dim}, host), std::make_shared<Tensor>(),
                        recorded.behind};
  if (reached) *whole.gradient = Tensor::from(gradient, {b, n, dim}, host);
  return whole;
}

}  // namespace fovea::explain
