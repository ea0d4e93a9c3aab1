// A recursive-descent parser instead of nlohmann's SAX interface, which reports a token only after
// reading past it, without its start, has messages about bytes and parser states, and reads
// 99999999999999999999 as a double. An adaptor that adds what is needed here (positions of keys and
// values, duplicate keys with both places, readable messages) would be about as long.
#include "schema/json/parse.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <system_error>
#include <unordered_map>

#include "base/error.h"
#include "base/shown.h"
#include "schema/json/utf8.h"

namespace fovea::schema {
namespace {

constexpr const char* kAnyValue = "a value (object, array, string, number, true, false or null)";

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

class Parser {
 public:
  Parser(std::string_view text, const std::string& file, const Limits& limits, int first_line)
      : text_(text), file_(file), limits_(limits), line_(first_line) {}

  Value document() {
    if (text_.substr(0, 3) == "\xEF\xBB\xBF") at_ = 3;  // byte order mark
    Value result = value(0);
    skip_space();
    if (!at_end()) unexpected("the end of the file");
    return result;
  }

 private:
  struct Place {
    int line, column;
  };

  bool at_end() const { return at_ >= text_.size(); }
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  Place place() const { return {line_, column_}; }
  Origin origin(Place at) const { return {file_, at.line, at.column}; }

  // Columns count characters: continuation bytes of UTF-8 do not move them.
  void advance() {
    const char c = text_[at_++];
    if (c == '\n') {
      ++line_;
      column_ = 1;
    } else if ((static_cast<unsigned char>(c) & 0xC0U) != 0x80U) {
      ++column_;
    }
  }
  void advance(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) advance();
  }

  [[noreturn]] void fail(Place at, const std::string& message) const {
    // A key may hold the end of a line.
    constexpr std::size_t kLongest = 1000;
    throw ConfigError(
        fmt::format("{}:{}:{}: {}", file_, at.line, at.column, fovea::shown(message, kLongest)));
  }

  // The text at this place, for messages: a word, a character, or the end.
  std::string here() const {
    if (at_end()) return "end of file";
    std::size_t end = at_;
    while (end < text_.size() && (is_letter(text_[end]) || is_digit(text_[end])) &&
           end - at_ < 20) {
      ++end;
    }
    if (end > at_) return fmt::format("\"{}\"", text_.substr(at_, end - at_));
    const std::size_t length = utf8_length(text_, at_);
    const auto byte = static_cast<unsigned char>(text_[at_]);
    if (length == 0 || byte < 0x20 || byte == 0x7F) return fmt::format("byte 0x{:02x}", byte);
    return fmt::format("'{}'", text_.substr(at_, length));
  }

  [[noreturn]] void unexpected(const std::string& expected) const {
    fail(place(), fmt::format("unexpected {}, expected {}", here(), expected));
  }

  void skip_space() {
    for (;;) {
      const char c = peek();
      if (!at_end() && (c == ' ' || c == '\t' || c == '\n' || c == '\r')) {
        advance();
      } else if (c == '/' && peek(1) == '/') {
        while (!at_end() && peek() != '\n') advance();
      } else if (c == '/' && peek(1) == '*') {
        const Place start = place();
        advance(2);
        while (!at_end() && !(peek() == '*' && peek(1) == '/')) advance();
        if (at_end()) fail(start, "comment is not closed, expected */");
        advance(2);
      } else {
        return;
      }
    }
  }

  Value value(int depth) {
    skip_space();
    const Place start = place();
    if ((peek() == '{' || peek() == '[') && depth >= limits_.depth) {
      fail(start, fmt::format("nested too deep, expected at most {} levels", limits_.depth));
    }
    Value result = unplaced_value(depth);
    result.set_origin(origin(start));
    return result;
  }

  Value unplaced_value(int depth) {
    const char c = peek();
    if (at_end()) unexpected(kAnyValue);
    if (c == '{') return object(depth);
    if (c == '[') return array(depth);
    if (c == '"') return Value(string());
    if (c == '-' || is_digit(c)) return number();
    if (word("true")) return Value(true);
    if (word("false")) return Value(false);
    if (word("null")) return Value(nullptr);
    if (c == '\'') unexpected("a string in double quotes");
    unexpected(kAnyValue);
  }

  bool word(std::string_view expected) {
    if (text_.substr(at_, expected.size()) != expected) return false;
    const char next = peek(expected.size());
    if (is_letter(next) || is_digit(next)) return false;
    advance(expected.size());
    return true;
  }

  Value object(int depth) {
    advance();
    Value result = Value::object();
    std::unordered_map<std::string, Place> seen;
    skip_space();
    if (peek() == '}') {
      advance();
      return result;
    }
    for (;;) {
      skip_space();
      if (peek() != '"') {
        unexpected(peek() == '}' ? "a key after the comma" : "a key in double quotes");
      }
      const Place start = place();
      std::string key = string();
      path_.push_back(key);
      const auto [first, fresh] = seen.try_emplace(key, start);
      if (!fresh) {
        fail(start, fmt::format("{}: given twice (first at {}:{})", fmt::join(path_, "."),
                                first->second.line, first->second.column));
      }
      skip_space();
      if (peek() != ':') unexpected(fmt::format("':' after the key \"{}\"", key));
      advance();
      Value content = value(depth + 1);
      path_.pop_back();
      result.members().push_back({std::move(key), std::move(content), origin(start)});
      skip_space();
      if (peek() == '}') break;
      if (peek() != ',') unexpected("',' or '}'");
      advance();
    }
    advance();
    return result;
  }

  Value array(int depth) {
    advance();
    Value result = Value::array();
    skip_space();
    if (peek() == ']') {
      advance();
      return result;
    }
    for (;;) {
      skip_space();
      if (peek() == ']') unexpected("a value after the comma");
      path_.push_back(std::to_string(result.size()));
      result.push_back(value(depth + 1));
      path_.pop_back();
      skip_space();
      if (peek() == ']') break;
      if (peek() != ',') unexpected("',' or ']'");
      advance();
    }
    advance();
    return result;
  }

  std::string string() {
    const Place start = place();
    advance();
    std::string result;
    while (peek() != '"') {
      if (at_end() || peek() == '\n') fail(start, "string is not closed, expected '\"'");
      if (peek() == '\\') {
        escape(start, result);
        continue;
      }
      const std::size_t length = utf8_length(text_, at_);
      if (length == 0) unexpected("UTF-8 text");
      if (static_cast<unsigned char>(peek()) < 0x20) {
        unexpected("an escape such as \\t or \\u0000 inside a string");
      }
      result.append(text_.substr(at_, length));
      advance(length);
    }
    advance();
    return result;
  }

  void escape(Place string_start, std::string& result) {
    static constexpr std::string_view kFrom = "\"\\/bfnrt";
    static constexpr std::string_view kTo = "\"\\/\b\f\n\r\t";
    const Place start = place();
    advance();
    if (at_end()) fail(string_start, "string is not closed, expected '\"'");
    if (const auto found = kFrom.find(peek()); found != std::string_view::npos) {
      result.push_back(kTo[found]);
      advance();
      return;
    }
    if (peek() != 'u')
      fail(start, "unknown escape, expected one of \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u");
    std::uint32_t code = code_unit(start);
    if (code >= 0xD800 && code < 0xDC00 && peek() == '\\' && peek(1) == 'u') {
      advance();
      const std::uint32_t low = code_unit(start);
      const bool pair = low >= 0xDC00 && low < 0xE000;
      code = pair ? 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00) : 0xD800;
    }
    if (code >= 0xD800 && code < 0xE000) fail(start, "half of a surrogate pair, expected both");
    append_utf8(result, code);
  }

  std::uint32_t code_unit(Place start) {
    advance();
    std::uint32_t code = 0;
    const std::string_view digits = text_.substr(at_, 4);
    const auto [end, status] =
        std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    if (digits.size() < 4 || status != std::errc() || end != digits.data() + 4) {
      fail(start, "bad escape, expected \\u and four hexadecimal digits");
    }
    advance(4);
    return code;
  }

  void digits() {
    if (!is_digit(peek())) unexpected("a digit");
    while (is_digit(peek())) advance();
  }

  Value number() {
    const Place start = place();
    const std::size_t begin = at_;
    bool integer = true;
    if (peek() == '-') advance();
    if (peek() == '0' && is_digit(peek(1)))
      fail(start, "number starts with 0, expected no leading zero");
    digits();
    if (peek() == '.') {
      integer = false;
      advance();
      digits();
    }
    if (peek() == 'e' || peek() == 'E') {
      integer = false;
      advance();
      if (peek() == '+' || peek() == '-') advance();
      digits();
    }
    const std::string_view token = text_.substr(begin, at_ - begin);
    if (integer) {
      if (const auto result = converted<std::int64_t>(token)) return Value(*result);
      fail(start, fmt::format("integer out of range: {}, expected at most 64 bits", shown(token)));
    }
    if (const auto result = converted<double>(token)) return Value(*result);
    fail(start, fmt::format("number out of range: {}, expected a double", shown(token)));
  }

  static std::string_view shown(std::string_view token) { return token.substr(0, 40); }

  template <class T>
  static std::optional<T> converted(std::string_view token) {
    T result{};
    const auto status = std::from_chars(token.data(), token.data() + token.size(), result).ec;
    return status == std::errc() ? std::optional<T>(result) : std::nullopt;
  }

  std::string_view text_;
  const std::string& file_;
  Limits limits_;
  std::size_t at_ = 0;
  int line_;
  int column_ = 1;
  std::vector<std::string> path_;
};

}  // namespace

Value parse(std::string_view text, const std::string& file_name, const Limits& limits,
            int first_line) {
  FOVEA_CHECK(text.size() <= limits.bytes, ConfigError,
              fmt::format("{}: too long: {} bytes, expected at most {}", file_name, text.size(),
                          limits.bytes));
  return Parser(text, file_name, limits, first_line).document();
}

}  // namespace fovea::schema
