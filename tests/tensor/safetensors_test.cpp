#include "tensor/safetensors.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "base/file.h"
#include "tensor/random.h"

using namespace fovea;

namespace {

// Reading and writing need memory, no kernels.
Device host() { return Device(DeviceType::kCpu, heap_memory(), nullptr); }

std::string file_of(const std::string& header, const std::string& data = "") {
  const std::uint64_t length = header.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + data;
}

std::string entry(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}";
}

std::string one(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return "{\"a\":" + entry(dtype, shape, offsets) + "}";
}

TensorFile sample(const Device& device) {
  TensorFile file;
  file.metadata = {{"format", "pt"}, {"note", "a \"quoted\" line\n"}};
  file.tensors["w"] = Tensor::from(std::vector<float>{1, -2, 3, 4, 5, 6}, {2, 3}, device);
  file.tensors["d"] = Tensor::from(std::vector<double>{0.1, 0.2}, {2}, device);
  file.tensors["h"] = Tensor::from(std::vector<BFloat16>{BFloat16(1.5f)}, {1}, device);
  file.tensors["i"] = Tensor::from(std::vector<std::int64_t>{-7}, {}, device);
  file.tensors["j"] = Tensor::from(std::vector<std::int32_t>{1, 2, 3}, {3, 1}, device);
  file.tensors["mask"] = Tensor::from(std::vector<std::uint8_t>{0, 1, 1}, {3}, device);
  file.tensors["none"] = Tensor::from(std::vector<float>{}, {0, 4}, device);
  return file;
}

struct Bad {
  std::string bytes;
  std::string message;
};

const std::string k4(4, '\1');

std::vector<Bad> bad_files() {
  const std::string then_b = ",\"b\":";
  return {
      {"", "holds 0 bytes"},
      {"1234567", "holds 7 bytes"},
      {std::string(8, '\0'), "does not start with {"},
      {std::string(8, '\xff'), "at most 100000000"},
      {std::string("\x01\xe1\xf5\x05\0\0\0\0", 8), "would take 100000001 bytes"},
      {file_of("{}").substr(0, 9), "promises a header of 2 bytes, 1 bytes follow"},
      {file_of(" {}"), "does not start with {"},
      {file_of("[]"), "does not start with {"},
      {file_of("{"), "not valid JSON"},
      {file_of("{}{}"), "not valid JSON"},
      {file_of("{}x"), "not valid JSON"},
      {file_of("{\"a\"}"), "not valid JSON"},
      {file_of("{\"\xff\":{}}"), "not valid JSON"},
      {file_of("{\"a\":1}"), "\"a\" is the number 1, expected an object"},
      {file_of("{\"a\":[]}"), "\"a\" is an array"},
      {file_of("{\"a\":null}"), "\"a\" is null"},
      {file_of("{\"a\":{}}"), "\"a\" has no \"dtype\""},
      {file_of(R"({"a":{"dtype":"F32","shape":[1]}})", k4), "has no \"data_offsets\""},
      {file_of(R"({"a":{"dtype":"F32","data_offsets":[0,4]}})", k4), "has no \"shape\""},
      {file_of(one("F33", "[1]", "[0,4]"), k4), "dtype \"F33\", expected one of F64"},
      {file_of(R"({"a":{"dtype":4,"shape":[1],"data_offsets":[0,4]}})", k4), "expected a string"},
      {file_of(one("F32", "1", "[0,4]"), k4), "expected an array of integers"},
      {file_of(one("F32", "\"1\"", "[0,4]"), k4), "expected an array of integers"},
      {file_of(one("F32", "{\"x\":1}", "[0,4]"), k4), "is an object"},
      {file_of(one("F32", "[[1]]", "[0,4]"), k4), "contains an array"},
      {file_of(one("F32", "[-1]", "[0,4]"), k4), "the negative number -1"},
      {file_of(one("F32", "[1.0]", "[0,4]"), k4), "contains the number 1.0"},
      {file_of(one("F32", "[true]", "[0,4]"), k4), "contains a boolean"},
      {file_of(one("F32", "[18446744073709551615]", "[0,4]"), k4), "too large"},
      {file_of(one("F32", "[18446744073709551616]", "[0,4]"), k4), "contains the number"},
      {file_of(one("F32", "[4294967296,4294967296]", "[0,4]"), k4), "too many elements"},
      {file_of(one("F32", "[1,1,1,1,1,1,1,1,1]", "[0,4]"), k4), "more than 8 numbers"},
      {file_of(one("F32", "[2]", "[0,4]"), k4), "takes 8 bytes, but its data_offsets hold 4"},
      {file_of(one("F32", "[1]", "[0]"), k4), "has 1 numbers, expected 2"},
      {file_of(one("F32", "[1]", "[0,4,8]"), k4), "more than 2 numbers"},
      {file_of(one("F32", "[1]", "[4,0]"), k4), "before it begins"},
      {file_of(one("F32", "[1]", "[-4,0]"), k4), "the negative number -4"},
      {file_of(one("F32", "[1]", "[4,8]"), k4 + k4), "begins at byte 4, expected 0"},
      {file_of(one("F32", "[1]", "[0,4]"), "123"), "promises 4 bytes of data, file holds 3"},
      {file_of(one("F32", "[1]", "[0,4]"), k4 + "x"), "1 bytes follow the last tensor"},
      {file_of("{}", "x"), "1 bytes follow the last tensor"},
      {file_of(R"({"a":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}})", k4),
       "\"dtype\" of \"a\" is given twice"},
      {file_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"x":1}})", k4),
       "unknown key \"x\""},
      {file_of("{\"a\":" + entry("F32", "[1]", "[0,4]") + ",\"a\":" + entry("F32", "[1]", "[4,8]") +
                   "}",
               k4 + k4),
       "\"a\" is given twice"},
      {file_of(
           "{\"a\":" + entry("F32", "[1]", "[0,4]") + then_b + entry("F32", "[1]", "[0,4]") + "}",
           k4),
       "neither overlap nor leave gaps"},
      {file_of(
           "{\"a\":" + entry("F32", "[1]", "[0,4]") + then_b + entry("U8", "[1]", "[5,6]") + "}",
           k4 + "12"),
       "neither overlap nor leave gaps"},
      {file_of(
           "{\"a\":" + entry("F32", "[2]", "[0,8]") + then_b + entry("F32", "[1]", "[4,8]") + "}",
           k4 + k4),
       "neither overlap nor leave gaps"},
      {file_of(R"({"__metadata__":{"x":1}})"), "__metadata__ \"x\" is the number 1"},
      {file_of(R"({"__metadata__":{"x":"1","x":"2"}})"),
       "\"x\" of \"__metadata__\" is given twice"},
      {file_of(R"({"__metadata__":[]})"), "is an array, expected an object"},
      {file_of(R"({"__metadata__":{"x":{}}})"), "is an object, expected a string"},
  };
}

}  // namespace

TEST_CASE("safetensors: what is written is read back, and equal tensors give equal bytes",
          "[tensor]") {
  const Device device = host();
  const std::string bytes = serialise_safetensors(sample(device));
  CHECK(bytes == serialise_safetensors(sample(device)));
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  CHECK(length % 8 == 0);

  const TensorFile read = parse_safetensors(bytes, "sample", device);
  const TensorFile expected = sample(device);
  CHECK(read.metadata == expected.metadata);
  REQUIRE(read.tensors.size() == expected.tensors.size());
  for (const auto& [name, tensor] : expected.tensors) {
    INFO(name);
    const Tensor& other = read.tensors.at(name);
    CHECK(other.shape() == tensor.shape());
    CHECK(other.dtype() == tensor.dtype());
    CHECK(std::memcmp(other.host_memory(), tensor.host_memory(),
                      static_cast<std::size_t>(tensor.bytes())) == 0);
  }
  CHECK(serialise_safetensors(read) == bytes);
}

TEST_CASE("safetensors: entries are ordered by element size, then by name", "[tensor]") {
  const std::string bytes = serialise_safetensors(sample(host()));
  std::size_t last = 0;
  for (const char* name : {"d", "i", "j", "none", "w", "h", "mask"}) {
    const std::size_t at = bytes.find("\"" + std::string(name) + "\":{");
    INFO(name);
    REQUIRE(at != std::string::npos);
    CHECK(at > last);
    last = at;
  }
}

TEST_CASE("safetensors: narrow types are widened", "[tensor]") {
  const Device device = host();
  const auto read = [&](const std::string& dtype, const std::string& data) {
    const auto count = std::to_string(data.size() / (dtype.ends_with("8") || dtype == "BOOL" ? 1
                                                     : dtype.ends_with("16")                 ? 2
                                                                                             : 4));
    return parse_safetensors(
               file_of(one(dtype, "[" + count + "]", "[0," + std::to_string(data.size()) + "]"),
                       data),
               dtype, device)
        .tensors.at("a");
  };
  CHECK(read("I8", "\xff\x05").values<std::int32_t>()[0] == -1);
  CHECK(read("BOOL", std::string("\0\1", 2)).values<std::uint8_t>()[1] == 1);
  CHECK(read("I16", "\xfe\xff").values<std::int32_t>()[0] == -2);
  CHECK(read("U16", "\xfe\xff").values<std::int32_t>()[0] == 65534);
  CHECK(read("U32", "\xff\xff\xff\xff").values<std::int64_t>()[0] == 4294967295);
  // 1, -2, largest 65504, smallest subnormal, -0, infinity, nan
  const Tensor halves =
      read("F16", std::string("\x00\x3c\x00\xc0\xff\x7b\x01\x00\x00\x80\x00\x7c\x00\x7e", 14));
  const auto half = halves.values<float>();
  CHECK(half[0] == 1.0f);
  CHECK(half[1] == -2.0f);
  CHECK(half[2] == 65504.0f);
  CHECK(half[3] == 0x1p-24f);
  CHECK((half[4] == 0.0f && std::signbit(half[4])));
  CHECK(half[5] == std::numeric_limits<float>::infinity());
  CHECK(std::isnan(half[6]));
}

TEST_CASE("safetensors: every kind of damage has its sentence", "[tensor]") {
  const Device device = host();
  const std::vector<Bad> files = bad_files();
  CHECK(files.size() >= 40);
  for (const Bad& bad : files) {
    INFO(bad.bytes.substr(std::min<std::size_t>(8, bad.bytes.size())));
    CHECK_THROWS_AS(parse_safetensors(bad.bytes, "x.safetensors", device), FileError);
    CHECK_THROWS_WITH(parse_safetensors(bad.bytes, "x.safetensors", device),
                      Catch::StartsWith("x.safetensors: ") && Catch::Contains(bad.message));
  }
}

TEST_CASE("safetensors: a file cut at any length is refused", "[tensor]") {
  const Device device = host();
  const std::string bytes = serialise_safetensors(sample(device));
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    INFO(length);
    CHECK_THROWS_AS(parse_safetensors(std::string_view(bytes).substr(0, length), "cut", device),
                    FileError);
  }
}

TEST_CASE("safetensors: flipped bits in the header never do more than throw FileError",
          "[tensor]") {
  const Device device = host();
  const std::string good = serialise_safetensors(sample(device));
  std::uint64_t length = 0;
  std::memcpy(&length, good.data(), 8);
  for (std::size_t bit = 0; bit < (8 + length) * 8; ++bit) {
    std::string bytes = good;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    try {
      parse_safetensors(bytes, "flipped", device);
    } catch (const FileError&) {
    }
  }
}

TEST_CASE("safetensors: names that cannot be stored are refused, files are written atomically",
          "[tensor]") {
  const Device device = host();
  const auto folder = io::fs::temp_directory_path() / "fovea_safetensors_test";
  io::fs::remove_all(folder);
  io::make_directories(folder);
  const auto path = folder / "model.safetensors";
  write_safetensors(path, sample(device));
  CHECK(read_safetensors(path, device).tensors.size() == sample(device).tensors.size());

  TensorFile wrong;
  wrong.tensors["\xff"] = Tensor::scalar(1.0f, device);
  CHECK_THROWS_WITH(write_safetensors(path, wrong), Catch::Contains("UTF-8"));
  wrong.tensors.clear();
  wrong.tensors["__metadata__"] = Tensor::scalar(1.0f, device);
  CHECK_THROWS_WITH(write_safetensors(path, wrong), Catch::Contains("__metadata__"));
  io::set_fault_hook([](std::string_view call) { return call == "fsync" ? EIO : 0; });
  CHECK_THROWS_AS(write_safetensors(path, TensorFile{}), FileError);
  io::set_fault_hook({});
  CHECK(read_safetensors(path, device).tensors.size() == sample(device).tensors.size());
  CHECK_THROWS_WITH(read_safetensors(folder / "none", device), Catch::Contains("not found"));
  io::fs::remove_all(folder);
}

TEST_CASE("safetensors: files of other programs are called what they are", "[tensor]") {
  const Device cpu = host();
  const auto refusal = [&](const std::string& bytes) -> std::string {
    try {
      parse_safetensors(bytes, "nets/a.pth", cpu);
    } catch (const FileError& error) {
      return error.what();
    }
    return {};
  };
  const std::string more(600, '\x01');
  // What torch.save writes, today and before 1.6, with a line of Python that converts it.
  const std::string zip = refusal("PK\x03\x04" + more.substr(0, 26) + "archive/data.pkl" + more);
  CHECK_THAT(zip, Catch::StartsWith("nets/a.pth: not a safetensors file but a zip archive of "
                                    "PyTorch (torch.save); convert it with Python: import "
                                    "torch, safetensors.torch; state = "));
  CHECK(std::count(zip.begin(), zip.end(), '\n') == 0);
  CHECK_THAT(zip, Catch::Contains("torch.load(\"nets/a.pth\"") &&
                      Catch::EndsWith("\"nets/a.safetensors\")"));
  try {
    parse_safetensors("PK\x03\x04" + more + "data.pkl", "a \"b\".safetensors", cpu);
    FAIL("a zip archive was read");
  } catch (const FileError& error) {  // the file is not to be written over
    CHECK_THAT(error.what(), Catch::Contains("torch.load(\"a \\\"b\\\".safetensors\"") &&
                                 Catch::EndsWith("\"a \\\"b\\\"_converted.safetensors\")"));
  }
  CHECK_THAT(refusal("\x80\x02\x8a\x0a" + more), Catch::Contains("a pickle of Python"));
  CHECK_THAT(refusal("PK\x03\x04" + more.substr(0, 26) + "weight.npy" + more),
             Catch::Contains("a zip archive of NumPy"));
  CHECK_THAT(refusal("\x89HDF\r\n\x1a\n" + more), Catch::Contains("an HDF5 file"));
  CHECK_THAT(refusal(more), Catch::Contains("the header would take"));
}
