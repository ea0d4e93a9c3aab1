// Experiment files: inheritance by "extends" and overrides from the command line.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "schema/json/parse.h"
#include "schema/json/value.h"

namespace fovea::schema {

/// Parses a file and, while it has a key "extends" (a path relative to that file), merges it over
/// the file named there. The key itself is removed; every value keeps the origin of the file that
/// gave it. The parent must lie inside the folder above the first file's own folder, so that
/// experiments/smoke/x.json may extend ../dgsa/y.json but not /etc/passwd.
/// Throws FileError if the file, ConfigError if a parent is missing or unreadable; ConfigError for
/// syntax, a root that is no object, a cycle (`a.json: extends b.json, which extends a.json`).
/// `each` may change what a file holds before it is merged over its parent.
using EachFile = std::function<void(Value& content)>;
Value load(const std::filesystem::path& file, const EachFile& each = {}, const Limits& limits = {});

/// Merges `over` into `base`: objects key by key, everything else is replaced. A null in `over`
/// clears the value below it: the setting is then as if never given (Fields), or none where it is
/// optional. Where `over` chooses another type, by an object or by its name alone, the options that
/// the new type knows stay (carry.h).
Value merge(Value base, const Value& over);

/// `train.epochs=1`, `model.attention=m_dgsa`, `dataset.augment.0.type=crop`, `a.b=null`. The right
/// side is JSON if it reads as JSON, else a bare string; a side that starts with `{`, `[` or `"`
/// must be JSON. It replaces the old value wholly, but for the name of a type, which keeps the
/// options that this type knows (carry.h); an object replaces them too. It makes the objects on its
/// path, and turns the shorthand "m_dgsa" into {"type": "m_dgsa"} where the path goes through it,
/// or ends in ".type". Keys are not checked here: they keep the origin `--set train.epoch=3`, which
/// validation then names. Throws ConfigError for a missing `=`, an empty key, an index outside an
/// array.
void apply_override(Value& root, const std::string& assignment);

/// Puts `value` at `path` as an override does; errors start with the value's origin.
void set_path(Value& root, const std::string& path, Value value);

/// {"type": "m_dgsa"} for the shorthand "m_dgsa" of a component, with the options of what it was
/// laid over, marked as carried; origins are those of the string.
Value expand_shorthand(Value name);

/// The value at a path such as `dataset.augment.0.type`, or nullptr.
const Value* find_path(const Value& root, const std::string& path);

}  // namespace fovea::schema
