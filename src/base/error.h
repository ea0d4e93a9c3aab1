// The exceptions of Fovea. Messages follow one form:
//   where: what is wrong: what was given, what was expected; what to do
// in one line, lower case, without a final full stop. Only apps and tools print them and exit.
#pragma once

#include <stdexcept>
#include <string>

namespace fovea {

/// Base of everything Fovea throws on purpose. Apps map it to exit status 1.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Sizes, ranks or dtypes of tensors do not fit an operation.
class ShapeError : public Error {
 public:
  using Error::Error;
};

/// A wrong flag, experiment file or option. Apps map it to exit status 2.
class ConfigError : public Error {
 public:
  using Error::Error;
};

/// A file is missing, cut short, damaged, or cannot be written.
class FileError : public Error {
 public:
  using Error::Error;
};

/// A value that must be finite is not, or a computation cannot continue.
class NumericError : public Error {
 public:
  using Error::Error;
};

/// A device or its backend cannot do what was asked, or has no memory left.
class BackendError : public Error {
 public:
  using Error::Error;
};

/// The user asked to stop (SIGINT, SIGTERM); the run was left in a state that can be resumed.
class Interrupted : public Error {
 public:
  using Error::Error;
};

}  // namespace fovea

/// Throws `Type(message)` unless `condition` holds. The message is built only on failure, so it may
/// be a costly fmt::format(...) expression.
#define FOVEA_CHECK(condition, Type, ...)      \
  do {                                         \
    if (!(condition)) throw Type(__VA_ARGS__); \
  } while (false)
