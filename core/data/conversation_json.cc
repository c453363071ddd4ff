#include <medley/data/conversation_json.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace medley {
namespace {

using nlohmann::json;

constexpr std::string_view kImageMark = "<image>";

// The spelling that the item has; "" where it has none.
std::string Spelled(const JsonItem& item, std::initializer_list<const char*> spellings) {
  for (const char* key : spellings) {
    if (item.Has(key)) return key;
  }
  return "";
}

std::vector<JsonItem> SomeObjects(const JsonItem& item, const std::string& key) {
  std::vector<JsonItem> objects = item.Objects(key);
  if (objects.empty()) item.Fail(key, "expected a list that is not empty");
  return objects;
}

// Those that the conversation names beside its turns.
std::vector<NamedFile> FilesBeside(const JsonItem& line) {
  const std::string key = Spelled(line, {"images", "image"});
  if (key.empty()) return {};
  const json& value = line.json().at(key);
  if (value.is_string()) return {{line, key, line.Text(key)}};
  std::vector<NamedFile> files;
  if (value.is_array() && !value.empty() && value[0].is_string()) {
    for (const std::string& path : line.Texts(key))
      files.push_back({line, key + "[" + std::to_string(files.size()) + "]", path});
    return files;
  }
  for (const JsonItem& item : line.Objects(key)) {
    const std::string path_key = ConversationReader::FileKeyOf(item);
    if (path_key.empty()) item.Fail("expected \"path\", the file of a scan or picture");
    files.push_back({item, path_key, item.Text(path_key)});
  }
  return files;
}

// Whether one of the turns names a file in its content.
bool NamesFiles(const JsonItem& line, std::string_view turns) {
  if (!line.Has(turns) || !line.json().find(turns)->is_array()) return false;
  return std::ranges::any_of(line.Objects(turns), [](const JsonItem& turn) {
    const std::string key = Spelled(turn, {"content", "value"});
    if (key.empty() || !turn.json().at(key).is_array()) return false;
    return std::ranges::any_of(
        turn.Objects(key), [](const JsonItem& item) { return !ConversationReader::FileKeyOf(item).empty(); });
  });
}

// Hugging Face's place of a file that is named elsewhere.
bool IsPlace(const JsonItem& item) {
  return item.Has("type") && item.json().at("type") == "image" && !item.Has("text");
}

}  // namespace

std::string ConversationReader::KeyOf(const JsonItem& item, std::initializer_list<const char*> spellings) {
  const std::string key = Spelled(item, spellings);
  return key.empty() ? *spellings.begin() : key;
}

std::string ConversationReader::FileKeyOf(const JsonItem& item) {
  return Spelled(item, {"image", "image_path", "path"});
}

ConversationReader::ConversationReader(const JsonItem& line, std::initializer_list<std::string_view> keys)
    : line_(line) {
  if (std::ranges::none_of(keys, [&](std::string_view key) { return NamesFiles(line, key); }))
    beside_ = FilesBeside(line);
}

std::vector<SpokenTurn> ConversationReader::Turns(const std::string& key) {
  std::vector<SpokenTurn> turns;
  for (const JsonItem& item : SomeObjects(line_, key)) {
    std::string role =
        item.Word(KeyOf(item, {"role", "from"}), {"user", "assistant", "human", "gpt", "system"});
    if (role == "human") role = "user";
    if (role == "gpt") role = "assistant";
    SpokenTurn turn{item, std::move(role), KeyOf(item, {"content", "value"}), {}};
    if (item.Has(turn.content) && item.json().at(turn.content).is_array()) {
      for (const JsonItem& part : SomeObjects(item, turn.content)) AddItem(part, turn.items);
    } else {
      AddText(item, turn.content, turn.items);
    }
    turns.push_back(std::move(turn));
  }
  return turns;
}

std::vector<SpokenItem> ConversationReader::Words(const JsonItem& item, const std::string& key) {
  std::vector<SpokenItem> items;
  AddText(item, key, items);
  return items;
}

NamedFile ConversationReader::Next(const JsonItem& item, const std::string& key) {
  if (next_ < beside_.size()) return beside_[next_++];
  item.Fail(key, "one <image> more than the " + std::to_string(next_) + " that stand beside the turns");
}

void ConversationReader::AddItem(const JsonItem& item, std::vector<SpokenItem>& items) {
  const std::string path_key = FileKeyOf(item);
  if (path_key.empty() && IsPlace(item) && !beside_.empty()) {
    items.emplace_back(Next(item, "type"));
    return;
  }
  if (item.Has("text") != path_key.empty()) item.Fail("expected either \"text\" or \"image\"");
  if (path_key.empty())
    AddText(item, "text", items);
  else
    items.emplace_back(NamedFile{item, path_key, item.Text(path_key)});
}

// Where files are named beside the turns, each mark is the next of them.
void ConversationReader::AddText(const JsonItem& item, const std::string& key,
                                 std::vector<SpokenItem>& items) {
  const std::string text = item.Text(key);
  std::string_view rest = text;
  for (std::size_t at; !beside_.empty() && (at = rest.find(kImageMark)) != std::string_view::npos;) {
    if (at > 0) items.emplace_back(std::string(rest.substr(0, at)));
    NamedFile file = Next(item, key);
    file.is_mark = true;
    items.emplace_back(std::move(file));
    rest.remove_prefix(at + kImageMark.size());
  }
  if (!rest.empty()) items.emplace_back(std::string(rest));
}

std::vector<NamedFile> ConversationReader::Rest(const std::string& key) const {
  if (next_ == beside_.size()) return {};
  if (next_ > 0)
    line_.Fail(key, "its texts hold " + std::to_string(next_) + " <image>, beside them stand " +
                        std::to_string(beside_.size()));
  return beside_;
}

}  // namespace medley
