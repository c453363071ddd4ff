#include "tests/fuzz/mutator.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <sstream>
#include <utility>

namespace medley::fuzz {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kLongest = std::size_t{1} << 20;

constexpr std::array<std::int64_t, 22> kIntegers = {0,
                                                    1,
                                                    2,
                                                    -1,
                                                    -2,
                                                    7,
                                                    8,
                                                    63,
                                                    64,
                                                    127,
                                                    128,
                                                    255,
                                                    256,
                                                    65535,
                                                    65536,
                                                    INT32_MAX,
                                                    INT32_MIN,
                                                    std::int64_t{1} << 32,
                                                    std::int64_t{1} << 40,
                                                    (std::int64_t{1} << 53) + 1,
                                                    INT64_MAX,
                                                    INT64_MIN};

constexpr std::array<std::string_view, 36> kTokens = {"null",
                                                      "true",
                                                      "false",
                                                      "{}",
                                                      "[]",
                                                      "[[]]",
                                                      "{\"\":0}",
                                                      "\"\"",
                                                      "\"a\"",
                                                      "\"\\u0000\"",
                                                      "\"\\ud800\"",
                                                      "\"\\n\\u001b[2J\"",
                                                      "\"..\"",
                                                      "\"../../x\"",
                                                      "\"/dev/zero\"",
                                                      "\"\xff\"",
                                                      "0.5",
                                                      "-0.0",
                                                      "1e300",
                                                      "-1e300",
                                                      "1e-320",
                                                      "1e999",
                                                      "NaN",
                                                      "-Infinity",
                                                      "9007199254740993",
                                                      "9223372036854775808",
                                                      "18446744073709551615",
                                                      "18446744073709551616",
                                                      "4294967296",
                                                      "{",
                                                      "}",
                                                      "[",
                                                      "]",
                                                      ",",
                                                      ":",
                                                      "//"};

std::size_t Below(RowRandom& random, std::size_t n) {
  return n == 0 ? 0 : static_cast<std::size_t>(random.Below(static_cast<std::int64_t>(n)));
}

template <typename List>
const auto& Pick(const List& list, RowRandom& random) {
  return list[Below(random, list.size())];
}

// Short ones more often than long ones.
std::size_t Length(RowRandom& random, std::size_t most) {
  const std::size_t reach = std::size_t{1} << Below(random, 13);
  return std::min(most, 1 + Below(random, reach));
}

void FlipBits(std::string& bytes, RowRandom& random) {
  for (std::size_t i = 1 + Below(random, 3); i > 0 && !bytes.empty(); --i) {
    char& byte = bytes[Below(random, bytes.size())];
    byte = static_cast<char>(byte ^ (1 << Below(random, 8)));
  }
}

void SetByte(std::string& bytes, RowRandom& random) {
  if (!bytes.empty()) bytes[Below(random, bytes.size())] = static_cast<char>(random.Below(256));
}

void Cut(std::string& bytes, RowRandom& random) { bytes.resize(Below(random, bytes.size() + 1)); }

void Remove(std::string& bytes, RowRandom& random) {
  if (!bytes.empty()) bytes.erase(Below(random, bytes.size()), Length(random, bytes.size()));
}

void Insert(std::string& bytes, RowRandom& random) {
  std::string more(Length(random, 16), static_cast<char>(random.Below(256)));
  if (random.Coin()) {
    for (char& byte : more) byte = static_cast<char>(random.Below(256));
  }
  bytes.insert(Below(random, bytes.size() + 1), more);
}

void Repeat(std::string& bytes, RowRandom& random) {
  if (bytes.empty()) return;
  const std::size_t from = Below(random, bytes.size());
  const std::string piece = bytes.substr(from, Length(random, bytes.size() - from));
  const std::size_t times = 1 + (Below(random, 16) == 0 ? Below(random, 64 * 1024 / piece.size() + 1) : 0);
  std::string more;
  for (std::size_t i = 0; i < times; ++i) more += piece;
  bytes.insert(random.Coin() ? from : Below(random, bytes.size() + 1), more);
}

void Splice(std::string& bytes, const std::string& other, RowRandom& random) {
  const std::size_t from = Below(random, other.size() + 1);
  if (random.Coin()) {
    bytes = bytes.substr(0, Below(random, bytes.size() + 1)) + other.substr(from);
  } else {
    bytes.insert(Below(random, bytes.size() + 1), other.substr(from, Length(random, other.size())));
  }
}

// Little-endian, as in headers.
void SetInteger(std::string& bytes, RowRandom& random) {
  const std::size_t size = std::size_t{1} << Below(random, 4);
  if (bytes.size() < size) return;
  std::size_t at = Below(random, bytes.size() - size + 1);
  if (random.Coin()) at = at / size * size;
  auto value = static_cast<std::uint64_t>(Pick(kIntegers, random));
  if (random.Coin()) value = bytes.size() + static_cast<std::uint64_t>(random.Below(17)) - 8;
  for (std::size_t i = 0; i < size; ++i) bytes[at + i] = static_cast<char>(value >> (8 * i));
}

// A number in words becomes another.
void SetNumber(std::string& bytes, RowRandom& random) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto start = bytes.begin() + static_cast<std::ptrdiff_t>(Below(random, bytes.size() + 1));
  const auto from = std::find_if(start, bytes.end(), digit);
  const auto to = std::find_if_not(from, bytes.end(), digit);
  bytes.replace(from, to, std::to_string(Pick(kIntegers, random)));
}

void Nest(std::string& bytes, RowRandom& random) {
  const std::size_t depth = std::size_t{1} << Below(random, 18);
  const std::string_view open = random.Coin() ? "[" : "{\"a\":";
  std::string more;
  for (std::size_t i = 0; i < depth; ++i) more += open;
  if (random.Coin()) more += "0" + std::string(depth, open == "[" ? ']' : '}');
  bytes.insert(Below(random, bytes.size() + 1), more);
}

std::string Joined(const std::vector<std::string_view>& tokens) {
  std::string text;
  for (const std::string_view token : tokens) text += token;
  return text;
}

constexpr std::string_view kMarks = "{}[],:";

bool IsBlank(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

std::size_t EndOfToken(std::string_view text, std::size_t at) {
  if (text[at] == '"') {
    std::size_t end = at + 1;
    while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
    return std::min(end + 1, text.size());
  }
  std::size_t end = at + 1;
  if (kMarks.find(text[at]) != std::string_view::npos) return end;
  while (end < text.size() && kMarks.find(text[end]) == std::string_view::npos && text[end] != '"' &&
         !IsBlank(text[end]))
    ++end;
  return end;
}

// Discarded where it is none. No deeper than what follows may walk.
Json Parsed(std::string_view text) {
  return Json::parse(
      text, [](int depth, Json::parse_event_t, Json&) { return depth <= 100; }, false);
}

// Every value of a tree.
template <typename Tree>
void CollectValues(Tree& tree, std::vector<Tree*>& values) {
  values.push_back(&tree);
  for (Tree& value : tree) {
    if (tree.is_structured()) CollectValues(value, values);
  }
}

template <typename Tree>
std::vector<Tree*> ValuesOf(Tree& tree) {
  std::vector<Tree*> values;
  CollectValues(tree, values);
  return values;
}

// Of the tokens those that are values.
Json AnyValue(RowRandom& random) {
  if (random.Coin()) return Pick(kIntegers, random);
  Json value = Parsed(Pick(kTokens, random));
  return value.is_discarded() ? Json(nullptr) : value;
}

Json::iterator Somewhere(Json& value, RowRandom& random) {
  return std::next(value.begin(), static_cast<std::ptrdiff_t>(Below(random, value.size())));
}

void EraseOne(Json& value, RowRandom& random) {
  if (value.is_structured() && !value.empty()) value.erase(Somewhere(value, random));
}

// A member's value under another key, or an element twice.
void RepeatOne(Json& value, const std::string& key, RowRandom& random) {
  if (!value.is_structured() || value.empty()) return;
  Json one = *Somewhere(value, random);
  if (value.is_array())
    value.push_back(std::move(one));
  else
    value[key] = std::move(one);
}

// The file, or where it is no JSON its lines; none where one of these is none.
std::vector<Json> PartsOf(const std::string& file) {
  std::vector<Json> parts = {Parsed(file)};
  if (!parts.front().is_discarded()) return parts;
  parts.clear();
  std::istringstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    parts.push_back(Parsed(line));
    if (parts.back().is_discarded()) return {};
  }
  return parts;
}

void EditTree(Json& tree, const Json& other, RowRandom& random) {
  Json& value = *Pick(ValuesOf(tree), random);
  const Json& another = *Pick(ValuesOf(other), random);
  switch (Below(random, 6)) {
    case 0:
      return EraseOne(value, random);
    case 1:
      return RepeatOne(value, another.is_string() ? another.get<std::string>() : "", random);
    case 2: {
      Json copy = another;
      value = std::move(copy);
      return;
    }
    case 3:
      if (value.is_number_integer()) {
        value = static_cast<std::int64_t>(value.get<std::uint64_t>() +
                                          static_cast<std::uint64_t>(random.Below(5)) - 2);
        return;
      }
      [[fallthrough]];
    default:
      value = AnyValue(random);
  }
}

}  // namespace

std::vector<std::string_view> Tokens(std::string_view text) {
  std::vector<std::string_view> tokens;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = EndOfToken(text, at);
    while (end < text.size() && IsBlank(text[end])) ++end;
    tokens.push_back(text.substr(at, end - at));
    at = end;
  }
  return tokens;
}

Mutator::Mutator(std::vector<std::string> corpus, bool json) : corpus_(std::move(corpus)), json_(json) {
  for (const std::string& file : corpus_) {
    if (!json) continue;
    if (std::vector<Json> parts = PartsOf(file); !parts.empty()) parts_.push_back(std::move(parts));
  }
}

std::string Mutator::Make(std::uint64_t seed, std::uint64_t number) const {
  RowRandom random(CombineSeeds(seed, number));
  // Mostly one or two: what differs in many places is refused for the first of them.
  const std::size_t edits = 1 + Below(random, 1 + Below(random, 6));
  if (!parts_.empty() && random.Coin()) return MakeOfValues(Pick(parts_, random), edits, random);
  std::string bytes = Any(random);
  for (std::size_t i = 0; i < edits; ++i) {
    Edit(bytes, random);
    if (bytes.size() > kLongest) bytes.resize(kLongest);
  }
  return bytes;
}

// Of a file of lines any of them.
std::string Mutator::MakeOfValues(std::vector<Json> parts, std::size_t edits, RowRandom& random) const {
  for (std::size_t i = 0; i < edits; ++i) {
    Json& part = parts[Below(random, parts.size())];
    const Json& other = Pick(Pick(parts_, random), random);
    EditTree(part, other, random);
  }
  std::string bytes;
  for (const Json& part : parts) bytes += part.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  return bytes.substr(0, kLongest);
}

const std::string& Mutator::Any(RowRandom& random) const { return Pick(corpus_, random); }

void Mutator::Edit(std::string& bytes, RowRandom& random) const {
  if (json_ && Below(random, 4) > 0) return EditTokens(bytes, random);
  switch (Below(random, 10)) {
    case 0:
      return FlipBits(bytes, random);
    case 1:
      return SetByte(bytes, random);
    case 2:
      return Below(random, 4) == 0 ? Cut(bytes, random) : FlipBits(bytes, random);
    case 3:
      return Remove(bytes, random);
    case 4:
      return Insert(bytes, random);
    case 5:
      return Repeat(bytes, random);
    case 6:
      return Splice(bytes, Any(random), random);
    case 7:
      return SetInteger(bytes, random);
    case 8:
      return SetNumber(bytes, random);
    default:
      return json_ && Below(random, 8) == 0 ? Nest(bytes, random) : SetNumber(bytes, random);
  }
}

void Mutator::EditTokens(std::string& bytes, RowRandom& random) const {
  const std::string before = bytes;  // the tokens look into it
  std::vector<std::string_view> tokens = Tokens(before);
  if (tokens.empty()) return;
  std::size_t at = Below(random, tokens.size());
  // Rather a value or a key than a mark: another one in its place is still JSON.
  const bool any = Below(random, 4) == 0;
  while (!any && at + 1 < tokens.size() && kMarks.find(tokens[at].front()) != std::string_view::npos) ++at;
  const auto from = tokens.begin() + static_cast<std::ptrdiff_t>(at);
  const auto to = from + static_cast<std::ptrdiff_t>(std::min(
                             1 + Below(random, std::size_t{1} << Below(random, 6)), tokens.size() - at));
  const std::string number = std::to_string(Pick(kIntegers, random));
  const std::vector<std::string_view> piece(from, to);
  switch (Below(random, 8)) {
    case 0:
    case 7:
      *from = Pick(kTokens, random);
      break;
    case 1:
      *from = number;
      break;
    case 2:
      *from = Pick(tokens, random);
      break;
    case 3:
      tokens.erase(from, to);
      break;
    case 4:
      tokens.insert(from, piece.begin(), piece.end());
      break;
    case 5:
      std::swap(*from, tokens[Below(random, tokens.size())]);
      break;
    default: {
      const std::vector<std::string_view> others = Tokens(Any(random));
      if (!others.empty()) *from = Pick(others, random);
    }
  }
  bytes = Joined(tokens);
}

}  // namespace medley::fuzz
