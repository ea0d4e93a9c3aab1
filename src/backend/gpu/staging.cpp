#include "backend/gpu/staging.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace fovea::gpu {

Staging::~Staging() {
  try {
    runtime_->synchronize();
  } catch (...) {  // a lost device reads nothing any more
  }
  for (const Piece& piece : pieces_) runtime_->release_host(piece.memory);
}

Staging::Piece& Staging::take(std::int64_t bytes) {
  const auto fits = [&](const Piece& piece) {
    return piece.size >= bytes && !piece.taken && runtime_->has_passed(piece.done);
  };
  const auto found = std::find_if(pieces_.begin(), pieces_.end(), fits);
  if (found != pieces_.end()) {
    pieces_.splice(pieces_.end(), pieces_, found);
    return pieces_.back();
  }
  constexpr std::int64_t kLeast = 64 << 10;
  const auto size =
      static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::max(bytes, kLeast))));
  if (size_ + size > kMost) {
    runtime_->synchronize();
    std::erase_if(pieces_, [&](const Piece& piece) {
      if (piece.taken) return false;
      runtime_->release_host(piece.memory);
      size_ -= piece.size;
      return true;
    });
  }
  pieces_.push_back({runtime_->allocate_host(size), size, {}});
  size_ += size;
  return pieces_.back();
}

void Staging::upload(const void* from, Buffer to, std::int64_t bytes) {
  if (bytes > kMost) {
    runtime_->upload(from, to, bytes);
    runtime_->synchronize();
    return;
  }
  const std::lock_guard lock(mutex_);
  Piece& piece = take(bytes);
  std::memcpy(piece.memory, from, static_cast<std::size_t>(bytes));
  runtime_->upload(piece.memory, to, bytes);
  piece.done = runtime_->moment();
}

std::function<void(void* to)> Staging::read(const std::shared_ptr<Staging>& staging, Buffer from,
                                            std::int64_t bytes) {
  const std::lock_guard lock(staging->mutex_);
  Piece& piece = staging->take(bytes);
  staging->runtime_->queue_download(from, piece.memory, bytes);
  piece.done = staging->runtime_->moment();
  piece.taken = true;
  // Given back with the last copy of the function, whether it was called or not.
  const auto give_back = [staging](Piece* taken) {
    const std::lock_guard again(staging->mutex_);
    taken->taken = false;
  };
  return [staging, bytes, taken = std::shared_ptr<Piece>(&piece, give_back)](void* to) {
    staging->runtime_->wait(taken->done);
    std::memcpy(to, taken->memory, static_cast<std::size_t>(bytes));
  };
}

}  // namespace fovea::gpu
