// What tests make fail (set_fault_hook() in file.h), for the sources of this folder that make
// system calls.
#pragma once

#include <string_view>

namespace fovea::io {

/// The errno that a system call shall fail with, before it is made; 0: it is to be made.
int injected_fault(std::string_view call);

}  // namespace fovea::io
