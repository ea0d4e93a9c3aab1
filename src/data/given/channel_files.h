// Files of one's own by the case they belong to. Channels of a case lie in files of their own:
// CASE_0000.nii.gz, CASE_0001.nii.gz, ..., as nnU-Net names them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace fovea::data {

/// "scan_0002" is channel 2 of "scan"; a name without four digits behind _ has no channel.
struct NumberedName {
  std::string name;
  std::optional<int> channel;
};
NumberedName numbered_name(const std::string& stem);

/// A file, and what it is called by those who gave it: its name, or its path below a folder.
struct GivenFile {
  std::filesystem::path file;
  std::filesystem::path name;
};

/// One input: a file, or a file for each channel.
struct GivenCase {
  std::vector<std::filesystem::path> files;  // by channel
  std::string name;                          // without ending and channel
};

/// The cases in the order of their first files. Where inputs have one channel each file is a case,
/// and _0000 is no part of its name; with 0 channels names are not read at all. Throws FileError
/// for two files of one channel, and for a case of as many files as channels that are not numbered
/// from 0 on.
std::vector<GivenCase> given_cases(const std::vector<GivenFile>& files, std::int64_t channels);

}  // namespace fovea::data
