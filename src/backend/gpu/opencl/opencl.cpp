#include "backend/gpu/opencl/opencl.h"

#define CL_HPP_ENABLE_EXCEPTIONS
#define CL_HPP_MINIMUM_OPENCL_VERSION 120
#define CL_HPP_TARGET_OPENCL_VERSION 120
#include <fmt/format.h>
#include <CL/opencl.hpp>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>

#include "backend/gpu/opencl/matmul.h"
#include "backend/gpu/opencl/program_cache.h"
#include "backend/gpu/opencl/source.h"
#include "backend/gpu/runtime.h"
#include "base/error.h"

namespace fovea::gpu {
namespace {

std::string reason(cl_int code) {
  switch (code) {
    case CL_DEVICE_NOT_AVAILABLE:
      return "the device is not available";
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
    case CL_OUT_OF_RESOURCES:
      return "the device has no memory left";
    case CL_OUT_OF_HOST_MEMORY:
      return "the host has no memory left";
    case CL_INVALID_COMMAND_QUEUE:
    case CL_INVALID_CONTEXT:
      return "the device is lost";
    case CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST:
      return "a command failed";
    default:
      return "the driver refused";
  }
}

// Runs work of the driver; what it throws becomes an error of ours.
template <class Work>
auto driver(const std::string& what, const Work& work) {
  try {
    return work();
  } catch (const cl::Error& e) {
    throw BackendError(
        fmt::format("opencl: {}: {} ({}: {})", what, reason(e.err()), e.what(), e.err()));
  }
}

std::vector<cl::Device> all_devices() {
  std::vector<cl::Platform> platforms;
  try {
    cl::Platform::get(&platforms);
  } catch (const cl::Error&) {
    return {};  // no driver
  }
  std::vector<cl::Device> all;
  for (const cl::Platform& platform : platforms) {
    std::vector<cl::Device> some;
    try {
      platform.getDevices(CL_DEVICE_TYPE_ALL, &some);
    } catch (const cl::Error&) {
      continue;  // a driver without a device
    }
    all.insert(all.end(), some.begin(), some.end());
  }
  std::stable_partition(all.begin(), all.end(), [](const cl::Device& device) {
    return device.getInfo<CL_DEVICE_TYPE>() == CL_DEVICE_TYPE_GPU;
  });
  return all;
}

// The beginning of a compiler's log.
std::string one_line(std::string log) {
  constexpr std::size_t kMost = 400;
  if (log.size() > kMost) log = log.substr(0, kMost) + "...";
  std::replace_if(
      log.begin(), log.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  return log;
}

// FOVEA_OPENCL_FLOAT64=off makes any device one of the many that have none.
bool float64_is_wanted() {
  const char* wish = std::getenv("FOVEA_OPENCL_FLOAT64");
  return wish == nullptr || std::string(wish) != "off";
}

// PoCL keeps what it has compiled itself, and compiles all kernels of a program, for groups of any
// size too, before it gives its binary: twice as many as a network needs. With
// FOVEA_OPENCL_PROGRAMS=keep it is one of the drivers whose programs we keep.
bool programs_are_kept(const cl::Device& device) {
  const char* wish = std::getenv("FOVEA_OPENCL_PROGRAMS");
  if (wish != nullptr && std::string(wish) == "keep") return true;
  const std::string platform =
      cl::Platform(device.getInfo<CL_DEVICE_PLATFORM>()).getInfo<CL_PLATFORM_NAME>();
  return platform != "Portable Computing Language";
}

cl_mem memory_of(MemoryHandle handle) { return reinterpret_cast<cl_mem>(handle); }

class OpenClRuntime final : public Runtime {
 public:
  explicit OpenClRuntime(const cl::Device& device)
      : device_(device),
        context_(device),
        queue_(context_, device, CL_QUEUE_PROFILING_ENABLE),
        name_(device.getInfo<CL_DEVICE_NAME>()),
        has_float64_(device.getInfo<CL_DEVICE_DOUBLE_FP_CONFIG>() != 0 && float64_is_wanted()),
        keeps_programs_(programs_are_kept(device)) {
    FOVEA_CHECK(device.getInfo<CL_DEVICE_MAX_WORK_GROUP_SIZE>() >= GROUP_SIZE, BackendError,
                fmt::format("opencl: {}: groups of {} work items at most, our kernels have {}; run "
                            "with device=cpu",
                            name_, device.getInfo<CL_DEVICE_MAX_WORK_GROUP_SIZE>(), GROUP_SIZE));
  }

  std::string description() const override { return name_; }
  bool has_float64() const override { return has_float64_; }

  MemoryHandle allocate(std::int64_t bytes) override {
    cl_int failed = CL_SUCCESS;
    cl_mem memory = clCreateBuffer(context_(), CL_MEM_READ_WRITE, static_cast<std::size_t>(bytes),
                                   nullptr, &failed);
    if (failed != CL_SUCCESS) return 0;
    // Drivers may put off what cannot be had until memory is used.
    if (clEnqueueMigrateMemObjects(queue_(), 1, &memory, CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED, 0,
                                   nullptr, nullptr) != CL_SUCCESS) {
      clReleaseMemObject(memory);
      return 0;
    }
    return reinterpret_cast<MemoryHandle>(memory);
  }
  void release(MemoryHandle handle) override { clReleaseMemObject(memory_of(handle)); }

  // Drivers pin what they allocate and have mapped.
  void* allocate_host(std::int64_t bytes) override {
    const auto size = static_cast<std::size_t>(bytes);
    return driver("allocating pinned memory", [&] {
      const cl::Buffer buffer(context_, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, size);
      void* memory = queue_.enqueueMapBuffer(buffer, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, size);
      const std::lock_guard lock(mutex_);
      pinned_[memory] = buffer;
      return memory;
    });
  }
  void release_host(void* memory) override {
    const std::lock_guard lock(mutex_);
    clEnqueueUnmapMemObject(queue_(), pinned_.at(memory)(), memory, 0, nullptr, nullptr);
    pinned_.erase(memory);
  }
  void upload(const void* from, Buffer to, std::int64_t bytes) override {
    check("upload",
          clEnqueueWriteBuffer(queue_(), memory_of(to.memory), CL_FALSE,
                               static_cast<std::size_t>(to.offset), static_cast<std::size_t>(bytes),
                               from, 0, nullptr, nullptr));
  }
  void download(Buffer from, void* to, std::int64_t bytes) override {
    check("download",
          clEnqueueReadBuffer(queue_(), memory_of(from.memory), CL_TRUE,
                              static_cast<std::size_t>(from.offset),
                              static_cast<std::size_t>(bytes), to, 0, nullptr, nullptr));
  }

  void queue_download(Buffer from, void* to, std::int64_t bytes) override {
    check("download",
          clEnqueueReadBuffer(queue_(), memory_of(from.memory), CL_FALSE,
                              static_cast<std::size_t>(from.offset),
                              static_cast<std::size_t>(bytes), to, 0, nullptr, nullptr));
    check("download", clFlush(queue_()));
  }

  void launch(Kernel kernel, DType dtype, std::int64_t groups,
              std::span<const Argument> arguments) override {
    const std::lock_guard lock(mutex_);
    const cl_kernel compiled = compiled_kernel(kernel, dtype);
    cl_uint i = 0;
    for (const Argument& argument : arguments)
      check(name_of(kernel), clSetKernelArg(compiled, i++, argument.size, argument.bytes));
    const std::size_t group = GROUP_SIZE;
    const std::size_t items = static_cast<std::size_t>(groups) * group;
    check(name_of(kernel), clEnqueueNDRangeKernel(queue_(), compiled, 1, nullptr, &items, &group, 0,
                                                  nullptr, nullptr));
  }

  bool gemm(const GemmArgs& args, const Tensor& a, const Tensor& b, const Tensor& bias,
            const Tensor& c) override {
    return opencl_matmul(args, a, b, bias, c, queue_());
  }

  bool conv(ConvResult, const ConvArgs&, const Tensor&, const Tensor&, const Tensor&) override {
    return false;
  }

  void synchronize() override {
    driver("waiting", [&] { queue_.finish(); });
  }
  Moment moment() override {
    auto event = std::make_shared<cl::Event>();
    driver("marking a moment", [&] { queue_.enqueueMarkerWithWaitList(nullptr, event.get()); });
    return {.nanoseconds = 0, .event = event};
  }
  void wait(const Moment& moment) override {
    driver("waiting", [&] { static_cast<const cl::Event*>(moment.event.get())->wait(); });
  }
  bool has_passed(const Moment& moment) override {
    if (!moment.event) return true;
    // (Of a device that failed, what is negative: nothing more is read there.)
    const auto& event = *static_cast<const cl::Event*>(moment.event.get());
    return driver("asking for a moment", [&] {
      return event.getInfo<CL_EVENT_COMMAND_EXECUTION_STATUS>() <= CL_COMPLETE;
    });
  }
  double seconds_between(const Moment& begin, const Moment& end) override {
    return driver("timing", [&] {
      const auto at = [](const Moment& moment) {
        const auto& event = *static_cast<const cl::Event*>(moment.event.get());
        event.wait();
        return static_cast<double>(event.getProfilingInfo<CL_PROFILING_COMMAND_END>());
      };
      return (at(end) - at(begin)) * 1e-9;
    });
  }

 private:
  void check(const char* what, cl_int code) const {
    FOVEA_CHECK(code == CL_SUCCESS, BackendError,
                fmt::format("opencl: {}: {} ({})", what, reason(code), code));
  }

  cl_kernel compiled_kernel(Kernel kernel, DType dtype) {
    cl::Kernel& compiled = kernels_[{kernel, dtype}];
    if (!compiled()) {
      const cl::Program& program = program_of(kernel, dtype);
      compiled = driver(name_of(kernel), [&] { return cl::Kernel(program, name_of(kernel)); });
    }
    return compiled();
  }

  const cl::Program& program_of(Kernel kernel, DType dtype) {
    cl::Program& program = programs_[{file_of(kernel), dtype}];
    if (program()) return program;
    const std::string options = fmt::format("-cl-std=CL1.2 -DDTYPE_{}{}", name_of(dtype),
                                            has_float64_ ? " -DHAVE_FLOAT64" : "");
    const std::string source = source_of(kernel);
    const std::string key =
        program_key(fmt::format("{}\n{}\n{}\n{}\n{}", name_, device_.getInfo<CL_DEVICE_VERSION>(),
                                device_.getInfo<CL_DRIVER_VERSION>(), options, source));
    if (const auto binary = keeps_programs_ ? read_program(key) : std::nullopt) {
      try {
        cl::Program kept(context_, {device_}, cl::Program::Binaries{*binary});
        kept.build(device_, options.c_str());
        return program = kept;
      } catch (const cl::Error&) {  // of another driver after all, or damaged: compiled anew
      }
    }
    cl::Program fresh(context_, source);
    try {
      fresh.build(device_, options.c_str());
    } catch (const cl::Error&) {
      throw BackendError(
          fmt::format("opencl: {}: {}.cl does not compile for {}{}; run with device=cpu", name_,
                      file_of(kernel), name_of(dtype), complaint_of(fresh)));
    }
    if (keeps_programs_) {
      const auto binaries = fresh.getInfo<CL_PROGRAM_BINARIES>();
      if (!binaries.empty()) write_program(key, binaries.front());
    }
    return program = fresh;
  }

  // What the driver's compiler said, if it can be had.
  std::string complaint_of(const cl::Program& program) const {
    try {
      return ": " + one_line(program.getBuildInfo<CL_PROGRAM_BUILD_LOG>(device_));
    } catch (const cl::Error&) {
      return "";
    }
  }

  cl::Device device_;
  cl::Context context_;
  cl::CommandQueue queue_;
  std::string name_;
  bool has_float64_, keeps_programs_;
  std::mutex mutex_;
  std::map<void*, cl::Buffer> pinned_;
  std::map<std::pair<std::string, DType>, cl::Program> programs_;
  std::map<std::pair<Kernel, DType>, cl::Kernel> kernels_;
};

}  // namespace

std::vector<std::string> opencl_devices() {
  std::vector<std::string> lines;
  for (const cl::Device& device : all_devices()) {
    lines.push_back(fmt::format(
        "{}, {}, {:.1f} GiB", device.getInfo<CL_DEVICE_NAME>(), device.getInfo<CL_DRIVER_VERSION>(),
        static_cast<double>(device.getInfo<CL_DEVICE_GLOBAL_MEM_SIZE>()) / (1 << 30)));
  }
  return lines;
}

Device make_opencl(int index) {
  const std::vector<cl::Device> devices = all_devices();
  FOVEA_CHECK(!devices.empty(), BackendError,
              "opencl: no driver with a device is installed; run with device=cpu");
  FOVEA_CHECK(static_cast<std::size_t>(index) < devices.size(), BackendError,
              fmt::format("opencl:{}: there {} only {}; see fovea inspect --devices", index,
                          devices.size() == 1 ? "is" : "are", devices.size()));
  return driver("opening the device", [&] {
    return make_gpu(DeviceType::kOpenCl,
                    std::make_shared<OpenClRuntime>(devices[static_cast<std::size_t>(index)]),
                    index);
  });
}

}  // namespace fovea::gpu
