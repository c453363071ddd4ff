#include <medley/base/json_reader.h>

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

#include <medley/base/error.h>

#include "json_walk.h"
#include "plain_json.h"

namespace medley {
namespace {

template <typename Json>
struct PlainTree {
  using Node = Json;
  static bool IsArray(const Node& node) { return node.is_array(); }
  static Node& Element(Node& array) {
    return array.template get_ref<typename Json::array_t&>().emplace_back();
  }
  // Both know that the key is new; an ordered_json would look through all the others.
  static Node& Member(Node& object, std::string name, SourcePosition) {
    auto& members = object.template get_ref<typename Json::object_t&>();
    if constexpr (std::is_same_v<Json, nlohmann::ordered_json>) {
      return members.emplace_back(std::move(name), nullptr).second;
    } else {
      return members.emplace(std::move(name), nullptr).first->second;
    }
  }
  template <typename Value>
  static void Set(Node& node, Value&& value, SourcePosition) {
    node = std::forward<Value>(value);
  }
  static void Open(Node& node, nlohmann::json::value_t type, SourcePosition) { node = Json(type); }
};

// Follows nlohmann's events as JsonBuilder does, and keeps nothing but the keys of what is open.
class JsonJudge {
 public:
  using Json = nlohmann::json;

  explicit JsonJudge(std::size_t values) : values_left_(values) {}

  bool null() { return Count(); }
  bool boolean(bool) { return Count(); }
  bool number_integer(Json::number_integer_t) { return Count(); }
  bool number_unsigned(Json::number_unsigned_t) { return Count(); }
  bool number_float(Json::number_float_t, const std::string&) { return Count(); }
  bool string(const std::string&) { return Count(); }
  bool binary(const Json::binary_t&) { return false; }
  bool start_object(std::size_t) { return Open(); }
  bool start_array(std::size_t) { return Open(); }
  bool end_object() { return Close(); }
  bool end_array() { return Close(); }
  bool key(const std::string& name) {
    keys_.push_back(name);
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) { return false; }

 private:
  bool Count() { return values_left_-- > 0; }
  bool Open() {
    if (first_keys_.size() >= kDeepestJson) return false;
    first_keys_.push_back(keys_.size());
    return Count();
  }
  // Sorted only now: whoever chose the keys cannot make a search among them slow.
  bool Close() {
    const auto begin = keys_.begin() + static_cast<std::ptrdiff_t>(first_keys_.back());
    std::sort(begin, keys_.end());
    const bool twice = std::adjacent_find(begin, keys_.end()) != keys_.end();
    keys_.erase(begin, keys_.end());
    first_keys_.pop_back();
    return !twice;
  }

  std::size_t values_left_;
  std::vector<std::size_t> first_keys_;  // among the keys, of each array and object that is open
  std::vector<std::string> keys_;
};

template <typename Json>
Json Read(std::string_view text, const std::string& file, int first_line, const JsonLimits& limits) {
  Json root;
  std::vector<JsonProblem> problems;
  if (BuildJson<PlainTree<Json>>(text, limits, root, problems) && problems.empty()) return root;
  const JsonProblem& problem = problems.front();
  throw InputError(file + ":" + std::to_string(problem.at.line + first_line - 1) + ":" +
                   std::to_string(problem.at.column) + ": " +
                   (problem.path.empty() ? "" : problem.path + ": ") + problem.message);
}

}  // namespace

template <typename Json>
Json ReadJson(std::string_view text, const std::string& file, const JsonLimits& limits) {
  return Read<Json>(text, file, 1, limits);
}

template <typename Json>
Json ReadJsonLine(std::string_view text, const std::string& file, int line) {
  return Read<Json>(text, file, line, {});
}

bool IsJson(std::string_view text, const JsonLimits& limits) {
  if (text.size() > limits.bytes) return false;
  if (IsPlainJson(text, limits.values)) return true;
  JsonJudge judge(limits.values);
  return nlohmann::json::sax_parse(text.begin(), text.end(), &judge);
}

template nlohmann::json ReadJson(std::string_view, const std::string&, const JsonLimits&);
template nlohmann::ordered_json ReadJson(std::string_view, const std::string&, const JsonLimits&);
template nlohmann::json ReadJsonLine(std::string_view, const std::string&, int);
template nlohmann::ordered_json ReadJsonLine(std::string_view, const std::string&, int);

}  // namespace medley
