// A libFuzzer program over one reader, named by FOVEA_FUZZ_READER; tools/fuzz builds and runs it.
#include <cstdio>
#include <cstdlib>

#include "base/error.h"
#include "tests/fuzz/readers.h"

namespace {

const fovea::test::Reader& chosen() {
  const char* name = std::getenv("FOVEA_FUZZ_READER");
  for (const auto& reader : fovea::test::readers()) {
    if (name != nullptr && reader.name == name) return reader;
  }
  std::fputs("fuzzer: FOVEA_FUZZ_READER must name a reader:", stderr);
  for (const auto& reader : fovea::test::readers())
    std::fprintf(stderr, " %s", reader.name.c_str());
  std::fputs("\n", stderr);
  std::exit(2);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fovea::test::Reader& reader = chosen();
  try {
    reader.read({reinterpret_cast<const char*>(data), size});
  } catch (const fovea::Error&) {
  }
  return 0;
}
