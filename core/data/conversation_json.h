#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <medley/data/json_item.h>

namespace medley {

// A file that a conversation shows, where it is named: what is wrong with it is said of the key.
struct NamedFile {
  JsonItem item;
  std::string key;
  std::string path;      // as it is written: relative to the file of conversations
  bool is_mark = false;  // a literal <image> stood for it
};
// Words, or what is shown among them.
using SpokenItem = std::variant<std::string, NamedFile>;

struct SpokenTurn {
  JsonItem item;
  std::string role;     // "system", "user" or "assistant"
  std::string content;  // the key of what it says
  std::vector<SpokenItem> items;
};

// clang-format off
// Reads a conversation in any of the spellings that are about: medley's own, UMBRELLA's and LLaVA's (ShareGPT's), Hugging Face's.
//   turns    a list [{role, content} ..] under a key that the caller names
//   role     "role" or "from": "user" or "human", "assistant" or "gpt"; "system"
//   content  "content" or "value": a text, or [{"text": ..} or {"image": FILE, ..} ..]
//   files    items of a content; or beside the turns as "image" or "images", a path, {"path": ..} or a list of either: each literal
//            <image> of the texts, and each item {"type": "image"} without a file, is the next of these; without any they are Rest()
//   FILE     "image", "image_path" or "path"
// InputErrors "FILE:LINE: turns[1].content[0]: ..."
// clang-format on
class ConversationReader {
 public:
  // `keys`: under which turns of the line may stand. Keeps the reference.
  ConversationReader(const JsonItem& line, std::initializer_list<std::string_view> keys);

  // The turns under this key, at least one.
  std::vector<SpokenTurn> Turns(const std::string& key);
  // A text of the line, or of an item of it.
  std::vector<SpokenItem> Words(const JsonItem& item, const std::string& key);
  // The files beside the turns where no text names one, in their order. InputError, of the key, where texts
  // name some of them and not all. Called once all is read.
  std::vector<NamedFile> Rest(const std::string& key) const;

  // The key that the item has; the first one where it has none, whose absence its own error then tells.
  static std::string KeyOf(const JsonItem& item, std::initializer_list<const char*> spellings);
  // The key of the file that the item names; "" where it names none.
  static std::string FileKeyOf(const JsonItem& item);

 private:
  void AddItem(const JsonItem& item, std::vector<SpokenItem>& items);
  void AddText(const JsonItem& item, const std::string& key, std::vector<SpokenItem>& items);
  NamedFile Next(const JsonItem& item, const std::string& key);

  const JsonItem& line_;
  std::vector<NamedFile> beside_;
  std::size_t next_ = 0;  // of these
};

}  // namespace medley
