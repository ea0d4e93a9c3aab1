#include "data/loader.h"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "base/error.h"
#include "data/plan.h"

namespace fovea::data {

struct Loader::State {
  // One pass over the data set. Shared with the workers, so that a restart cannot pull it away.
  struct Epoch {
    std::int64_t number = 0;
    PlannedBatches batches;
    std::vector<std::int64_t> own;        // numbers of those that are prepared here
    std::atomic<bool> cancelled = false;  // its batches are no longer needed
  };
  struct Ready {
    Batch batch;
    std::exception_ptr error;
  };

  std::shared_ptr<const Dataset> dataset;
  LoaderOptions options;
  Device device;

  mutable std::mutex mutex;
  std::condition_variable work;   // there may be a batch to prepare, or it is time to end
  std::condition_variable ready;  // a batch was finished
  // Guarded by mutex:
  std::shared_ptr<Epoch> epoch;
  // Places in Epoch::own:
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
  PlanOptions plan() const {
    return {options.batch_size, options.shuffle, options.seed,
            options.augment ? dataset->repeats() : 1, options.balanced};
  }
  Batch prepare(const Epoch& pass, std::int64_t number);
  bool prepare_sample(const Draw& draw, std::int64_t index, Sample& into);
  void run_worker();
  Batch take();
  std::optional<Batch> next();
};

// Also runs when the constructor fails half-way, with some workers started.
Loader::State::~State() {
  {
    const std::lock_guard lock(mutex);
    stopping = true;
    if (epoch) epoch->cancelled = true;
  }
  work.notify_all();
  for (std::thread& worker : workers) worker.join();
}

// False if the sample could not be read and may be left out.
bool Loader::State::prepare_sample(const Draw& draw, std::int64_t index, Sample& into) {
  try {
    dataset->prepare(index, draw, into);
    return true;
  } catch (const FileError& error) {
    if (!dataset->skips_bad_samples()) throw;
    const std::lock_guard lock(mutex);
    skipped.emplace(dataset->source_index(index), error.what());
    return false;
  }
}

Batch Loader::State::prepare(const Epoch& pass, std::int64_t number) {
  const std::vector<PlannedSample>& samples = pass.batches[static_cast<std::size_t>(number)];
  Collator collator(dataset->fields(), std::ssize(samples), device);
  Draw draw{.seed = options.seed,
            .epoch = pass.number,
            .augment = options.augment,
            .corruption = options.corruption};
  draw.position = number * options.batch_size;
  draw.batch_size = std::ssize(samples);
  Sample sample;
  for (const auto& [index, copy] : samples) {
    if (pass.cancelled.load(std::memory_order_relaxed)) return {};
    collator.next(sample);
    draw.copy = copy;
    if (prepare_sample(draw, index, sample)) collator.add(sample);
    ++draw.position;
    ++draw.place;
  }
  Batch batch = collator.finish();
  batch.number = number;
  if (batch.size() > 0) dataset->mix(batch, draw);
  return batch;
}

void Loader::State::run_worker() {
  std::unique_lock lock(mutex);
  for (;;) {
    work.wait(lock, [&] {
      return stopping ||
             (epoch && claimed < std::ssize(epoch->own) && claimed < consumed + options.prefetch);
    });
    if (stopping) return;
    const std::shared_ptr<const Epoch> pass = epoch;
    const std::int64_t place = claimed++;
    lock.unlock();
    Ready result;
    try {
      result.batch = prepare(*pass, pass->own[static_cast<std::size_t>(place)]);
    } catch (...) {
      result.error = std::current_exception();
    }
    lock.lock();
    if (pass != epoch) continue;  // the caller restarted meanwhile
    finished.emplace(place, std::move(result));
    ready.notify_one();
  }
}

Batch Loader::State::take() {
  std::unique_lock lock(mutex);
  const std::int64_t place = consumed;
  if (workers.empty()) {
    ++consumed;
    lock.unlock();
    return prepare(*epoch, epoch->own[static_cast<std::size_t>(place)]);
  }
  ready.wait(lock, [&] { return finished.count(place) != 0; });
  Ready result = std::move(finished.extract(place).mapped());
  ++consumed;
  work.notify_one();
  if (result.error) std::rethrow_exception(result.error);
  return std::move(result.batch);
}

std::optional<Batch> Loader::State::next() {
  if (!epoch) return std::nullopt;
  while (consumed < std::ssize(epoch->own)) {
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

Loader::Loader(std::shared_ptr<const Dataset> dataset, LoaderOptions options, Device device)
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
  // As many threads as the system allows; without any, next() prepares the batches. Batches do not
  // depend on their number.
  try {
    for (std::int64_t k = 0; k < options.num_workers; ++k)
      state_->workers.emplace_back([state = state_.get()] { state->run_worker(); });
  } catch (const std::system_error&) {
  } catch (const std::bad_alloc&) {
  }
}

Loader::~Loader() = default;

std::int64_t Loader::num_batches() const {
  const PlanOptions plan = state_->plan();
  const std::int64_t samples = planned_samples(*state_->dataset, plan);
  return (samples + plan.batch_size - 1) / plan.batch_size;
}

void Loader::start(std::int64_t epoch, std::int64_t first_batch) {
  const std::int64_t batches = num_batches();
  FOVEA_CHECK(first_batch >= 0 && first_batch <= batches, ConfigError,
              fmt::format("loader: cannot start at batch {} of {}", first_batch, batches));
  auto pass = std::make_shared<State::Epoch>();
  pass->number = epoch;
  pass->batches = plan_batches(*state_->dataset, state_->plan(), epoch);
  for (std::int64_t b = first_batch; b < batches; ++b) {
    if (state_->options.share.has(b, first_batch)) pass->own.push_back(b);
  }
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->epoch) state_->epoch->cancelled = true;
    state_->epoch = std::move(pass);
    state_->claimed = state_->consumed = 0;
    state_->finished.clear();
    state_->failed = nullptr;
    state_->delivered = first_batch;
  }
  state_->work.notify_all();
}

std::optional<Batch> Loader::next() {
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

std::int64_t Loader::workers() const { return std::ssize(state_->workers); }

double Loader::wait_seconds() const { return state_->waited; }

std::vector<std::string> Loader::skipped() const {
  const std::lock_guard lock(state_->mutex);
  std::vector<std::string> messages;
  for (const auto& [index, message] : state_->skipped) messages.push_back(message);
  return messages;
}

}  // namespace fovea::data
