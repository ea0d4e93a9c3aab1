// The emulated device finds mistakes: kernels are run with each of their barriers taken out. And
// kernels are right in more than one order of their work items.
#include "tests/backend/emulated_cuda.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "tests/backend/gpu_cases.h"

using namespace fovea;
using namespace fovea::test;

namespace {

std::vector<FusedCase> all_cases() {
  std::vector<FusedCase> all;
  for (const auto& part :
       {cases_of_rows(), cases_of_maps(), cases_of_attention(), cases_of_updates()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

FusedCase case_of(const std::string& kernel, const std::string& variant) {
  for (const FusedCase& of : all_cases())
    if (of.kernel == kernel && of.variant == variant) return of;
  FAIL("no case " << kernel << " " << variant);
  return {};
}

// Whether a case gives other results without a barrier, fails or crashes (what a kernel reads as an
// index may be anything): hence a process of its own.
bool is_missed(const std::string& barrier, const FusedCase& of, DType stored,
               const std::vector<std::vector<double>>& expected) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGABRT}) std::signal(signal, SIG_DFL);
    alarm(5);
    bool same = false;
    try {
      const WithoutBarrier without(barrier);
      same = results(of, stored) == expected;
    } catch (const Error&) {
    }
    _exit(same ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return status != 0;
}

}  // namespace

TEST_CASE("emulated cuda: barriers that are taken out are missed", "[backend][fibers]") {
  const Device device = emulated_cuda(false);
  const InPlaceOfCpu here(device);
  const auto missed = [&](const FusedCase& of) {
    std::vector<std::vector<double>> expected;
    std::vector<bool> all;
    for (const std::string& barrier :
         barriers_reached([&] { expected = results(of, DType::kFloat32); }))
      all.push_back(is_missed(barrier, of, DType::kFloat32, expected));
    return all;
  };
  CHECK(missed(case_of("softmax", "masked, long rows")) == std::vector<bool>{true, true, true});
  // Of these some are for more keys, or more maps, than the case has.
  const std::vector<bool> of_attention = missed(case_of("unit_attention", "plain"));
  CAPTURE(of_attention);
  CHECK(std::count(of_attention.begin(), of_attention.end(), true) >= 5);
  const std::vector<bool> of_linear = missed(case_of("linear_attention", "causal"));
  CAPTURE(of_linear);
  CHECK(std::count(of_linear.begin(), of_linear.end(), true) >= 7);
}

TEST_CASE("emulated cuda: a shuffle that a lane does not reach fails", "[backend][fibers]") {
  const InPlaceOfCpu here(emulated_cuda(false));
  const FusedCase of = case_of("softmax", "masked, long rows");
  std::vector<std::string> shuffles;
  for (const std::string& barrier : barriers_reached([&] { results(of, DType::kFloat32); })) {
    const WithoutBarrier without(barrier);
    try {
      results(of, DType::kFloat32);
    } catch (const BackendError& error) {
      CHECK(std::string(error.what()).find("at a barrier that others do not reach") !=
            std::string::npos);
      shuffles.push_back(barrier);
    }
  }
  CHECK(shuffles.size() == 1);
}

TEST_CASE("emulated cuda: teams of every size agree with the CPU", "[backend][fibers]") {
  std::vector<FusedCase> cases;
  for (const std::int64_t n : {1, 9, 17, 33, 65, 129, 257, 513, 1025}) {  // teams of 1 to 256
    cases.push_back({"softmax", "rows of " + std::to_string(n), false,
                     [n](const Backend& b, Operands& o) -> std::vector<Tensor> {
                       const Tensor x = o.x({3, n});
                       const Tensor y = o.to_x(x.shape());
                       b.softmax({}, x, {}, y);
                       return {y};
                     }});
  }
  compare_with_cpu(cases, {DType::kFloat64, DType::kFloat32}, emulated_cuda(false));
}

// Rows of whole chunks are read 16 bytes at a time where they begin with one.
TEST_CASE("emulated cuda: rows agree with the CPU wherever they begin", "[backend][fibers]") {
  constexpr std::int64_t kRows = 3, n = 24;
  std::vector<FusedCase> cases;
  for (const std::int64_t begin : {0, 1}) {
    const auto from = [begin](const Tensor& x) {
      return x.rows(begin, begin + kRows * n).alias({kRows, n});
    };
    const auto row_from = [begin](const Tensor& x) { return x.rows(begin, begin + n).alias({n}); };
    cases.push_back({"layer_norm", "from " + std::to_string(begin), true,
                     [=](const Backend& b, Operands& o) -> std::vector<Tensor> {
                       const LayerNormArgs args{.eps = 1e-5,
                                                .x = from(o.x({kRows * n + 1, 1})),
                                                .weight = row_from(o.c({n + 1, 1})),
                                                .bias = row_from(o.c({n + 1, 1})),
                                                .y = o.to_x({kRows, n}),
                                                .mean = o.to_c({kRows}),
                                                .rstd = o.to_c({kRows})};
                       b.layer_norm(args);
                       return {args.y, args.mean, args.rstd};
                     }});
    cases.push_back({"rms_norm_backward", "from " + std::to_string(begin), true,
                     [=](const Backend& b, Operands& o) -> std::vector<Tensor> {
                       const RmsNormBackwardArgs args{.x = o.x({kRows, n}),
                                                      .weight = row_from(o.c({n + 1, 1})),
                                                      .rstd = o.between(0.5, 2, {kRows}),
                                                      .dy = from(o.x({kRows * n + 1, 1})),
                                                      .dx = o.to_x({kRows, n})};
                       b.rms_norm_backward(args);
                       return {args.dx};
                     }});
  }
  compare_with_cpu(cases, {DType::kFloat64, DType::kFloat32, DType::kBFloat16},
                   emulated_cuda(false));
}

TEST_CASE("emulated cuda: fused kernels are right in other orders of work items",
          "[backend][fibers][slow]") {
  const auto compare = [](const std::vector<FusedCase>& cases) {
    compare_with_cpu(cases, {DType::kFloat32}, emulated_cuda(false, 2));
    compare_with_cpu(cases, {DType::kFloat32}, emulated_cuda(true, 3), 2e-3);
  };
  SECTION("rows, seeds 2 and 3") { compare(cases_of_rows()); }
  SECTION("maps, seeds 2 and 3") { compare(cases_of_maps()); }
  SECTION("attention, seeds 2 and 3") { compare(cases_of_attention()); }
  SECTION("updates, seeds 2 and 3") { compare(cases_of_updates()); }
}
