// Both kinds of groups: a tree of names with a heap of characters, and links among the messages of
// the group's own header.
#include "data/files/hdf5/links.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "base/suggest.h"

namespace fovea::data::hdf5 {
namespace {

constexpr std::uint64_t kLinkInfo = 0x02, kLink = 0x06, kSymbolTable = 0x11;
constexpr std::size_t kMostNodes = 4096;     // of a group's tree
constexpr std::size_t kMostMembers = 65536;  // of a group
constexpr int kMostHops = 8;                 // from link to link

struct Member {
  std::string name;
  std::uint64_t address = 0;
  std::optional<std::string> soft;  // the path that a link inside the file leads to
  bool external = false;            // it leads to another file
};

class SymbolTable {
 public:
  SymbolTable(const File& file, const Message& message) : file_(file) {
    Cursor cursor(file.bytes(), message.data);
    const std::uint64_t tree = cursor.number(file.offset_bytes());
    read_heap(cursor.number(file.offset_bytes()));
    read_node(tree, 255);
  }
  std::vector<Member> take_members() { return std::move(members_); }

 private:
  void read_heap(std::uint64_t address) {
    const std::vector<std::byte> head =
        file_.at(address, 8 + 2 * file_.length_bytes() + file_.offset_bytes());
    Cursor cursor(file_.bytes(), head);
    cursor.expect("HEAP");
    cursor.skip(4);
    const std::uint64_t bytes = cursor.number(file_.length_bytes());
    cursor.skip(file_.length_bytes());
    heap_ = file_.at(cursor.number(file_.offset_bytes()), bytes);
  }

  std::string name_at(std::uint64_t offset) const {
    if (offset >= heap_.size()) file_.bytes().damaged("the name of a member lies nowhere");
    const auto begin = heap_.begin() + static_cast<std::ptrdiff_t>(offset);
    const auto end = std::find(begin, heap_.end(), std::byte{0});
    if (end == heap_.end()) file_.bytes().damaged("the name of a member has no end");
    std::string name;
    for (auto letter = begin; letter != end; ++letter) name += static_cast<char>(*letter);
    return name;
  }

  void read_node(std::uint64_t address, unsigned most_level) {
    if (++nodes_ > kMostNodes) file_.bytes().damaged("a group has too many nodes");
    const std::size_t o = file_.offset_bytes(), l = file_.length_bytes();
    const std::vector<std::byte> head = file_.at(address, 8 + 2 * o);
    Cursor cursor(file_.bytes(), head);
    cursor.expect("TREE");
    if (cursor.byte() != 0) file_.bytes().damaged("a group's tree is one of chunks");
    const unsigned level = cursor.byte();
    if (level > most_level) file_.bytes().damaged("a group's tree leads back to itself");
    const std::uint64_t used = cursor.number(2);
    const std::vector<std::byte> entries = file_.at(address + head.size(), used * (l + o));
    Cursor entry(file_.bytes(), entries);
    for (std::uint64_t i = 0; i < used; ++i) {
      entry.skip(l);
      const std::uint64_t child = entry.number(o);
      if (level == 0) {
        read_symbols(child);
      } else {
        read_node(child, level - 1);
      }
    }
  }

  void read_symbols(std::uint64_t address) {
    const std::size_t o = file_.offset_bytes();
    const std::vector<std::byte> begin = file_.at(address, 8);
    Cursor head(file_.bytes(), begin);
    head.expect("SNOD");
    head.skip(2);
    const std::uint64_t count = head.number(2);
    const std::vector<std::byte> entries = file_.at(address + 8, count * (2 * o + 24));
    Cursor entry(file_.bytes(), entries);
    for (std::uint64_t i = 0; i < count; ++i) {
      Member member;
      member.name = name_at(entry.number(o));
      member.address = entry.number(o);
      const std::uint64_t kind = entry.number(4);
      entry.skip(4);
      const std::uint64_t scratch = entry.number(4);
      entry.skip(12);
      if (kind == 2) member.soft = name_at(scratch);
      if (members_.size() == kMostMembers) file_.bytes().damaged("a group has too many members");
      members_.push_back(std::move(member));
    }
  }

  const File& file_;
  std::vector<std::byte> heap_;
  std::vector<Member> members_;
  std::size_t nodes_ = 0;
};

Member read_link(const File& file, const Message& message) {
  constexpr unsigned kHard = 0, kSoft = 1, kExternal = 64;
  Cursor cursor(file.bytes(), message.data);
  if (cursor.byte() != 1) file.bytes().damaged("a link has an unknown version");
  const unsigned flags = cursor.byte();
  const unsigned kind = (flags & 8) != 0 ? cursor.byte() : kHard;
  if ((flags & 4) != 0) cursor.skip(8);
  if ((flags & 16) != 0) cursor.skip(1);
  Member member;
  member.name = cursor.text(cursor.number(std::size_t{1} << (flags & 3)));
  if (kind == kHard) {
    member.address = cursor.number(file.offset_bytes());
  } else if (kind == kSoft) {
    member.soft = cursor.text(cursor.number(2));
  } else {
    member.external = kind == kExternal;
    if (!member.external) file.bytes().refuse("has a link of an unknown kind");
  }
  return member;
}

std::vector<Member> members_of(const File& file, std::uint64_t group) {
  std::vector<Member> members;
  for (const Message& message : read_messages(file, group)) {
    if (message.type == kSymbolTable) return SymbolTable(file, message).take_members();
    if (message.type == kLink) members.push_back(read_link(file, message));
    if (message.type != kLinkInfo) continue;
    Cursor cursor(file.bytes(), message.data);
    cursor.skip(1);
    if ((cursor.byte() & 1) != 0) cursor.skip(8);
    if (!file.undefined(cursor.number(file.offset_bytes())))
      file.bytes().refuse(
          "has more data sets in a group than the compact form holds, in a form that is not read; "
          "write it with h5py's default libver, or split it");
  }
  return members;
}

std::uint64_t find_from(const File& file, std::uint64_t root, std::uint64_t group,
                        const std::string& path, const std::string& asked, int& hops) {
  std::uint64_t at = !path.empty() && path.front() == '/' ? root : group;
  std::size_t from = 0;
  while (from < path.size()) {
    const std::size_t end = std::min(path.find('/', from), path.size());
    const std::string name = path.substr(from, end - from);
    from = end + 1;
    if (name.empty() || name == ".") continue;
    const std::vector<Member> members = members_of(file, at);
    const auto found = std::find_if(members.begin(), members.end(),
                                    [&](const Member& member) { return member.name == name; });
    if (found == members.end()) {
      std::vector<std::string> known;
      for (const Member& member : members) known.push_back(member.name);
      file.bytes().refuse(
          fmt::format("holds no data set \"{}\"{}", asked, did_you_mean(name, known)));
    }
    if (found->external)
      file.bytes().refuse(
          fmt::format("\"{}\" is a link to another file, which is not followed; "
                      "copy the data set into this one",
                      asked));
    if (found->soft && --hops < 0)
      file.bytes().refuse(fmt::format("\"{}\" is a link that leads back to itself", asked));
    at = found->soft ? find_from(file, root, at, *found->soft, asked, hops) : found->address;
  }
  return at;
}

}  // namespace

std::uint64_t find_object(const File& file, std::uint64_t root, const std::string& path) {
  int hops = kMostHops;
  return find_from(file, root, root, path, path, hops);
}

}  // namespace fovea::data::hdf5
