// Sweeps as job arrays of SLURM: every task of the array runs `ablate` on the same folder.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "experiment/sweep/ablation.h"

namespace fovea::experiment {

struct SlurmArray {
  std::string name;
  std::filesystem::path out;         // folder of the sweep
  std::filesystem::path working;     // folder that the command is run in
  std::vector<std::string> command;  // of a task
  int tasks = 1;
};

/// What a script is made from: lines of the shell in which two words stand for more.
///   @OPTIONS@  lines for sbatch: name, array, log, requeueing, the signal before the time is up
///   @WORK@     the command of a task; it passes signals on to it, waits until its jobs are saved,
///              and has the task begun again where its time was up before its work was done
/// This one has nothing else.
std::string standard_slurm_template();

/// The script of an array. Throws ConfigError, with `from` and the line, where the template lacks a
/// word or has another one of the form @WORD@.
std::string slurm_script(const std::string& text, const std::string& from, const SlurmArray& array);

/// Makes the folder that of the ablation, and writes slurm.sh into it, and the folder of the tasks'
/// logs, slurm/. Returns the file.
std::filesystem::path write_slurm_script(const Ablation& ablation, const std::filesystem::path& out,
                                         const std::string& script);

/// Calls sbatch; returns the number of the job. Throws FileError where there is none, or it fails.
std::string submit_to_slurm(const std::filesystem::path& script);

}  // namespace fovea::experiment
