// A build without NCCL.
#include "parallel/nccl/nccl.h"

namespace fovea::parallel {

std::shared_ptr<DeviceLink> open_nccl(Ranks&, const Device&) { return nullptr; }

}  // namespace fovea::parallel
