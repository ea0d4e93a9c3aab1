// Value::dump: JSON text. It is not nlohmann's, because numbers must read back bit for bit and keep
// their kind (1.0 stays a number, 1 an integer), short arrays stay on one line, and bad bytes must
// not throw while a report is being written.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "schema/json/utf8.h"
#include "schema/json/value.h"

namespace fovea::schema {
namespace {

void write_string(std::string& out, std::string_view text) {
  out.push_back('"');
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text, at);
    if (length != 1) {
      if (length == 0) {
        append_utf8(out, 0xFFFD);
      } else {
        out.append(text.substr(at, length));
      }
      at += std::max<std::size_t>(length, 1);
      continue;
    }
    const char c = text[at++];
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
          out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        } else {
          out.push_back(c);
        }
    }
  }
  out.push_back('"');
}

void write_double(std::string& out, double number) {
  if (!std::isfinite(number)) {
    out += "null";
    return;
  }
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number).ptr;
  const std::string_view digits(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
  out += digits;
  if (digits.find_first_of(".e") == std::string_view::npos) out += ".0";
}

bool stays_on_line(const Value& array) {
  return std::none_of(array.items().begin(), array.items().end(), [](const Value& item) {
    return item.size() > 0;  // empty arrays and objects count as scalars
  });
}

class Writer {
 public:
  explicit Writer(int indent) : indent_(indent) {}

  void write(const Value& value, int depth) {
    switch (value.kind()) {
      case Value::Kind::kNull:
        text_ += "null";
        break;
      case Value::Kind::kBool:
        text_ += value.as_bool() ? "true" : "false";
        break;
      case Value::Kind::kInteger:
        text_ += std::to_string(value.as_int());
        break;
      case Value::Kind::kNumber:
        write_double(text_, value.as_double());
        break;
      case Value::Kind::kString:
        write_string(text_, value.as_string());
        break;
      case Value::Kind::kArray:
        write_array(value, depth);
        break;
      case Value::Kind::kObject:
        write_object(value, depth);
        break;
    }
  }

  std::string take() { return std::move(text_); }

 private:
  void write_array(const Value& value, int depth) {
    const bool one_line = indent_ == 0 || stays_on_line(value);
    text_.push_back('[');
    bool first = true;
    for (const Value& item : value.items()) {
      if (!first) text_ += one_line && indent_ > 0 ? ", " : ",";
      if (!one_line) new_line(depth + 1);
      write(item, depth + 1);
      first = false;
    }
    if (!one_line) new_line(depth);
    text_.push_back(']');
  }

  void write_object(const Value& value, int depth) {
    text_.push_back('{');
    bool first = true;
    for (const auto& member : value.members()) {
      if (!first) text_.push_back(',');
      if (indent_ > 0) new_line(depth + 1);
      write_string(text_, member.key);
      text_ += indent_ > 0 ? ": " : ":";
      write(member.value, depth + 1);
      first = false;
    }
    if (indent_ > 0 && value.size() > 0) new_line(depth);
    text_.push_back('}');
  }

  void new_line(int depth) {
    text_.push_back('\n');
    text_.append(static_cast<std::size_t>(depth * indent_), ' ');
  }

  int indent_;
  std::string text_;
};

}  // namespace

std::string Value::dump(int indent) const {
  Writer writer(std::max(indent, 0));
  writer.write(*this, 0);
  return writer.take();
}

}  // namespace fovea::schema
