// What a table's tests allow to be said of a row against the first one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace fovea::metrics {

/// The share of tables without any true difference that may say "better" or "worse" of a metric.
inline constexpr double kAlpha = 0.05;

enum class Verdict { kNone, kBetter, kWorse, kNotDistinguishable };
/// "better", "worse", "not distinguishable"; "-" where there is no test.
const char* name_of(Verdict verdict);

/// By the p-value that is adjusted over the rows of the metric (Holm); NaN: there is no test.
Verdict verdict_of(double p_holm, double difference, bool larger_is_better);

/// p of equivalence, two one-sided tests of the signs (Schuirmann, J. Pharmacokinet. Biopharm.
/// 1987): that the mean of the differences lies within -margin to margin. NaN as sign_flip_p.
double equivalence_p(std::span<const double> differences, double margin);

/// How far apart two runs that differ in their seed alone lie in 95 of 100 cases, by n >= 2 values
/// with this standard deviation: t(0.975, n - 1) sqrt(2) std. NaN below two.
double noise_floor(std::int64_t n, double std);

/// The smallest mean difference that pairs with this standard deviation of their differences show
/// (kPower), where `tests` rows are compared. Nothing where so few pairs show none, or std is not
/// above 0.
std::optional<double> detectable_difference(std::int64_t pairs, double std, std::int64_t tests);

}  // namespace fovea::metrics
