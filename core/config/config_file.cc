#include <medley/config/config_file.h>

#include <algorithm>
#include <charconv>
#include <system_error>
#include <tuple>

#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/printable.h>
#include <medley/base/suggest.h>
#include <medley/base/utf8.h>
#include <medley/config/mistakes.h>

namespace medley {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr JsonLimits kConfigLimits = {.bytes = ConfigFile::kMostBytes, .values = std::size_t{1} << 17};
constexpr std::size_t kMostMistakes = 1000;
constexpr std::size_t kLongestMessage = 4096;  // a key may be as long as the file
constexpr int kMostElsewhere = 20;             // each takes a look at every key
constexpr std::size_t kLongestPath = 256;
constexpr const char* kCommandLine = "command line";

std::string Dotted(const std::vector<std::string>& keys) {
  std::string path;
  for (const std::string& key : keys) path = JoinPath(path, key);
  return path;
}

void ForgetPositions(JsonNode& node) {
  node.at = {};
  for (JsonMember& member : node.members) {
    member.at = {};
    ForgetPositions(member.value);
  }
  for (JsonNode& element : node.elements) ForgetPositions(element);
}

JsonNode ParseValue(const std::string& text) {
  JsonDocument value = ParseJson(text, kConfigLimits);
  if (!value.parsed || !value.problems.empty()) {
    value.root = {};
    value.root.type = json::value_t::string;
    value.root.scalar = text;
  }
  ForgetPositions(value.root);
  return std::move(value.root);
}

const JsonNode* Below(const JsonNode& node, const std::string& key) {
  if (!node.IsArray()) return node.Find(key);
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), index);
  const bool good = error == std::errc() && end == key.data() + key.size() && index < node.elements.size();
  return good ? &node.elements[index] : nullptr;
}

// The value at a key of an object or a number of an array, made where it is missing; null where there can be
// none.
JsonNode* Step(JsonNode& node, const std::string& key) {
  if (node.IsArray()) {
    std::size_t index = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), index);
    if (error != std::errc() || end != key.data() + key.size() || index > node.elements.size())
      return nullptr;
    if (index == node.elements.size()) node.elements.emplace_back().type = json::value_t::object;
    return &node.elements[index];
  }
  if (!node.IsObject()) return nullptr;
  if (JsonNode* found = node.Find(key)) return found;
  node.members.push_back({key, {}, {}});
  node.members.back().value.type = json::value_t::object;
  return &node.members.back().value;
}

fs::path PathOf(const JsonNode& node) { return node.scalar.get<std::string>(); }

fs::path RealPlace(const fs::path& path) {
  std::error_code failed;
  const fs::path real = fs::weakly_canonical(path, failed);
  return failed ? path.lexically_normal() : real;
}

// File by file.
template <typename Entries>
Entries FromTopToBottom(Entries entries) {
  std::ranges::stable_sort(entries, [](const auto& a, const auto& b) {
    return std::tie(a.file_rank, a.at.line, a.at.column) < std::tie(b.file_rank, b.at.line, b.at.column);
  });
  return entries;
}

}  // namespace

std::vector<std::string> SplitPath(const std::string& path) {
  std::vector<std::string> keys(1);
  for (const char c : path) {
    if (c == '.')
      keys.emplace_back();
    else
      keys.back() += c;
  }
  return keys;
}

void Diagnostics::Add(const std::string& file, SourcePosition at, const std::string& message) {
  if (entries_.size() >= kMostMistakes) {
    if (entries_.size() == kMostMistakes) entries_.push_back({SIZE_MAX, "", {}, "and more"});
    return;
  }
  std::size_t rank = entries_.size();
  for (const Entry& entry : entries_) {
    if (entry.file == file) rank = std::min(rank, entry.file_rank);
  }
  entries_.push_back({rank, file, at, CutText(message, kLongestMessage)});
}

std::string Diagnostics::Text() const {
  std::string text;
  for (const Entry& entry : FromTopToBottom(entries_)) {
    if (!text.empty()) text += '\n';
    if (!entry.file.empty()) {
      text += entry.file;
      if (entry.at.line > 0) {
        text += ":" + std::to_string(entry.at.line) + ":" + std::to_string(entry.at.column);
      }
      text += ": ";
    }
    text += entry.message;
  }
  return text;
}

void Diagnostics::Throw() const {
  if (entries_.empty()) return;
  std::vector<Mistake> mistakes;
  for (const Entry& entry : FromTopToBottom(entries_))
    mistakes.push_back({entry.file, entry.at, entry.message});
  const std::string count =
      entries_.size() == 1 ? "" : std::to_string(entries_.size()) + " mistakes in the input\n";
  throw Mistakes(count + Text(), std::move(mistakes));
}

Mistakes::Mistakes(const std::string& message, std::vector<Mistake> mistakes)
    : InputError(message), mistakes_(std::move(mistakes)) {}
Mistakes::~Mistakes() = default;

ConfigFile::ConfigFile(const fs::path& file, Diagnostics& diagnostics, std::int64_t most_bytes)
    : name_(DisplayPath(file)), diagnostics_(diagnostics) {
  try {
    text_ = ReadFile(file, most_bytes);
    // Symbolic links are resolved before "..", as the system would do it.
    directory_ = fs::canonical(fs::absolute(file)).parent_path();
    Parse();
  } catch (const InputError& error) {
    diagnostics_.Add("", {}, error.what());  // which names the file
  } catch (const fs::filesystem_error& error) {
    diagnostics_.Add(name_, {}, error.code().message());
  }
}

ConfigFile::ConfigFile(const fs::path& file, std::string text, Diagnostics& diagnostics)
    : name_(DisplayPath(file)),
      text_(std::move(text)),
      directory_(fs::absolute(file).parent_path()),
      diagnostics_(diagnostics) {
  Parse();
}

void ConfigFile::Parse() {
  document_ = ParseJson(text_, kConfigLimits);
  for (const JsonProblem& problem : document_.problems) Fail(problem.at, problem.path, problem.message);
}

void ConfigFile::Override(const std::vector<std::string>& overrides) {
  if (!root()) return;
  for (const std::string& text : overrides) OverrideOne(text);
}

void ConfigFile::OverrideOne(const std::string& text) {
  const auto equals = text.find('=');
  const std::vector<std::string> keys = SplitPath(text.substr(0, equals));
  if (equals == std::string::npos || std::ranges::count(keys, "") > 0) {
    diagnostics_.Add(
        kCommandLine, {},
        "expected key.path=value such as optimizer.learning_rate=1e-3, found '" + Printable(text) + "'");
    return;
  }
  JsonNode* node = &document_.root;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    JsonNode* next = Step(*node, keys[i]);
    if (!next) {
      const std::vector<std::string> above(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(i));
      const std::string found =
          node->IsArray() ? "an array of " + std::to_string(node->elements.size()) : Describe(*node);
      diagnostics_.Add(kCommandLine, {},
                       Printable(Dotted(keys) + ": " + (above.empty() ? "the file" : Dotted(above)) + " is " +
                                 found + " and has no '" + keys[i] + "'"));
      return;
    }
    node = next;
  }
  *node = ParseValue(text.substr(equals + 1));
}

// An object's own keys tell more than its name: {"zoom_gold": {"rows": 8}} is "zoom_gold.rows".
std::string ConfigFile::MeantElsewhere(std::string path, const JsonNode& value) {
  if (!key_paths_of_ || ++suggestions_ > kMostElsewhere) return "";
  if (key_paths_.empty()) key_paths_ = key_paths_of_();
  std::string whole = path;
  const JsonNode* leaf = &value;
  while (leaf->IsObject() && !leaf->members.empty()) {
    whole = JoinPath(whole, leaf->members.front().key);
    leaf = &leaf->members.front().value;
  }
  if (whole.size() > kLongestPath) return "";
  std::string meant = DidYouMean(NearPaths(whole, key_paths_));
  return meant.empty() && whole != path ? DidYouMean(NearPaths(path, key_paths_)) : meant;
}

fs::path ConfigFile::Resolve(const JsonNode& node) const { return RealPlace(Base(node) / PathOf(node)); }

fs::path ConfigFile::Locate(const JsonNode& node) const {
  const fs::path path = Base(node) / PathOf(node);
  return path.has_filename() ? RealPlace(path.parent_path()) / path.filename() : RealPlace(path);
}

fs::path ConfigFile::Base(const JsonNode& node) const {
  std::error_code failed;
  return node.at.line == 0 ? fs::current_path(failed) : directory_;
}

void ConfigFile::Fail(SourcePosition at, const std::string& path, const std::string& message) {
  // An override has no line: then the value came from the command line.
  const bool overridden = at.line == 0 && document_.parsed;
  diagnostics_.Add(overridden ? kCommandLine : name_, at,
                   path.empty() ? message : Printable(path) + ": " + message);
}

const JsonNode* ConfigFile::Find(const std::vector<std::string>& path) const {
  const JsonNode* node = root();
  for (const std::string& key : path) node = node ? Below(*node, key) : nullptr;
  return node;
}

void ConfigFile::FailAt(const std::vector<std::string>& path, const std::string& message) {
  if (!root()) return;
  const JsonNode* node = root();
  for (const std::string& key : path) {
    const JsonNode* next = Below(*node, key);
    if (!next) break;
    node = next;
  }
  Fail(node->at, Dotted(path), message);
}

void ConfigFile::FailAtKey(const std::vector<std::string>& path, const std::string& message) {
  if (!root()) return;
  if (const JsonNode* node = Find({path.begin(), path.end() - 1})) {
    for (const JsonMember& member : node->members) {
      if (member.key == path.back()) return Fail(member.at, Dotted(path), message);
    }
  }
  FailAt(path, message);
}

}  // namespace medley
