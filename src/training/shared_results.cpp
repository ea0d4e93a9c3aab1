#include "training/shared_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "training/messages.h"

namespace fovea::training {
namespace {

using parallel::Reader;
using parallel::Writer;

}  // namespace

SharedResults::SharedResults(const models::Model& model, parallel::Ranks& ranks)
    : model_(model), ranks_(ranks) {
  if (ranks.alone()) return;
  kept_.emplace();
  for (const nn::NamedTensor& named : model.buffers()) buffers_.push_back(named.tensor);
}

void SharedResults::add(std::int64_t place, Task::LossParts loss) {
  Result result{std::move(loss), {}};
  if (kept_) {
    const auto& moved = kept_->moved();
    result.moved.assign(moved.begin() + static_cast<std::ptrdiff_t>(seen_), moved.end());
    seen_ = moved.size();
  }
  results_.emplace(place, std::move(result));
}

void SharedResults::write(std::int64_t place, const Result& result, Writer& to) const {
  const auto number_of = [&](const Tensor& buffer) {
    const auto found =
        std::ranges::find_if(buffers_, [&](const Tensor& own) { return own.id() == buffer.id(); });
    FOVEA_CHECK(found != buffers_.end() || !buffer.defined(), Error,
                "running statistics that are no buffer of the network; several ranks cannot share "
                "them");
    return static_cast<std::uint64_t>(found - buffers_.begin());  // their count: undefined
  };
  to.put(place);
  put_tensor(to, result.loss.sum);
  to.put(static_cast<std::uint64_t>(result.loss.parts.size()));
  for (const auto& [name, value] : result.loss.parts) {
    to.put(name);
    put_tensor(to, value);
  }
  to.put(static_cast<std::uint64_t>(result.moved.size()));
  for (const ops::MovedStatistics& moved : result.moved) {
    to.put(number_of(moved.running_mean));
    to.put(number_of(moved.running_var));
    to.put(number_of(moved.batches));
    to.put(moved.momentum);
    put_tensor(to, moved.mean);
    put_tensor(to, moved.variance);
  }
}

SharedResults::Result SharedResults::read(Reader& from) const {
  const Device& device = model_.parameters().front().tensor.device();
  Result result;
  result.loss.sum = get_tensor(from, device);
  for (auto left = from.get<std::uint64_t>(); left > 0; --left) {
    std::string name(from.get_text());
    result.loss.parts.emplace_back(std::move(name), get_tensor(from, device));
  }
  const auto buffer = [&] {
    const auto number = from.get<std::uint64_t>();
    return number < buffers_.size() ? buffers_[number] : Tensor();
  };
  for (auto left = from.get<std::uint64_t>(); left > 0; --left) {
    ops::MovedStatistics moved;
    moved.running_mean = buffer();
    moved.running_var = buffer();
    moved.batches = buffer();
    moved.momentum = from.get<double>();
    moved.mean = get_tensor(from, device);
    moved.variance = get_tensor(from, device);
    result.moved.push_back(std::move(moved));
  }
  return result;
}

std::vector<Task::LossParts> SharedResults::finish() {
  if (kept_) {
    Writer own;
    for (const auto& [place, result] : results_) write(place, result, own);
    const std::vector<std::string> all = ranks_.gather(own.bytes());
    for (std::size_t r = 0; r < all.size(); ++r) {
      if (static_cast<int>(r) == ranks_.rank()) continue;
      for (Reader from(all[r]); !from.at_end();) {
        const auto place = from.get<std::int64_t>();
        results_.emplace(place, read(from));
      }
    }
  }
  std::vector<Task::LossParts> losses;
  for (auto& [place, result] : results_) {
    for (const ops::MovedStatistics& moved : result.moved) ops::apply(moved);
    losses.push_back(std::move(result.loss));
  }
  return losses;
}

}  // namespace fovea::training
