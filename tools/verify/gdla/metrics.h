// gdla's metrics of single cases.
#pragma once

#include "verify/case.h"

namespace fovea::verify {

/// Dice, HD95 and their policies of label maps and masks that are given. gdla 7.
void run_case_metrics(const Case& c, Checker& check);

}  // namespace fovea::verify
