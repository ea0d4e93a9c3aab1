// What pages for the browser are put together from: one file each, which reaches for nothing
// outside it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace fovea::visualise {

/// A zlib stream (RFC 1950) of the bytes, in base64.
std::string to_packed_base64(const std::string& bytes);

/// JSON that can stand in a script element: with no "<" no text in it can end the element. Bytes
/// that are not UTF-8 become U+FFFD.
std::string embeddable(const nlohmann::json& json);

/// What stands in a page where {{style}}, {{script}}, {{packed}} and {{data}} do.
struct PageParts {
  std::string_view html;
  std::vector<std::string_view> styles, scripts;  // in their order
  std::string packed;                             // elements with numbers
  std::string data;                               // embeddable()
};
std::string filled_page(const PageParts& parts);

}  // namespace fovea::visualise
