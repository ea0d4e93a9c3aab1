// Libraries that are opened when they are first needed: they are hundreds of megabytes, for which a
// program that does not use them, or never reaches the device, should not wait.
#pragma once

#include <dlfcn.h>

#include <functional>
#include <string>

namespace fovea::gpu {

class DynamicLibrary {
 public:
  explicit DynamicLibrary(const std::string& file) : handle_(dlopen(file.c_str(), RTLD_LAZY)) {}
  ~DynamicLibrary() {
    if (handle_) dlclose(handle_);
  }
  DynamicLibrary(const DynamicLibrary&) = delete;
  DynamicLibrary& operator=(const DynamicLibrary&) = delete;

  /// nullptr where the library, or the function in it, is not there.
  template <class Function>
  Function function(const char* name) const {
    return handle_ ? reinterpret_cast<Function>(dlsym(handle_, name)) : nullptr;
  }

 private:
  void* handle_;
};

#define FOVEA_LIBRARY_MEMBER(name) \
  decltype(&::name) name = library.function<decltype(&::name)>(#name);
#define FOVEA_LIBRARY_CHECK(name) all = all && name;

/// A struct with the functions of a library as members of their names. FUNCTIONS(X) names them:
/// X(f) X(g) ...
#define FOVEA_LIBRARY(Type, file, FUNCTIONS) \
  struct Type {                              \
    DynamicLibrary library{file};            \
    FUNCTIONS(FOVEA_LIBRARY_MEMBER)          \
    bool there() const {                     \
      bool all = true;                       \
      FUNCTIONS(FOVEA_LIBRARY_CHECK)         \
      return all;                            \
    }                                        \
  }

/// What a library makes and takes back by a function of its own.
template <class T>
class Owned {
 public:
  template <class Destroy>
  explicit Owned(Destroy destroy) : destroy_([destroy](T handle) { destroy(handle); }) {}
  ~Owned() {
    if (handle_) destroy_(handle_);
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  T* address() { return &handle_; }
  T get() const { return handle_; }

 private:
  std::function<void(T)> destroy_;
  T handle_ = nullptr;
};

}  // namespace fovea::gpu
