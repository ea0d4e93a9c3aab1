// A short name for content, to tell equal from different; not against forgers.
#pragma once

#include <string>
#include <string_view>

namespace fovea {

/// 16 hexadecimal digits: FNV-1a over 8-byte words. Any single changed bit changes it.
std::string hash_bytes(std::string_view bytes);

}  // namespace fovea
