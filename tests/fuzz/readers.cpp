#include "tests/fuzz/readers.h"

#include "backend/devices.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "data/boxes/box_dataset.h"
#include "data/described/sample_infos.h"
#include "data/described/weight_files.h"
#include "data/files/coco_json.h"
#include "data/files/csv.h"
#include "data/files/hdf5/hdf5.h"
#include "data/files/nifti.h"
#include "data/files/numpy.h"
#include "data/files/packed_file.h"
#include "data/files/pictures/image_file.h"
#include "data/files/pictures/image_pages.h"
#include "data/files/sound_file.h"
#include "data/files/text_decode.h"
#include "data/files/voc_xml.h"
#include "data/images/image_dataset.h"
#include "data/questions/question_set.h"
#include "data/registry.h"
#include "data/streams/byte_pairs.h"
#include "data/streams/sentence_pieces.h"
#include "data/texts/text_dataset.h"
#include "data/texts/vocabulary.h"
#include "data/volumes/volume_cache.h"
#include "experiment/file/experiment.h"
#include "experiment/run/exported.h"
#include "schema/json/parse.h"
#include "tensor/safetensors.h"
#include "tests/support/run_cli.h"
#include "training/store/model_file.h"

namespace fovea::test {
namespace {

std::span<const std::byte> as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

// What is written must be read back as it was.
void same(bool equal, const char* what) {
  if (!equal) throw std::logic_error(what);
}

void safetensors(std::string_view bytes) {
  static const Device host = make_cpu(1);
  const TensorFile file = parse_safetensors(bytes, "file", host);
  const std::string written = serialise_safetensors(file);
  same(serialise_safetensors(parse_safetensors(written, "file", host)) == written,
       "tensors change on the way");
}

void json(std::string_view bytes) {
  const schema::Value value = schema::parse(bytes, "file");
  same(schema::parse(value.dump(), "file").dump() == value.dump(), "JSON changes on the way");
}

void experiment_file(std::string_view bytes) {
  schema::Value value = schema::parse(bytes, "file");
  value = experiment::resolve(value);
  same(experiment::resolve(value) == value, "a resolved experiment is resolved to another");
}

void image(std::string_view bytes) {
  for (const std::int64_t channels : {0, 1, 3}) {
    const data::Image image = data::decode_image(as_bytes(bytes), "file", channels);
    same(image.height > 0 && image.width > 0, "an image without pixels");
    data::resize(image, 5, 3);
  }
}

void tiff_pages(std::string_view bytes) {
  const std::vector<data::Image> pages = data::decode_image_pages(as_bytes(bytes), "file", 2);
  same(pages.size() == 2 && pages[0].height == pages[1].height && pages[0].channels == 1,
       "pages are missing or differ");
}

void nifti(std::string_view bytes) {
  const data::Volume volume = data::decode_nifti(as_bytes(bytes), "file");
  same(static_cast<std::int64_t>(volume.values.size()) == volume.voxels() * volume.channels,
       "voxels are missing");
}

void hdf5(std::string_view bytes) {
  const data::Volume volume = data::decode_hdf5_volume(as_bytes(bytes), "file", "image");
  same(static_cast<std::int64_t>(volume.values.size()) == volume.voxels(), "voxels are missing");
}

void npz(std::string_view bytes) {
  for (const auto& [name, array] : data::decode_npz(as_bytes(bytes), {"image", "label"}, "file")) {
    std::int64_t values = 1;
    for (const std::int64_t size : array.shape) values *= size;
    same(std::ssize(array.values) == values, "values are missing");
  }
}

void csv(std::string_view bytes) {
  data::parse_csv(bytes, ',', true, "file");
  data::parse_csv(bytes, '\t', false, "file");
}

void voc(std::string_view bytes) {
  for (const data::VocObject& object : data::parse_voc(bytes, "file").objects)
    same(!object.name.empty(), "an object without a class");
}

void coco(std::string_view bytes) {
  const data::CocoFile file = data::parse_coco(bytes, "file", true);
  same(data::parse_coco(bytes, "file", false).annotations.size() == file.annotations.size(),
       "objects are missing");
  for (const data::CocoAnnotation& annotation : file.annotations) {
    const data::CocoImage& image = file.images.at(static_cast<std::size_t>(annotation.image));
    if (image.height * image.width > std::int64_t{1} << 20) continue;  // (slow)
    try {
      const MaskRuns mask = file.mask_of(annotation, "file");
      same(mask.height == image.height && mask.width == image.width, "a mask of another size");
    } catch (const FileError&) {
      if (file.annotations.size() == 1) throw;
    }
  }
}

void gzip(std::string_view bytes) { data::inflate(as_bytes(bytes), std::size_t{1} << 20, "file"); }

void vocabulary(std::string_view bytes) {
  const auto words = data::Vocabulary::parse(bytes, "file");
  same(data::Vocabulary::parse(words.to_text(), "file") == words, "words change on the way");
}

void text(std::string_view bytes) {
  using data::TextEncoding;
  for (const auto encoding :
       {TextEncoding::kAuto, TextEncoding::kUtf8, TextEncoding::kLatin1, TextEncoding::kUtf16}) {
    // (A byte order mark in front would be left out.)
    const std::string utf8 = "x" + data::to_utf8(bytes, encoding);
    same(data::to_utf8(utf8, TextEncoding::kUtf8) == utf8, "text is not UTF-8");
  }
}

void prepared_volume(std::string_view bytes) {
  const data::PreparedVolume volume = data::unpack_volume(bytes, "file", 3);
  same(std::ssize(volume.values) ==
           volume.channels * volume.size[0] * volume.size[1] * volume.size[2],
       "voxels are missing");
  const std::string packed = data::pack_volume(volume);
  same(data::pack_volume(data::unpack_volume(packed, "file", 3)) == packed,
       "a volume changes on the way");
}

void volume_plan(std::string_view bytes) {
  const data::VolumePlan plan = data::unpack_plan(bytes, "file");
  same(data::unpack_plan(data::pack_plan(plan), "file").text() == plan.text(),
       "a plan changes on the way");
}

// GPT-2's files: a vocabulary with two merges, and merges with the bytes and three tokens.
void gpt2_vocab(std::string_view bytes) {
  static const TestFolder folder("fuzz-gpt2-vocab");
  static const std::string merges = folder.write("merges.txt", "#version: 0.2\na b\nab c\n");
  const auto tokeniser =
      data::load_gpt2_tokeniser(folder.write("vocab.json", std::string(bytes)), merges);
  same(tokeniser->decode(tokeniser->encode("abc cab")) == "abc cab", "text changes on the way");
}

void gpt2_merges(std::string_view bytes) {
  static const TestFolder folder("fuzz-gpt2-merges");
  static const std::string vocab = [] {
    const schema::Value known = data::train_byte_pairs("abcd abcd abc abc", 259, 1)->to_value();
    schema::Value ids = schema::Value::object();
    for (std::size_t id = 0; id < known.at("vocab").size(); ++id)
      ids.set(known.at("vocab").at(id).as_string(), id);
    return folder.write("vocab.json", ids.dump());
  }();
  const auto tokeniser =
      data::load_gpt2_tokeniser(vocab, folder.write("merges.txt", std::string(bytes)));
  same(tokeniser->decode(tokeniser->encode("abcd cab")) == "abcd cab", "text changes on the way");
}

void tokeniser(std::string_view bytes) {
  const auto read = data::parse_stream_tokeniser(bytes, "file");
  const auto again = data::parse_stream_tokeniser(read->to_text(), "file");
  same(again->encode("a cat") == read->encode("a cat"), "a tokeniser changes on the way");
}

void sentencepiece(std::string_view bytes) {
  const auto model = data::sentence_piece_tokeniser(std::string(bytes), "file");
  for (const std::int32_t id :
       model->encode("A caf\xc3\xa9 \xef\xbc\xa1\n\n two  blanks\xff\xe4\xb8\xad"))
    same(id >= 0 && id < model->size(), "an id outside the vocabulary");
  for (std::int64_t id = 0; id < model->size(); ++id) model->piece(id);
}

void sound(std::string_view bytes) {
  static const TestFolder folder("fuzz-sound");
  const std::string file = folder.write("sound.wav", std::string(bytes));
  const data::SoundInfo info = data::sound_info(file);
  if (info.samples > std::int64_t{1} << 22) return;  // (slow)
  same(std::ssize(data::read_sound(file).samples) == info.samples, "samples are missing");
}

// A file of questions; the labels of piqa are those of two.
template <const char* kSet>
void questions(std::string_view bytes) {
  static const TestFolder folder(std::string("fuzz-") + kSet);
  schema::Value options = schema::Value::object({{"type", kSet}});
  options.set("file", folder.write("file.jsonl", std::string(bytes)));
  if (std::string_view(kSet) == "piqa") options.set("labels", folder.write("labels.lst", "1\n0\n"));
  for (const data::Question& question : data::question_sets().find(kSet).read({kSet, options}, ""))
    same(question.right < question.choices.size(), "no choice is right");
}

constexpr char kLambada[] = "lambada", kPiqa[] = "piqa", kHellaswag[] = "hellaswag",
               kWinogrande[] = "winogrande";

// The training images of MNIST; the labels beside them are those of two images.
void idx(std::string_view bytes) {
  static const TestFolder folder("fuzz-idx");
  const auto write = [&](const char* name, std::string_view content) {
    io::File(folder.path(name), io::File::Mode::kCreate).write(content);
  };
  write("train-images-idx3-ubyte", bytes);
  write("train-labels-idx1-ubyte", std::string_view("\0\0\x08\x01\0\0\0\x02\x03\x07", 10));
  schema::Value options = schema::Value::object({{"type", "mnist"}});
  options.set("root", folder.path().string());
  const auto images = data::make_dataset({"mnist", options}, data::Split::kTrain);
  images->get(images->size() - 1);
}

// data.json beside weights, read by each kind of data set that knows it.
void data_description(std::string_view bytes) {
  const auto beside = std::make_shared<const data::WeightFiles>(
      data::WeightFiles{{{data::kDescriptionFile, std::string(bytes)},
                         {data::kVocabularyFile, "<pad>\n<unk>\nfilm\n"}},
                        ""});
  const schema::Value description = beside->description();
  if (!description.is_object() || description.size() == 0) throw FileError("describes nothing");
  const std::string& kind = description.members().front().key;
  const char* set = kind == "images"    ? "image_folder"
                    : kind == "boxes"   ? "coco"
                    : kind == "volumes" ? "nnunet"
                                        : "text_folder";
  schema::Value options = schema::Value::object({{"type", set}});
  options.set("root", "/nowhere");
  if (kind == "volumes") {  // their plan is a file of its own
    data::volume_info(description);
    return;
  }
  const auto known =
      data::make_splits({set, options}, {.parts = data::OpenParts::kNone, .weights = beside})
          .described;
  const auto again = data::WeightFiles{
      {{data::kDescriptionFile, data::description_text(known->description())}}, ""};
  same(again.description() == known->description(), "a description changes on the way");
  const data::SampleShape shape = known->shape();
  if (!known->has("image") || shape.height * shape.width > std::int64_t{1} << 16) return;  // (slow)
  static const TestFolder folder("fuzz-description");
  static const std::string picture = [] {
    const auto file = folder.path("own.png");
    data::write_png(file, {6, 5, 3, std::vector<std::uint8_t>(6 * 5 * 3, 77)});
    return file.string();
  }();
  if (const data::BoxDataset* boxes = data::find_boxes(*known)) {
    boxes->get_file(picture);
  } else {
    data::images_of(*known).get_file(picture);
  }
}

// The hash is put right where the bytes have one, or nothing behind it would ever be reached.
void model_file(std::string_view bytes) {
  static const Device host = make_cpu(1);
  static const std::string key = R"("hash":")";
  std::string file(bytes);
  const std::size_t at = file.find(key);
  if (at != std::string::npos && at + key.size() + 16 <= file.size()) {
    file.replace(at + key.size(), 16, 16, '0');
    file.replace(at + key.size(), 16, hash_bytes(file));
  }
  const training::ModelFile model = training::parse_model_file(file, "file", host);
  experiment::described(model);
}

}  // namespace

const std::vector<Reader>& readers() {
  static const std::vector<Reader> all = [] {
    std::vector<Reader> some = {{"safetensors", safetensors},
                                {"json", json},
                                {"experiment", experiment_file},
                                {"image", image},
                                {"tiff_pages", tiff_pages},
                                {"nifti", nifti},
                                {"prepared_volume", prepared_volume},
                                {"volume_plan", volume_plan},
                                {"hdf5", hdf5},
                                {"npz", npz},
                                {"csv", csv},
                                {"voc", voc},
                                {"coco", coco},
                                {"gzip", gzip},
                                {"vocabulary", vocabulary},
                                {"text", text},
                                {"idx", idx},
                                {"gpt2_vocab", gpt2_vocab},
                                {"gpt2_merges", gpt2_merges},
                                {"tokeniser", tokeniser},
                                {"data_description", data_description},
                                {"model_file", model_file},
                                {kLambada, questions<kLambada>},
                                {kPiqa, questions<kPiqa>},
                                {kHellaswag, questions<kHellaswag>},
                                {kWinogrande, questions<kWinogrande>}};
    // What optional libraries read.
    if (data::has_sentencepiece()) some.push_back({"sentencepiece", sentencepiece});
    if (!data::sndfile_version().empty()) some.push_back({"sound", sound});
    return some;
  }();
  return all;
}

}  // namespace fovea::test
