#include "schema/load.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "schema/carry.h"

namespace fovea::schema {
namespace {

namespace fs = std::filesystem;

// Through symlinked folders one file could have endlessly many names.
constexpr std::size_t kMaxChain = 32;

struct Link {
  fs::path absolute;
  std::string name;  // as shown: relative to the current directory
};

fs::path absolute_of(const fs::path& path) { return fs::absolute(path).lexically_normal(); }

bool is_inside(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first ==
         folder.end();
}

class Loader {
 public:
  Loader(const fs::path& file, const EachFile& each, const Limits& limits)
      : root_(absolute_of(file).parent_path().parent_path()), each_(each), limits_(limits) {}

  Value load(const fs::path& file) {
    const std::string name = file.string();
    Value own = parse(io::read_text(file, limits_.bytes), name, limits_);
    FOVEA_CHECK(own.is_object(), ConfigError,
                fmt::format("{}expected object, got {}", where(own.origin(), ""), describe(own)));
    chain_.push_back({absolute_of(file), name});
    if (const Value* extends = own.find("extends")) {
      Value base = load_parent(file, *extends);
      own.erase("extends");
      if (each_) each_(own);
      return merge(std::move(base), own);
    }
    if (each_) each_(own);
    return own;
  }

 private:
  Value load_parent(const fs::path& file, const Value& extends) {
    const fs::path parent = parent_of(file, extends);
    check_chain(parent, extends);
    try {
      return load(parent);
    } catch (const FileError& error) {
      fail(extends, error.what());
    }
  }

  fs::path parent_of(const fs::path& file, const Value& extends) const {
    if (!extends.is_string()) fail(extends, "expected string, got " + describe(extends));
    const std::string& text = extends.as_string();
    const fs::path given = text;
    if (text.empty() || given.is_absolute() ||
        text.find_first_of(std::string("\0\\", 2)) != text.npos) {
      fail(extends,
           fmt::format("expected a path relative to this file, got {}", describe(extends)));
    }
    fs::path parent = (file.parent_path() / given).lexically_normal();
    if (!is_inside(absolute_of(parent), root_)) {
      fail(extends, fmt::format("\"{}\" leaves the folder above that of the experiment, expected a "
                                "file inside it",
                                text));
    }
    return parent;
  }

  void check_chain(const fs::path& parent, const Value& extends) const {
    const fs::path absolute = absolute_of(parent);
    const auto first = std::find_if(chain_.begin(), chain_.end(),
                                    [&](const Link& link) { return link.absolute == absolute; });
    if (first != chain_.end()) {
      std::string message = first->name + ": extends ";
      for (auto link = first + 1; link != chain_.end(); ++link) {
        message += link->name + ", which extends ";
      }
      throw ConfigError(message + (first + 1 == chain_.end() ? "itself" : first->name));
    }
    if (chain_.size() >= kMaxChain) {
      fail(extends, fmt::format("more than {} files extend each other", kMaxChain));
    }
  }

  [[noreturn]] static void fail(const Value& extends, const std::string& message) {
    throw ConfigError(where(extends.origin(), "extends") + message);
  }

  fs::path root_;
  const EachFile& each_;
  Limits limits_;
  std::vector<Link> chain_;
};

}  // namespace

Value load(const fs::path& file, const EachFile& each, const Limits& limits) {
  return Loader(file, each, limits).load(file);
}

Value merge(Value base, const Value& over) {
  if (over.is_null()) {
    Value cleared = over;
    cleared.set_clears(true);
    return cleared;
  }
  if (over.is_string()) return laid_over(over, base);
  if (base.is_string() && over.is_object()) base = expand_shorthand(std::move(base));
  if (!base.is_object() || !over.is_object()) return over;
  const Value* type = over.find("type");
  const Value* before = base.find("type");
  if (type != nullptr && (before == nullptr || !(*type == *before))) mark_carried(base);
  std::unordered_map<std::string_view, std::size_t> index;
  for (std::size_t i = 0; i < base.size(); ++i) index.emplace(base.members()[i].key, i);
  Value::Object added;
  for (const auto& member : over.members()) {
    const auto found = index.find(member.key);
    if (found == index.end()) {
      added.push_back(member);
      continue;
    }
    auto& slot = base.members()[found->second];
    slot.value = merge(std::move(slot.value), member.value);
    slot.value.set_carried(false);
    slot.key_origin = member.key_origin;
  }
  for (auto& member : added) base.members().push_back(std::move(member));
  base.set_origin(over.origin());
  return base;
}

Value expand_shorthand(Value name) {
  Value object = Value::object();
  object.set_origin(name.origin());
  if (const Value* covered = name.covered()) {
    object.members() = covered->members();
    object.erase("type");
    mark_carried(object);
    name.set_covered(nullptr);
  }
  Origin origin = name.origin();
  object.members().insert(object.members().begin(), {"type", std::move(name), std::move(origin)});
  return object;
}

}  // namespace fovea::schema
