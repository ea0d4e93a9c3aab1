#include "training/messages.h"

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace fovea::training {
namespace {

using parallel::Reader;
using parallel::Writer;

template <class T>
void put_list(Writer& to, const std::vector<T>& list) {
  to.put(static_cast<std::uint64_t>(list.size()));
  for (const T value : list) to.put(value);
}

// Reads as many as were put.
template <class Read>
void get_each(Reader& from, const Read& read) {
  for (auto left = from.get<std::uint64_t>(); left > 0; --left) read();
}

template <class T>
std::vector<T> get_list(Reader& from) {
  std::vector<T> list;
  get_each(from, [&] { list.push_back(from.get<T>()); });
  return list;
}

// With where it lies: on the host or not.
void put_placed(Writer& to, const Tensor& x) {
  to.put(!x.defined() || x.device().is_host());
  put_tensor(to, x);
}

struct Places {
  const Device &host, &device;
  Tensor get(Reader& from) const {
    const bool here = from.get<bool>();
    return get_tensor(from, here ? host : device);
  }
};

void put_placed(Writer& to, const std::vector<Tensor>& list) {
  to.put(static_cast<std::uint64_t>(list.size()));
  for (const Tensor& x : list) put_placed(to, x);
}

std::vector<Tensor> get_placed(Reader& from, const Places& places) {
  std::vector<Tensor> list;
  get_each(from, [&] { list.push_back(places.get(from)); });
  return list;
}

}  // namespace

void put_tensor(Writer& to, const Tensor& x) {
  to.put(x.defined());
  if (!x.defined()) return;
  to.put(static_cast<std::uint8_t>(x.dtype()));
  put_list(to, x.shape().to_vector());
  std::string bytes(static_cast<std::size_t>(x.bytes()), '\0');
  x.download(bytes.data());
  to.put(bytes);
}

Tensor get_tensor(Reader& from, const Device& device) {
  if (!from.get<bool>()) return {};
  const auto dtype = static_cast<DType>(from.get<std::uint8_t>());
  const Shape shape(get_list<std::int64_t>(from));
  const std::string_view bytes = from.get_text();
  const Tensor x = Tensor::empty(shape, dtype, device);
  FOVEA_CHECK(static_cast<std::size_t>(x.bytes()) == bytes.size(), Error,
              "a tensor of another rank has too few values");
  x.upload(bytes.data());
  return x;
}

std::string evaluated_bytes(const data::Batch& batch, const models::Outputs& outputs,
                            const std::string& left_out) {
  Writer to;
  to.put(batch.number);
  put_list(to, batch.indices);
  to.put(static_cast<std::uint64_t>(std::distance(batch.begin(), batch.end())));
  for (const auto& [name, tensor] : batch) {
    to.put(name);
    put_placed(to, name == left_out ? Tensor() : tensor);
  }
  to.put(static_cast<std::uint64_t>(batch.lengths.size()));
  for (const auto& [name, lengths] : batch.lengths) {
    to.put(name);
    put_list(to, lengths);
  }
  to.put(static_cast<std::uint64_t>(batch.lists.size()));
  for (const auto& [name, list] : batch.lists) {
    to.put(name);
    put_placed(to, name == left_out ? std::vector<Tensor>() : list);
  }
  to.put(static_cast<std::uint64_t>(batch.geometry.size()));
  for (const data::Geometry& one : batch.geometry) {
    put_list(to, one.original_size);
    put_list(to, one.spacing);
    put_list(to, one.offset);
  }
  put_placed(to, outputs.logits);
  put_placed(to, outputs.embedding);
  put_placed(to, outputs.maps);
  put_placed(to, outputs.features);
  put_list(to, outputs.frames);
  return to.bytes();
}

std::pair<data::Batch, models::Outputs> evaluated_from(const std::string& bytes, const Device& host,
                                                       const Device& device) {
  Reader from(bytes);
  const Places places{host, device};
  data::Batch batch;
  batch.number = from.get<std::int64_t>();
  batch.indices = get_list<std::int64_t>(from);
  get_each(from, [&] {
    const std::string name(from.get_text());
    if (const Tensor tensor = places.get(from); tensor.defined()) batch.set(name, tensor);
  });
  get_each(from, [&] {
    const std::string name(from.get_text());
    batch.lengths[name] = get_list<std::int64_t>(from);
  });
  get_each(from, [&] {
    const std::string name(from.get_text());
    batch.lists[name] = get_placed(from, places);
  });
  get_each(from, [&] {
    data::Geometry& one = batch.geometry.emplace_back();
    one.original_size = get_list<std::int64_t>(from);
    one.spacing = get_list<double>(from);
    one.offset = get_list<std::int64_t>(from);
  });
  models::Outputs outputs;
  outputs.logits = places.get(from);
  outputs.embedding = places.get(from);
  outputs.maps = get_placed(from, places);
  outputs.features = get_placed(from, places);
  outputs.frames = get_list<std::int64_t>(from);
  return {std::move(batch), std::move(outputs)};
}

}  // namespace fovea::training
