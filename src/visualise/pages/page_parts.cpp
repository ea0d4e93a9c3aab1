#include "visualise/pages/page_parts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <zlib.h>

#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/error.h"

namespace fovea::visualise {

std::string to_packed_base64(const std::string& bytes) {
  uLongf size = compressBound(bytes.size());
  std::string packed(size, '\0');
  const int status = compress2(reinterpret_cast<Bytef*>(packed.data()), &size,
                               reinterpret_cast<const Bytef*>(bytes.data()), bytes.size(), 6);
  FOVEA_CHECK(status == Z_OK, FileError, fmt::format("page: zlib failed with {}", status));
  packed.resize(size);
  return to_base64(packed);
}

std::string embeddable(const nlohmann::json& json) {
  const std::string text = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  std::string safe;
  safe.reserve(text.size());
  for (const char c : text) {
    if (c == '<') {
      safe += "\\u003c";
    } else {
      safe += c;
    }
  }
  return safe;
}

std::string filled_page(const PageParts& parts) {
  std::string page(parts.html);
  const auto put = [&](std::string_view slot, std::string_view content) {
    page.replace(page.find(slot), slot.size(), content);
  };
  put("{{style}}", fmt::format("{}", fmt::join(parts.styles, "\n")));
  put("{{script}}", fmt::format("{}\n", fmt::join(parts.scripts, "\n")));
  put("{{packed}}", parts.packed);
  put("{{data}}", parts.data);  // last, because its text may look like a slot
  return page;
}

}  // namespace fovea::visualise
