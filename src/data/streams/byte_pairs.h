// Byte-level byte-pair encoding, as GPT-2 has it: a text is cut into pieces (pre_tokens.h), the
// bytes of a piece are merged pair by pair in the order in which pairs were learned. Sennrich et
// al., "Neural Machine Translation of Rare Words with Subword Units", 2016; Radford et al., 2019.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/streams/stream_tokeniser.h"

namespace fovea::data {

/// Files of larger tokenisers are refused.
inline constexpr std::size_t kMaxTokeniserBytes = std::size_t{64} << 20;

/// `vocab`: every token by its id, `merges`: "left right", the first learned first; both in GPT-2's
/// alphabet, in which every byte is a letter that can be seen. Throws FileError, which starts with
/// `name`, unless all 256 bytes, and both parts and the result of every merge, are tokens, each
/// once.
std::shared_ptr<const StreamTokeniser> byte_pair_tokeniser(const std::vector<std::string>& vocab,
                                                           const std::vector<std::string>& merges,
                                                           const std::string& name);

/// GPT-2's files: vocab.json, a token with its id each, and merges.txt, a merge a line behind a
/// line of version. Throws FileError.
std::shared_ptr<const StreamTokeniser> load_gpt2_tokeniser(const std::filesystem::path& vocab,
                                                           const std::filesystem::path& merges);

/// Learns merges from a text until there are `vocab_size` tokens, or no pair occurs `min_freq`
/// times: the most frequent pair each time, of equally frequent ones that of the smaller ids. The
/// bytes come first, in GPT-2's order. Throws ConfigError for a vocab_size below 256.
std::shared_ptr<const StreamTokeniser> train_byte_pairs(std::string_view text,
                                                        std::int64_t vocab_size,
                                                        std::int64_t min_freq);

}  // namespace fovea::data
