#include "data/loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <numeric>
#include <thread>
#include <utility>

#include "base/error.h"

namespace fovea::data {
namespace {

// One pass over the data set. Shared with the workers, so that a restart cannot pull it away.
struct Epoch {
  std::int64_t number = 0;
  std::vector<std::int64_t> order;
  std::int64_t batches = 0;
  std::atomic<bool> cancelled = false;  // nobody wants its batches any more
};

Tensor batch_of(const Shape& sample, std::int64_t size, DType dtype, const Device& device) {
  Shape shape{size};
  for (const std::int64_t axis : sample) shape.push_back(axis);
  return Tensor::empty(shape, dtype, device);
}

struct Ready {
  Batch batch;
  std::exception_ptr error;
};

}  // namespace

struct DataLoader::State {
  std::shared_ptr<const Dataset> dataset;
  LoaderOptions options;
  Device device;

  mutable std::mutex mutex;
  std::condition_variable work;   // there may be a batch to prepare, or it is time to end
  std::condition_variable ready;  // a batch was finished
  // Guarded by mutex:
  std::shared_ptr<Epoch> epoch;
  std::int64_t claimed = 0;   // next batch a worker takes
  std::int64_t consumed = 0;  // next batch the caller takes; only the caller writes
  std::map<std::int64_t, Ready> finished;
  std::map<std::int64_t, std::string> skipped;  // by source index
  bool stopping = false;

  std::exception_ptr failed;
  std::int64_t delivered = 0;  // batches of this epoch, earlier ones than the first included
  double waited = 0.0;
  std::vector<std::thread> workers;

  ~State();
  Batch prepare(const Epoch& pass, std::int64_t number);
  bool prepare_sample(const Draw& draw, std::int64_t index, const Batch& batch, std::int64_t row);
  void run_worker();
  Batch take();
  std::optional<Batch> next();
};

// Also runs when the constructor fails half-way, with some workers started.
DataLoader::State::~State() {
  {
    const std::lock_guard lock(mutex);
    stopping = true;
    if (epoch) epoch->cancelled = true;
  }
  work.notify_all();
  for (std::thread& worker : workers) worker.join();
}

// False if the sample could not be read and may be left out.
bool DataLoader::State::prepare_sample(const Draw& draw, std::int64_t index, const Batch& batch,
                                       std::int64_t row) {
  if (dataset->options().on_bad_sample == OnBadSample::kFail) {
    dataset->prepare(index, draw, batch.images, batch.targets, row);
    return true;
  }
  try {
    dataset->prepare(index, draw, batch.images, batch.targets, row);
    return true;
  } catch (const FileError& error) {
    const std::lock_guard lock(mutex);
    skipped.emplace(dataset->source_index(index), error.what());
    return false;
  }
}

Batch DataLoader::State::prepare(const Epoch& pass, std::int64_t number) {
  const auto samples = static_cast<std::int64_t>(pass.order.size());
  const std::int64_t begin = number * options.batch_size;
  const std::int64_t end = std::min(begin + options.batch_size, samples);
  const Dataset& d = *dataset;
  Batch batch;
  batch.number = number;
  batch.images = batch_of(d.image_shape(), end - begin, DType::kFloat32, device);
  batch.targets = batch_of(d.target_shape(), end - begin, d.target_dtype(), device);
  const Draw draw{options.seed, pass.number, options.augment, options.corruption};
  std::int64_t rows = 0;
  for (std::int64_t k = begin; k < end; ++k) {
    const std::int64_t index = pass.order[static_cast<std::size_t>(k)];
    if (pass.cancelled.load(std::memory_order_relaxed)) return {};
    if (!prepare_sample(draw, index, batch, rows)) continue;
    batch.indices.push_back(index);
    ++rows;
  }
  if (rows == 0) return {};
  if (rows < end - begin) {
    batch.images = batch.images.rows(0, rows);
    batch.targets = batch.targets.rows(0, rows);
  }
  return batch;
}

void DataLoader::State::run_worker() {
  std::unique_lock lock(mutex);
  for (;;) {
    work.wait(lock, [&] {
      return stopping ||
             (epoch && claimed < epoch->batches && claimed < consumed + options.prefetch);
    });
    if (stopping) return;
    const std::shared_ptr<const Epoch> pass = epoch;
    const std::int64_t number = claimed++;
    lock.unlock();
    Ready result;
    try {
      result.batch = prepare(*pass, number);
    } catch (...) {
      result.error = std::current_exception();
    }
    lock.lock();
    if (pass != epoch) continue;  // the caller restarted meanwhile
    finished.emplace(number, std::move(result));
    ready.notify_one();
  }
}

Batch DataLoader::State::take() {
  std::unique_lock lock(mutex);
  const std::int64_t number = consumed;
  if (workers.empty()) {
    ++consumed;
    lock.unlock();
    return prepare(*epoch, number);
  }
  ready.wait(lock, [&] { return finished.count(number) != 0; });
  const Ready result = std::move(finished.extract(number).mapped());
  ++consumed;
  work.notify_one();
  if (result.error) std::rethrow_exception(result.error);
  return result.batch;
}

std::optional<Batch> DataLoader::State::next() {
  if (!epoch) return std::nullopt;
  while (consumed < epoch->batches) {
    Batch batch = take();
    if (batch.indices.empty()) continue;  // all of it was bad
    ++delivered;
    return batch;
  }
  if (delivered == 0 && !skipped.empty()) {
    throw FileError(fmt::format("dataset: no sample of split {} could be read; the first: {}",
                                name_of(dataset->split()), skipped.begin()->second));
  }
  return std::nullopt;
}

DataLoader::DataLoader(std::shared_ptr<const Dataset> dataset, LoaderOptions options, Device device)
    : state_(std::make_unique<State>()) {
  FOVEA_CHECK(dataset != nullptr, ConfigError, "loader: no data set");
  FOVEA_CHECK(options.batch_size >= 1, ConfigError,
              fmt::format("loader: batch_size is {}; expected at least 1", options.batch_size));
  FOVEA_CHECK(options.num_workers >= 0 && options.num_workers <= 256, ConfigError,
              fmt::format("loader: num_workers is {}; expected 0..256", options.num_workers));
  FOVEA_CHECK(options.prefetch >= 1, ConfigError,
              fmt::format("loader: prefetch is {}; expected at least 1", options.prefetch));
  FOVEA_CHECK(device.defined() && device.is_host(), BackendError,
              "loader: batches are written by the host; give it a cpu device");
  state_->dataset = std::move(dataset);
  state_->options = options;
  state_->device = std::move(device);
  for (std::int64_t k = 0; k < options.num_workers; ++k) {
    state_->workers.emplace_back([state = state_.get()] { state->run_worker(); });
  }
}

DataLoader::~DataLoader() = default;

std::int64_t DataLoader::num_batches() const {
  const std::int64_t samples = state_->dataset->size();
  const std::int64_t size = state_->options.batch_size;
  return state_->options.drop_last ? samples / size : (samples + size - 1) / size;
}

void DataLoader::start(std::int64_t epoch, std::int64_t first_batch) {
  const std::int64_t batches = num_batches();
  FOVEA_CHECK(first_batch >= 0 && first_batch <= batches, ConfigError,
              fmt::format("loader: cannot start at batch {} of {}", first_batch, batches));
  auto pass = std::make_shared<Epoch>();
  pass->number = epoch;
  pass->batches = batches;
  if (state_->options.shuffle) {
    pass->order = RandomStream(state_->options.seed)
                      .fork("shuffle")
                      .fork(static_cast<std::uint64_t>(epoch))
                      .permutation(state_->dataset->size());
  } else {
    pass->order.resize(static_cast<std::size_t>(state_->dataset->size()));
    std::iota(pass->order.begin(), pass->order.end(), std::int64_t{0});
  }
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->epoch) state_->epoch->cancelled = true;
    state_->epoch = std::move(pass);
    state_->claimed = state_->consumed = first_batch;
    state_->finished.clear();
    state_->failed = nullptr;
    state_->delivered = first_batch;
  }
  state_->work.notify_all();
}

std::optional<Batch> DataLoader::next() {
  State& s = *state_;
  if (s.failed) std::rethrow_exception(s.failed);
  const auto begin = std::chrono::steady_clock::now();
  std::optional<Batch> batch;
  try {
    batch = s.next();
  } catch (...) {
    s.failed = std::current_exception();
  }
  s.waited += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (s.failed) std::rethrow_exception(s.failed);
  return batch;
}

double DataLoader::wait_seconds() const { return state_->waited; }

std::vector<std::string> DataLoader::skipped() const {
  const std::lock_guard lock(state_->mutex);
  std::vector<std::string> messages;
  for (const auto& [index, message] : state_->skipped) messages.push_back(message);
  return messages;
}

}  // namespace fovea::data
