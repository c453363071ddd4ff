#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <medley/base/json_document.h>

namespace medley {

// How many containers may stand one in the other.
inline constexpr std::size_t kDeepestJson = 64;

// nlohmann's parser tells no positions of valid values. Between two of its events stand only blanks, commas
// and colons, so a cursor that follows the events finds where each token begins.
class JsonCursor {
 public:
  explicit JsonCursor(std::string_view text);

  // Moves to the next token and tells where it is.
  SourcePosition Begin();
  char Current() const { return next_ < text_.size() ? text_[next_] : '\0'; }
  void SkipScalar();
  void SkipString();
  void Step();

 private:
  std::string_view text_;
  std::size_t next_ = 0;
  int line_ = 1;
  int column_ = 1;
};

// The limits, the keys that stand twice and the words about mistakes: the same whatever is built. Each call
// moves to its token, and answers false where reading must end.
class JsonWalk {
 public:
  JsonWalk(std::string_view text, const JsonLimits& limits, std::vector<JsonProblem>& problems)
      : cursor_(text), limits_(limits), problems_(problems) {}

  SourcePosition at() const { return at_; }
  bool Scalar();
  bool Open(bool array);
  void Close();
  // `twice`: the object has it already; its first value stays.
  bool Key(const std::string& name, bool& twice);
  bool ParseError(const std::string& token, const nlohmann::detail::exception& error);

 private:
  struct Level {
    bool array = false;
    std::size_t elements = 0;
    std::string key;                  // the last one
    std::map<std::string, int> keys;  // and the line of each: a tree, as anyone may have chosen the keys
  };

  bool Count();
  bool Fail(const std::string& message);
  std::string Path() const;
  std::string Hint() const;

  JsonCursor cursor_;
  JsonLimits limits_;
  std::vector<JsonProblem>& problems_;
  std::vector<Level> levels_;
  std::size_t values_ = 0;
  SourcePosition at_;
};

// Builds a tree out of nlohmann's events. `Tree` says what its nodes are and how one is added.
template <typename Tree>
class JsonBuilder {
 public:
  using Node = typename Tree::Node;
  using Json = nlohmann::json;

  JsonBuilder(JsonWalk& walk, Node& root) : walk_(walk), root_(root) {}

  bool null() { return Scalar(nullptr); }
  bool boolean(bool value) { return Scalar(value); }
  bool number_integer(Json::number_integer_t value) { return Scalar(value); }
  bool number_unsigned(Json::number_unsigned_t value) { return Scalar(value); }
  bool number_float(Json::number_float_t value, const std::string&) { return Scalar(value); }
  bool string(std::string& value) { return Scalar(std::move(value)); }
  bool binary(Json::binary_t&) { return false; }
  bool start_object(std::size_t) { return Open(Json::value_t::object); }
  bool start_array(std::size_t) { return Open(Json::value_t::array); }
  bool end_object() { return Close(); }
  bool end_array() { return Close(); }

  bool key(std::string& name) {
    bool twice = false;
    if (!walk_.Key(name, twice)) return false;
    // The second value is still parsed, into a place that nobody reads.
    target_ = twice ? &discarded_.emplace_back() : &Tree::Member(*open_.back(), std::move(name), walk_.at());
    return true;
  }

  bool parse_error(std::size_t, const std::string& token, const nlohmann::detail::exception& error) {
    return walk_.ParseError(token, error);
  }

 private:
  Node& Place() {
    if (open_.empty()) return root_;
    return Tree::IsArray(*open_.back()) ? Tree::Element(*open_.back()) : *target_;
  }

  template <typename Value>
  bool Scalar(Value&& value) {
    if (!walk_.Scalar()) return false;
    Tree::Set(Place(), std::forward<Value>(value), walk_.at());
    return true;
  }

  bool Open(Json::value_t type) {
    if (!walk_.Open(type == Json::value_t::array)) return false;
    Node& node = Place();
    Tree::Open(node, type, walk_.at());
    open_.push_back(&node);
    return true;
  }

  bool Close() {
    walk_.Close();
    open_.pop_back();
    return true;
  }

  JsonWalk& walk_;
  Node& root_;
  // Containers that are not closed yet. Pointers stay good: a container grows only while it is the innermost
  // one.
  std::vector<Node*> open_;
  std::deque<Node> discarded_;
  Node* target_ = nullptr;  // where the value of the last key goes
};

// False where a problem ended it; keys that stand twice are problems that do not.
template <typename Tree>
bool BuildJson(std::string_view text, const JsonLimits& limits, typename Tree::Node& root,
               std::vector<JsonProblem>& problems) {
  if (text.size() > limits.bytes) {
    problems.push_back({{1, 1}, "", "longer than " + std::to_string(limits.bytes) + " bytes"});
    return false;
  }
  JsonWalk walk(text, limits, problems);
  JsonBuilder<Tree> builder(walk, root);
  return nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
}

}  // namespace medley
