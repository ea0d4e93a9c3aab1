#include "base/base64.h"

#include <catch2/catch.hpp>

using namespace fovea;

TEST_CASE("base64: the vectors of RFC 4648", "[base]") {
  const std::pair<const char*, const char*> pairs[] = {{"", ""},
                                                       {"f", "Zg=="},
                                                       {"fo", "Zm8="},
                                                       {"foo", "Zm9v"},
                                                       {"foob", "Zm9vYg=="},
                                                       {"fooba", "Zm9vYmE="},
                                                       {"foobar", "Zm9vYmFy"},
                                                       {"\xff\xff\xfe", "///+"}};
  for (const auto& [bytes, text] : pairs) {
    CHECK(to_base64(bytes) == text);
    CHECK(from_base64(text) == std::string(bytes));
  }
}

TEST_CASE("base64: any bytes come back, other texts do not", "[base]") {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  CHECK(from_base64(to_base64(all)) == all);
  for (const char* text : {"Zg=", "Zg", "Z===", "====", "Zh==", "Zm9v\n", "Zm=v", "Zm9-"})
    CHECK_FALSE(from_base64(text));
}
