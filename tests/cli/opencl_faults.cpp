// Stands between a program and OpenCL (LD_PRELOAD) and lets one function fail from its n-th call
// on, as a driver does that has lost its device:
//   FOVEA_OPENCL_FAULT=clEnqueueNDRangeKernel:300:-5
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

struct Fault {
  char function[64] = "";
  long first = 0;
  int code = CL_SUCCESS;

  Fault() {
    const char* wish = std::getenv("FOVEA_OPENCL_FAULT");
    if (wish != nullptr) std::sscanf(wish, "%63[^:]:%ld:%d", function, &first, &code);
  }
};

// The code that this call is to fail with, or CL_SUCCESS.
cl_int fault_of(const char* function, std::atomic<long>& calls) {
  static const Fault fault;
  if (std::strcmp(function, fault.function) != 0) return CL_SUCCESS;
  return ++calls >= fault.first ? fault.code : CL_SUCCESS;
}

template <class Function>
Function real(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

#define FAULTY(function, parameters, arguments)                                          \
  extern "C" CL_API_ENTRY cl_int CL_API_CALL function parameters {                       \
    static std::atomic<long> calls;                                                      \
    if (const cl_int code = fault_of(#function, calls); code != CL_SUCCESS) return code; \
    return real<decltype(&function)>(#function) arguments;                               \
  }

FAULTY(clGetPlatformIDs, (cl_uint n, cl_platform_id* platforms, cl_uint* found),
       (n, platforms, found))
FAULTY(clBuildProgram,
       (cl_program program, cl_uint n, const cl_device_id* devices, const char* options,
        void(CL_CALLBACK* notify)(cl_program, void*), void* data),
       (program, n, devices, options, notify, data))
FAULTY(clEnqueueNDRangeKernel,
       (cl_command_queue queue, cl_kernel kernel, cl_uint axes, const size_t* offset,
        const size_t* global, const size_t* local, cl_uint n, const cl_event* before,
        cl_event* event),
       (queue, kernel, axes, offset, global, local, n, before, event))
FAULTY(clEnqueueReadBuffer,
       (cl_command_queue queue, cl_mem memory, cl_bool blocking, size_t offset, size_t size,
        void* to, cl_uint n, const cl_event* before, cl_event* event),
       (queue, memory, blocking, offset, size, to, n, before, event))
FAULTY(clEnqueueWriteBuffer,
       (cl_command_queue queue, cl_mem memory, cl_bool blocking, size_t offset, size_t size,
        const void* from, cl_uint n, const cl_event* before, cl_event* event),
       (queue, memory, blocking, offset, size, from, n, before, event))
FAULTY(clWaitForEvents, (cl_uint n, const cl_event* events), (n, events))
FAULTY(clFinish, (cl_command_queue queue), (queue))
FAULTY(clEnqueueMigrateMemObjects,
       (cl_command_queue queue, cl_uint n, const cl_mem* memory, cl_mem_migration_flags flags,
        cl_uint count, const cl_event* before, cl_event* event),
       (queue, n, memory, flags, count, before, event))
