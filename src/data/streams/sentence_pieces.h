// The models of SentencePiece as tokenisers of streams: byte pairs or a unigram model, with the
// normalisation of the text. Kudo & Richardson, "SentencePiece: A simple and language independent
// subword tokenizer", 2018. The library is optional: a program that is built without it refuses
// every model.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "data/streams/stream_tokeniser.h"

namespace fovea::data {

/// Whether the program is built with the library.
bool has_sentencepiece();

/// `model`: the bytes of a .model file. Ids are those that the library gives for the whole text:
/// control symbols (<s>, </s>, <pad>) are never made of a text, and stand for no bytes. Texts are
/// encoded line by line, and lines above 4 KiB in parts, cut only at white space around which this
/// gives the same pieces; memory and rounding errors thus do not grow with the text. Throws
/// FileError, which starts with `name`.
std::shared_ptr<const StreamTokeniser> sentence_piece_tokeniser(std::string model,
                                                                const std::string& name);

/// The same of a file.
std::shared_ptr<const StreamTokeniser> load_sentence_pieces(const std::filesystem::path& model);

}  // namespace fovea::data
