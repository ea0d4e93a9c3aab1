#include "backend/cpu/products/onednn.h"

#include "backend/cpu/products/onednn_primitive.h"
#include "base/error.h"
#include "base/recent_table.h"

#include <fmt/format.h>
#include <omp.h>
#include <sys/mman.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <new>

namespace fovea::cpu::onednn {

using dnnl::memory;

Thread::Thread() { omp_set_num_threads(1); }

Thread& thread() {
  thread_local Thread here;
  return here;
}

memory::data_type type_of(DType dtype) {
  return dtype == DType::kBFloat16 ? memory::data_type::bf16 : memory::data_type::f32;
}

dnnl::primitive_attr plain_attributes() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

void require_code_memory() {
  // More than the code of one primitive takes; the memory is not touched.
  constexpr std::size_t kBytes = std::size_t{32} << 20;
  void* const place =
      ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  FOVEA_CHECK(place != MAP_FAILED, BackendError,
              fmt::format("oneDNN: no memory for its code: {}; give the program more memory "
                          "(ulimit -v), or lower train.batch_size or train.threads",
                          std::strerror(errno)));
  const bool may = ::mprotect(place, kBytes, PROT_READ | PROT_EXEC) == 0;
  const int reason = errno;
  ::munmap(place, kBytes);
  FOVEA_CHECK(
      may, BackendError,
      fmt::format("oneDNN: the system does not let it make code: {}; allow programs to make "
                  "memory executable, or set DNNL_MAX_CPU_ISA=AVX2 to do without",
                  std::strerror(reason)));
}

std::mutex& creation_mutex() {
  static std::mutex mutex;
  return mutex;
}

void refuse(const dnnl::error& error) {
  if (error.status == dnnl_out_of_memory) throw std::bad_alloc();
  throw BackendError(
      fmt::format("oneDNN: {}, status {}", error.what(), static_cast<int>(error.status)));
}

dnnl::primitive Primitive::made_of(const_dnnl_primitive_desc_t description) {
  require_code_memory();
  return dnnl::primitive(description);
}

void Primitive::add(int index, const memory::desc& desc) {
  memories_.emplace_back(desc, thread().engine, nullptr);
  arguments_.push_back({index, memories_.back().get()});
}

void Primitive::run(std::initializer_list<const void*> data) {
  Thread& here = thread();
  if (here.scratch.size() < scratch_bytes_) here.scratch.resize(scratch_bytes_);
  std::size_t i = 0;
  for (const void* pointer : data)
    dnnl_memory_set_data_handle(arguments_[i++].memory, const_cast<void*>(pointer));
  dnnl_memory_set_data_handle(arguments_[i].memory, here.scratch.data());
  const dnnl_status_t status = dnnl_primitive_execute(
      primitive_.get(), here.stream.get(), static_cast<int>(arguments_.size()), arguments_.data());
  FOVEA_CHECK(status == dnnl_success, BackendError,
              fmt::format("oneDNN: status {}", static_cast<int>(status)));
}

namespace {

struct Hash {
  std::size_t operator()(const Gemm& g) const {
    const std::int64_t flags = static_cast<std::int64_t>(g.operands) * 8 +
                               static_cast<std::int64_t>(g.result) + (g.trans_a ? 64 : 0) +
                               (g.trans_b ? 128 : 0) + (g.accumulate ? 256 : 0) +
                               (g.has_bias ? 512 : 0);
    return HashOfNumbers{}(std::array{flags, g.m, g.n, g.k, g.lda, g.ldb, g.ldc});
  }
};

memory::desc matrix(std::int64_t rows, std::int64_t columns, DType dtype, bool trans,
                    std::int64_t ld) {
  return {{rows, columns}, type_of(dtype), trans ? memory::dims{1, ld} : memory::dims{ld, 1}};
}

Primitive make(const Gemm& g) {
  const memory::desc a = matrix(g.m, g.k, g.operands, g.trans_a, g.lda);
  const memory::desc b = matrix(g.k, g.n, g.operands, g.trans_b, g.ldb);
  const memory::desc c = matrix(g.m, g.n, g.result, false, g.ldc);
  const memory::desc bias{{1, g.n}, memory::data_type::f32, memory::format_tag::ab};
  dnnl::primitive_attr attributes = plain_attributes();
  if (g.accumulate) {
    dnnl::post_ops sum;
    sum.append_sum(1.0F);
    attributes.set_post_ops(sum);
  }
  const dnnl::matmul::desc description =
      g.has_bias ? dnnl::matmul::desc(a, b, bias, c) : dnnl::matmul::desc(a, b, c);
  const dnnl::matmul::primitive_desc chosen(description, attributes, thread().engine);
  if (g.has_bias) {
    return {chosen,
            {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_BIAS, bias}, {DNNL_ARG_DST, c}}};
  }
  return {chosen, {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, c}}};
}

}  // namespace

bool available() { return dnnl::get_effective_cpu_isa() >= dnnl::cpu_isa::avx512_core; }

bool fast_bfloat16() { return dnnl::get_effective_cpu_isa() >= dnnl::cpu_isa::avx512_core_bf16; }

std::string version() {
  const dnnl_version_t* v = dnnl_version();
  return fmt::format("oneDNN {}.{}.{}", v->major, v->minor, v->patch);
}

void gemm(const Gemm& shape, const void* a, const void* b, const float* bias, void* c) {
  thread_local RecentTable<Gemm, Primitive, Hash> made;
  Primitive& product = made.get(shape, [&] { return make_checked([&] { return make(shape); }); });
  if (bias != nullptr) {
    product.run({a, b, bias, c});
  } else {
    product.run({a, b, c});
  }
}

}  // namespace fovea::cpu::onednn
