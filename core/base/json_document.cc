#include <medley/base/json_document.h>
#include <medley/base/json_text.h>

#include <deque>
#include <utility>

namespace medley {
namespace {

using nlohmann::json;

constexpr std::size_t kDeepest = 64;

// nlohmann's parser tells no positions of valid values. Between two of its events stand only blanks, commas
// and colons, so a cursor that follows the events finds where each token begins.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {
    if (text_.substr(0, 3) == "\xef\xbb\xbf") next_ = 3;
  }

  // Moves to the next token and tells where it is.
  SourcePosition Begin() {
    while (next_ < text_.size() && std::string_view(" \t\r\n,:").find(text_[next_]) != std::string_view::npos)
      Step();
    return {line_, column_};
  }
  char Current() const { return next_ < text_.size() ? text_[next_] : '\0'; }
  bool AtEnd() const { return next_ >= text_.size(); }

  void SkipString() {
    Step();
    while (next_ < text_.size() && text_[next_] != '"') {
      if (text_[next_] == '\\') Step();
      Step();
    }
    Step();
  }
  // A number or a literal name.
  void SkipWord() {
    while (next_ < text_.size() &&
           std::string_view(" \t\r\n,:]}").find(text_[next_]) == std::string_view::npos)
      Step();
  }
  void Step() {
    if (next_ >= text_.size()) return;
    const auto byte = static_cast<unsigned char>(text_[next_++]);
    if (byte == '\n') {
      ++line_;
      column_ = 1;
    } else if ((byte & 0xc0) != 0x80) {
      // Counted at the lead byte: the other bytes of a character add no column.
      ++column_;
    }
  }

 private:
  std::string_view text_;
  std::size_t next_ = 0;
  int line_ = 1;
  int column_ = 1;
};

class Builder : public nlohmann::json_sax<json> {
 public:
  Builder(std::string_view text, JsonDocument& document) : cursor_(text), document_(document) {}

  bool null() override { return Scalar(nullptr); }
  bool boolean(bool value) override { return Scalar(value); }
  bool number_integer(number_integer_t value) override { return Scalar(value); }
  bool number_unsigned(number_unsigned_t value) override { return Scalar(value); }
  bool number_float(number_float_t value, const string_t&) override { return Scalar(value); }
  bool string(string_t& value) override { return Scalar(value); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return Open(json::value_t::object); }
  bool start_array(std::size_t) override { return Open(json::value_t::array); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }

  bool key(string_t& name) override {
    const SourcePosition at = cursor_.Begin();
    cursor_.SkipString();
    JsonNode& object = *open_.back();
    for (const JsonMember& member : object.members) {
      if (member.key != name) continue;
      document_.problems.push_back(
          {at, JoinPath(Path(), name),
           "the key stands twice (first on line " + std::to_string(member.at.line) + "); remove one"});
      // The second value is still parsed, into a place that nobody reads.
      target_ = &discarded_.emplace_back();
      return true;
    }
    object.members.push_back({name, at, {}});
    target_ = &object.members.back().value;
    return true;
  }

  bool parse_error(std::size_t, const std::string& token, const nlohmann::detail::exception& error) override {
    const SourcePosition at = cursor_.Begin();
    std::string why = error.what();
    const auto cut = why.find(" - ");
    if (cut != std::string::npos) why = why.substr(cut + 3);
    if (error.id == 406) why = "the number " + token + " is too large";
    document_.problems.push_back({at, "", "not valid JSON: " + why + Hint()});
    return false;
  }

 private:
  std::string Hint() const {
    switch (cursor_.Current()) {
      case '/':
      case '#':
        return " (JSON has no comments)";
      case '\'':
        return " (strings stand in double quotes)";
      case '}':
      case ']':
        return " (is there a comma too many?)";
      case 'N':
      case 'I':
        return " (JSON has no NaN or Infinity)";
      default:
        return "";
    }
  }

  std::string Path() const {
    std::string path;
    for (const std::string& name : names_) path = JoinPath(path, name);
    return path;
  }

  JsonNode& Place() {
    if (open_.empty()) return document_.root;
    if (open_.back()->IsArray()) return open_.back()->elements.emplace_back();
    return *target_;
  }

  template <typename Value>
  bool Scalar(Value&& value) {
    JsonNode& node = Place();
    node.at = cursor_.Begin();
    node.scalar = std::forward<Value>(value);
    node.type = node.scalar.type();
    if (cursor_.Current() == '"')
      cursor_.SkipString();
    else
      cursor_.SkipWord();
    return true;
  }

  bool Open(json::value_t type) {
    if (open_.size() >= kDeepest) {
      document_.problems.push_back({cursor_.Begin(), "", "nested more than 64 levels deep"});
      return false;
    }
    std::string name;
    if (!open_.empty()) {
      name = open_.back()->IsArray() ? std::to_string(open_.back()->elements.size()) : LastKey();
    }
    JsonNode& node = Place();
    node.at = cursor_.Begin();
    node.type = type;
    cursor_.Step();
    open_.push_back(&node);
    names_.push_back(std::move(name));
    return true;
  }

  bool Close() {
    cursor_.Begin();
    cursor_.Step();
    open_.pop_back();
    names_.pop_back();
    return true;
  }

  std::string LastKey() const {
    return open_.back()->members.empty() ? "" : open_.back()->members.back().key;
  }

  Cursor cursor_;
  JsonDocument& document_;
  // Containers that are not closed yet. Pointers stay good: a container grows only while it is the innermost
  // one.
  std::vector<JsonNode*> open_;
  std::vector<std::string> names_;
  std::deque<JsonNode> discarded_;
  JsonNode* target_ = nullptr;  // where the value of the last key goes
};

}  // namespace

const JsonNode* JsonNode::Find(std::string_view key) const {
  for (const JsonMember& member : members) {
    if (member.key == key) return &member.value;
  }
  return nullptr;
}

JsonNode* JsonNode::Find(std::string_view key) {
  return const_cast<JsonNode*>(static_cast<const JsonNode*>(this)->Find(key));
}

JsonDocument ParseJson(std::string_view text) {
  JsonDocument document;
  Builder builder(text, document);
  document.parsed = json::sax_parse(text.begin(), text.end(), &builder);
  return document;
}

std::string JoinPath(const std::string& path, std::string_view key) {
  return path.empty() ? std::string(key) : path + "." + std::string(key);
}

std::string Describe(const JsonNode& node) {
  if (node.IsObject()) return "an object";
  if (node.IsArray()) return "an array";
  if (!node.IsString()) return node.scalar.dump();
  const auto& text = node.scalar.get_ref<const std::string&>();
  constexpr std::size_t kMost = 60;
  // A cut inside a character is replaced, not thrown at.
  const json shown = text.size() > kMost ? text.substr(0, kMost) + "..." : text;
  return JsonText(shown);
}

}  // namespace medley
