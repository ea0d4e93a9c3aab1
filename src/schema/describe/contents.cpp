#include "schema/describe/contents.h"

#include <fmt/format.h>

#include <functional>

#include "base/error.h"
#include "base/hash.h"

namespace fovea::schema {
namespace {

using Files = std::vector<std::filesystem::path>;
using Visit = std::function<void(const std::string& path, const Files& files)>;

// All settings that name files.
void each_setting(const Description& description, const Value& object, const std::string& path,
                  const Visit& visit);

void each_setting(const Type& type, const Value& value, const std::string& path,
                  const Visit& visit) {
  if (value.is_null()) return;
  if (type.kind == Type::Kind::kArray) {
    for (std::size_t i = 0; i < value.size(); ++i)
      each_setting(*type.item, value.at(i), join_path(path, std::to_string(i)), visit);
  } else if (type.kind == Type::Kind::kObject) {
    each_setting(*type.object, value, path, visit);
  } else if (type.kind == Type::Kind::kComponent) {
    const Choice choice = find_choice(type.choices, value.at("type"), path);
    if (choice.fields != nullptr) each_setting(*choice.fields, value, path, visit);
  }
}

void each_setting(const Description& description, const Value& object, const std::string& path,
                  const Visit& visit) {
  for (const Field& field : description.fields()) {
    const std::string at = join_path(path, field.key);
    if (field.files) {
      if (const Files files = field.files(object); !files.empty()) visit(at, files);
    }
    each_setting(field.type, object.at(field.key), at, visit);
  }
}

// The hash of the files, null where one is missing. Names count where there are several, since they
// tell what each file is for.
Value hash_of(const Files& files) {
  std::string hashes;
  std::error_code code;
  for (const std::filesystem::path& file : files) {
    if (!std::filesystem::is_regular_file(file, code)) return {};
    if (files.size() == 1) return hash_file(file);
    hashes += file.filename().string() + '\0' + hash_file(file);
  }
  return hash_bytes(hashes);
}

// The field of the root that holds the hashes.
const Field* keeper(const Description& root) {
  for (const Field& field : root.fields()) {
    if (field.effect == Effect::kContent) return &field;
  }
  return nullptr;
}

const Value* noted_hash(const Value& noted, const std::string& path) {
  const Value* hash = noted.is_object() ? noted.find(path) : nullptr;
  return hash == nullptr || hash->is_null() ? nullptr : hash;
}

}  // namespace

void note_contents(const Description& root, Value& resolved) {
  const Field* field = keeper(root);
  if (field == nullptr) return;
  const Value noted = resolved.at(field->key);
  Value contents = Value::object();
  each_setting(root, resolved, "", [&](const std::string& path, const Files& files) {
    const Value* hash = noted_hash(noted, path);
    contents.set(path, hash != nullptr ? *hash : hash_of(files));
  });
  resolved.set(field->key, contents);
}

std::vector<std::string> unknown_contents(const Description& root, const Value& resolved) {
  std::vector<std::string> unknown;
  const Field* field = keeper(root);
  if (field == nullptr || !resolved.at(field->key).is_object()) return unknown;
  for (const Value::Member& member : resolved.at(field->key).members()) {
    if (member.value.is_null()) unknown.push_back(member.key);
  }
  return unknown;
}

void check_contents(const Description& root, const Value& resolved) {
  const Field* field = keeper(root);
  if (field == nullptr) return;
  each_setting(root, resolved, "", [&](const std::string& path, const Files& files) {
    const Value* hash = noted_hash(resolved.at(field->key), path);
    if (hash == nullptr) return;
    const Value now = hash_of(files);
    FOVEA_CHECK(
        now.is_null() || now == *hash, FileError,
        fmt::format("{}: {}{} has the content {}, but {} was noted in {}; bring it back, or "
                    "set {}=null to go by what is there",
                    path, files.front().string(), files.size() > 1 ? ", ..." : "", now.dump(0),
                    hash->dump(0), field->key, field->key));
  });
}

}  // namespace fovea::schema
