// Singular values of a map, and what follows from them. explain C.3.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace fovea::explain {

/// Of a matrix of n rows, row-major; the largest first. Throws ShapeError unless all rows are as
/// long, NumericError where values are not finite.
std::vector<double> singular_values(std::span<const double> matrix, std::int64_t n);

/// exp(-sum p ln p), p = the values over their sum (Roy & Vetterli 2007): from 1, of a matrix of
/// rank 1, to their number. NaN if all are 0.
double effective_rank(std::span<const double> singular);
/// Their squares' sum over the square of the largest. NaN if all are 0.
double stable_rank(std::span<const double> singular);

/// ||A - 1 m^T|| / ||A||, m the mean row, Frobenius norms, of an (n, dim) matrix: 0 where all rows
/// are equal. NaN if all is 0.
double row_residual(std::span<const double> matrix, std::int64_t n);

}  // namespace fovea::explain
