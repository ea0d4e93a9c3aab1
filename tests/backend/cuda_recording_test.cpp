// How steps are recorded as graphs, on a CUDA that only notes what it is asked for. (Where the
// backend is built; a card is not needed.)
#if defined(FOVEA_WITH_CUDA)

#include <cuda_runtime_api.h>

#include <catch2/catch.hpp>

#include <string>
#include <vector>

#include "backend/gpu/cuda/check.h"

namespace {

struct FakeCuda {
  std::vector<std::string> calls;
  bool update_fails = false;
  cudaError_t end = cudaSuccess, allocate = cudaSuccess;
  std::size_t last = 0;  // handles are numbers
};
FakeCuda fake;

cudaError_t note(const char* call) {
  fake.calls.emplace_back(call);
  return cudaSuccess;
}
template <class Handle>
cudaError_t make(const char* call, Handle* handle) {
  *handle = reinterpret_cast<Handle>(++fake.last);
  return note(call);
}

cudaError_t fake_begin(cudaStream_t, cudaStreamCaptureMode) { return note("begin"); }
cudaError_t fake_end(cudaStream_t, cudaGraph_t* graph) {
  make("end", graph);
  return fake.end;
}
cudaError_t fake_update(cudaGraphExec_t, cudaGraph_t, cudaGraphExecUpdateResultInfo*) {
  note("update");
  return fake.update_fails ? cudaErrorGraphExecUpdateFailure : cudaSuccess;
}
cudaError_t fake_instantiate(cudaGraphExec_t* exec, cudaGraph_t, unsigned long long) {
  return make("make", exec);
}
cudaError_t fake_launch(cudaGraphExec_t, cudaStream_t) { return note("launch"); }
cudaError_t fake_destroy_exec(cudaGraphExec_t) { return note("drop"); }
cudaError_t fake_destroy(cudaGraph_t) { return cudaSuccess; }
cudaError_t fake_malloc(void** memory, std::size_t) {
  *memory = nullptr;
  note("allocate");
  return fake.allocate;
}
cudaError_t fake_free(void*) { return note("free"); }
cudaError_t fake_last_error() { return cudaSuccess; }

}  // namespace

#define cudaStreamBeginCapture fake_begin
#define cudaStreamEndCapture fake_end
#define cudaGraphExecUpdate fake_update
#define cudaGraphInstantiate fake_instantiate
#define cudaGraphLaunch fake_launch
#define cudaGraphExecDestroy fake_destroy_exec
#define cudaGraphDestroy fake_destroy
#define cudaMalloc fake_malloc
#define cudaFree fake_free
#define cudaGetLastError fake_last_error
#define Recording RecordingOfFakes
#include "backend/gpu/cuda/recording.cpp"  // NOLINT
#undef Recording

namespace {

using fovea::gpu::RecordingOfFakes;
using Calls = std::vector<std::string>;

// What a step asks CUDA for that launches twice, reads something back, and launches again.
Calls step_of(RecordingOfFakes& recording, bool complete = true) {
  fake.calls.clear();
  recording.begin_step();
  recording.before_launch();
  recording.before_launch();
  recording.end_stretch();
  recording.end_stretch();  // nothing was launched since
  recording.before_launch();
  recording.end_step(complete);
  return fake.calls;
}

}  // namespace

TEST_CASE("steps as graphs: made once, then changed", "[backend]") {
  fake = {};
  RecordingOfFakes recording(nullptr);
  recording.before_launch();  // in no step
  for (int warm_up = 0; warm_up < 3; ++warm_up) CHECK(step_of(recording).empty());
  CHECK(step_of(recording) ==
        Calls{"begin", "end", "make", "launch", "begin", "end", "make", "launch"});
  const Calls again{"begin", "end", "update", "launch", "begin", "end", "update", "launch"};
  CHECK(step_of(recording) == again);
  CHECK(step_of(recording) == again);
}

TEST_CASE("steps as graphs: where they change too much recording pauses", "[backend]") {
  fake = {};
  RecordingOfFakes recording(nullptr);
  for (int step = 0; step < 4; ++step) step_of(recording);
  fake.update_fails = true;
  const Calls anew{"begin", "end", "update", "drop", "make", "launch"};
  int steps = 0;
  for (Calls calls = step_of(recording); !calls.empty(); calls = step_of(recording)) {
    REQUIRE(calls.size() >= anew.size());
    CHECK(Calls(calls.begin(), calls.begin() + 6) == anew);
    REQUIRE(++steps < 20);
  }
  CHECK(steps == 8);
  fake.update_fails = false;
  for (steps = 1; step_of(recording).empty(); ++steps) REQUIRE(steps < 200);
  CHECK(steps == 100);
}

TEST_CASE("steps as graphs: a change now and then stops nothing", "[backend]") {
  fake = {};
  RecordingOfFakes recording(nullptr);
  for (int step = 0; step < 4; ++step) step_of(recording);
  for (int step = 0; step < 100; ++step) {
    fake.update_fails = step % 5 == 0;
    REQUIRE(!step_of(recording).empty());
  }
}

TEST_CASE("steps as graphs: where memory runs out, what is recorded starts", "[backend]") {
  fake = {};
  RecordingOfFakes recording(nullptr);
  for (int step = 0; step < 4; ++step) step_of(recording);
  fake.calls.clear();
  recording.begin_step();
  recording.before_launch();
  recording.free(nullptr);
  recording.allocate(1);
  CHECK(fake.calls == Calls{"begin", "allocate"});
  fake.allocate = cudaErrorMemoryAllocation;
  CHECK(recording.allocate(1) == nullptr);
  recording.free(nullptr);  // cached memory, at once
  recording.end_step(true);
  CHECK(fake.calls ==
        Calls{"begin", "allocate", "allocate", "end", "update", "launch", "free", "free"});
  fake.allocate = cudaErrorInvalidValue;
  CHECK_THROWS_AS(recording.allocate(1), fovea::BackendError);
}

TEST_CASE("steps as graphs: a step that is given up is not launched", "[backend]") {
  fake = {};
  RecordingOfFakes recording(nullptr);
  for (int step = 0; step < 3; ++step) step_of(recording);
  CHECK(step_of(recording, false) == Calls{"begin", "end", "make", "launch", "begin", "end"});
  fake.end = cudaErrorStreamCaptureInvalidated;
  CHECK_THROWS_AS(step_of(recording), fovea::BackendError);
  CHECK(fake.calls == Calls{"begin", "end"});
}

TEST_CASE("steps as graphs: memory is given back when the graph that uses it has started",
          "[backend]") {
  fake = {};
  RecordingOfFakes recording(nullptr);
  for (int step = 0; step < 4; ++step) step_of(recording);
  fake.calls.clear();
  recording.begin_step();
  recording.free(nullptr);
  recording.before_launch();
  recording.free(nullptr);
  recording.end_step(true);
  CHECK(fake.calls == Calls{"free", "begin", "end", "update", "launch", "free"});
}

#endif
