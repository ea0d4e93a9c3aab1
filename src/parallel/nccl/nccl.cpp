#include "parallel/nccl/nccl.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <nccl.h>

#include <string>
#include <vector>

#include "backend/backend.h"
#include "backend/gpu/cuda/check.h"
#include "backend/gpu/cuda/cuda.h"
#include "backend/gpu/cuda/library.h"
#include "backend/gpu/cuda/pointer.h"
#include "base/error.h"

namespace fovea::parallel {
namespace {

using gpu::check;
using gpu::DynamicLibrary;

#define FOVEA_FUNCTIONS(X) \
  X(ncclGetUniqueId)       \
  X(ncclCommInitRank)      \
  X(ncclCommAbort)         \
  X(ncclCommGetAsyncError) \
  X(ncclGroupStart)        \
  X(ncclGroupEnd)          \
  X(ncclSend)              \
  X(ncclRecv)              \
  X(ncclGetErrorString)

FOVEA_LIBRARY(Nccl, "libnccl.so.2", FOVEA_FUNCTIONS);

const Nccl& nccl() {
  static const Nccl functions;
  return functions;
}

void check(const char* what, ncclResult_t result) {
  FOVEA_CHECK(result == ncclSuccess || result == ncclInProgress, BackendError,
              fmt::format("nccl: {}: {}", what, nccl().ncclGetErrorString(result)));
}

// A queue of the device's work, its own.
class Stream {
 public:
  explicit Stream(int device) : device_(device) {
    use();
    check("making a stream", cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  void use() const { check("choosing the device", cudaSetDevice(device_)); }
  cudaStream_t get() const { return stream_; }

 private:
  int device_;
  cudaStream_t stream_ = nullptr;
};

class Communicator {
 public:
  Communicator(Ranks& ranks, const Stream& stream) {
    ncclUniqueId id{};
    if (ranks.first()) check("beginning", nccl().ncclGetUniqueId(&id));
    const std::string bytes = ranks.from_first({id.internal, sizeof id.internal});
    bytes.copy(id.internal, sizeof id.internal);
    stream.use();
    check("joining the devices", nccl().ncclCommInitRank(&handle_, ranks.size(), id, ranks.rank()));
  }
  // (Not ncclCommDestroy, which would wait for ranks that are lost.)
  ~Communicator() { nccl().ncclCommAbort(handle_); }
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  ncclComm_t get() const { return handle_; }

 private:
  ncclComm_t handle_ = nullptr;
};

class NcclExchange final : public Exchange {
 public:
  NcclExchange(const Stream& stream, const Communicator& communicator, const Moment& before,
               const std::vector<OutgoingTensor>& sent, const std::vector<IncomingTensor>& received)
      : communicator_(communicator) {
    stream.use();
    check("waiting", cudaStreamWaitEvent(stream.get(), gpu::cuda_event(before), 0));
    check("sending", nccl().ncclGroupStart());
    for (const auto& [to, x] : sent) {
      note(to, x);
      check("sending", nccl().ncclSend(gpu::pointer(x), static_cast<std::size_t>(x.bytes()),
                                       ncclInt8, to, communicator.get(), stream.get()));
    }
    for (const auto& [from, x] : received) {
      note(from, x);
      check("receiving", nccl().ncclRecv(gpu::pointer(x), static_cast<std::size_t>(x.bytes()),
                                         ncclInt8, from, communicator.get(), stream.get()));
    }
    check("sending", nccl().ncclGroupEnd());
    check("making an event", cudaEventCreateWithFlags(&over_, cudaEventDisableTiming));
    check("marking an event", cudaEventRecord(over_, stream.get()));
  }
  ~NcclExchange() override {
    if (over_ != nullptr) cudaEventDestroy(over_);
  }
  // All of it arrives at once.
  std::vector<int> left() override {
    ncclResult_t result = ncclSuccess;
    check("looking", nccl().ncclCommGetAsyncError(communicator_.get(), &result));
    check("sending", result);
    const cudaError_t code = cudaEventQuery(over_);
    if (code == cudaErrorNotReady) return peers_;
    check("waiting", code);
    return {};
  }

 private:
  void note(int peer, const Tensor& x) {
    peers_.push_back(peer);
    kept_.push_back(x);
  }

  const Communicator& communicator_;
  std::vector<int> peers_;
  std::vector<Tensor> kept_;  // whose memory is read and written meanwhile
  cudaEvent_t over_ = nullptr;
};

class NcclLink final : public DeviceLink {
 public:
  NcclLink(Ranks& ranks, const Device& device)
      : device_(device), stream_(device.index()), communicator_(ranks, stream_) {}
  std::unique_ptr<Exchange> begin(const std::vector<OutgoingTensor>& sent,
                                  const std::vector<IncomingTensor>& received) override {
    return std::make_unique<NcclExchange>(stream_, communicator_, device_.backend().moment(), sent,
                                          received);
  }

 private:
  Device device_;
  Stream stream_;
  Communicator communicator_;
};

}  // namespace

std::shared_ptr<DeviceLink> open_nccl(Ranks& ranks, const Device& device) {
  const bool there = device.type() == DeviceType::kCuda && nccl().there();
  if (ranks.any(!there)) return nullptr;
  return std::make_shared<NcclLink>(ranks, device);
}

}  // namespace fovea::parallel
