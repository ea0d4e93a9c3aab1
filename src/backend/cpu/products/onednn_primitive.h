// What the files that call oneDNN share: the calling thread's engine, and primitives with their
// arguments. No other file includes this: it includes oneDNN's own header.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <mutex>
#include <utility>
#include <vector>

#include <dnnl.hpp>

#include "tensor/dtype.h"

namespace fovea::cpu::onednn {

/// What one thread needs to run primitives. oneDNN divides its work with OpenMP; our pieces already
/// run in parallel, so every thread sets OpenMP's number of threads to 1 for itself.
struct Thread {
  Thread();
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  std::vector<std::byte> scratch;
};
/// The calling thread's engine and stream.
Thread& thread();

dnnl::memory::data_type type_of(DType dtype);

/// Attributes of every primitive here: its scratch memory is the thread's.
dnnl::primitive_attr plain_attributes();

/// oneDNN 2.6 writes its code to memory without checking whether it got any, and crashes where it
/// did not. Throws BackendError where there is no memory for it, or where the system does not let
/// programs generate code.
void require_code_memory();

[[noreturn]] void refuse(const dnnl::error& error);

/// Held while something of oneDNN is made. Threads share a cache of primitives there, in which
/// ThreadSanitizer sees races (oneDNN 2.6).
std::mutex& creation_mutex();

/// Makes an object of oneDNN, one thread at a time; turns its errors into BackendError, or
/// std::bad_alloc.
template <class Make>
decltype(auto) make_checked(const Make& make) {
  const std::lock_guard lock(creation_mutex());
  try {
    return make();
  } catch (const dnnl::error& error) {
    refuse(error);
  }
}

/// A primitive with the memory objects of its arguments; for the thread that made it.
class Primitive {
 public:
  /// Arguments: DNNL_ARG_... and layout.
  template <class Description>
  Primitive(const Description& description,
            std::initializer_list<std::pair<int, dnnl::memory::desc>> arguments)
      : primitive_(made_of(description.get())),
        scratch_bytes_(description.scratchpad_desc().get_size()) {
    for (const auto& [index, desc] : arguments) add(index, desc);
    add(DNNL_ARG_SCRATCHPAD, description.scratchpad_desc());
  }

  /// Data in the order of the arguments.
  void run(std::initializer_list<const void*> data);

 private:
  static dnnl::primitive made_of(const_dnnl_primitive_desc_t description);
  void add(int index, const dnnl::memory::desc& desc);

  dnnl::primitive primitive_;
  std::size_t scratch_bytes_ = 0;
  std::vector<dnnl::memory> memories_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

}  // namespace fovea::cpu::onednn
