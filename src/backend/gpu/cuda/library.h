// Libraries that are opened when they are first needed: they are hundreds of megabytes, for which a
// program that does not use them, or never reaches the device, should not wait.
// FOVEA_CUDA_LIBRARIES names folders, separated by colons, in which they are looked for before the
// places of the system.
#pragma once

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string>

namespace fovea::gpu {

inline std::string library_folders() {
  const char* const folders = std::getenv("FOVEA_CUDA_LIBRARIES");
  return folders ? folders : "";
}

/// nullptr where it is nowhere.
inline void* open_library(const std::string& file) {
  const std::string folders = library_folders();
  for (std::size_t begin = 0, end = 0; begin < folders.size(); begin = end + 1) {
    end = std::min(folders.find(':', begin), folders.size());
    const std::string folder = folders.substr(begin, end - begin);
    if (folder.empty()) continue;
    if (void* const handle = dlopen((folder + "/" + file).c_str(), RTLD_LAZY)) return handle;
  }
  return dlopen(file.c_str(), RTLD_LAZY);
}

/// What to do about a library that open_library() does not find.
inline std::string not_found(const std::string& file) {
  const std::string folders = library_folders();
  if (folders.empty())
    return file + " is not installed; install it, or name its folder in FOVEA_CUDA_LIBRARIES";
  return file + " is neither in " + folders + " (FOVEA_CUDA_LIBRARIES) nor installed";
}

class DynamicLibrary {
 public:
  explicit DynamicLibrary(const std::string& file) : handle_(open_library(file)) {}
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
