#include <medley/run/input_files.h>

#include <sstream>
#include <string_view>
#include <utility>

#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/utf8.h>
#include <medley/checkpoint/checkpoint_files.h>
#include <medley/text/special_ids.h>
#include <medley/text/tokenizer_json.h>

namespace medley {
namespace {

namespace fs = std::filesystem;

// Takes a protobuf varint from the front; false where there is none.
bool TakeVarint(std::string_view& bytes, std::uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

constexpr std::uint64_t kLengthDelimited = 2;

// Takes a length-delimited protobuf field from the front; false where there is none.
bool TakeField(std::string_view& bytes, std::uint64_t& number, std::string_view& content) {
  std::uint64_t tag = 0, length = 0;
  if (!TakeVarint(bytes, tag) || (tag & 7) != kLengthDelimited) return false;
  if (!TakeVarint(bytes, length) || length > bytes.size()) return false;
  number = tag >> 3;
  content = bytes.substr(0, static_cast<std::size_t>(length));
  bytes.remove_prefix(content.size());
  return true;
}

// The texts of its pieces; none where it is no vocabulary.
std::vector<std::string> PiecesOf(std::string_view bytes) {
  std::vector<std::string> pieces;
  while (!bytes.empty()) {
    std::uint64_t number = 0;
    std::string_view piece, text;
    if (!TakeField(bytes, number, piece)) return {};
    if (number != 1) continue;
    const bool has_text = TakeField(piece, number, text) && number == 1;
    pieces.emplace_back(has_text ? text : std::string_view());
  }
  return pieces;
}

std::string TextProblem(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) {
    return " begins with a byte order mark; expected UTF-8 without one: save it again as plain UTF-8";
  }
  bool has_item = false;
  std::size_t line = 1;
  while (!text.empty()) {
    const std::size_t length = text.front() == '\0' ? 0 : Utf8Length(text);
    if (length == 0) {
      return ":" + std::to_string(line) + ": not UTF-8 text; expected a text file with one item a line";
    }
    line += text.front() == '\n' ? 1 : 0;
    has_item = has_item || std::string_view(" \t\r\n").find(text.front()) == std::string_view::npos;
    text.remove_prefix(length);
  }
  return has_item ? "" : " is empty; expected one item a line";
}

}  // namespace

Vocabulary ReadVocabulary(const fs::path& file, const SpecialTokenNames& special_tokens) {
  const std::string bytes = ReadFile(file), name = DisplayPath(file);
  if (IsTokenizerJson(bytes)) {
    TokenizerJson json = ReadTokenizerJson(bytes, name);
    const SpecialIds special = FindSpecialTokens(json, special_tokens, name);
    json.tokens.insert(json.tokens.end(), special.added.begin(), special.added.end());
    return {.tokens = std::move(json.tokens),
            .added = std::ssize(special.added),
            .other_id = std::move(json.other_id)};
  }
  RequireOwnNames(special_tokens, name);
  Vocabulary vocabulary{.tokens = PiecesOf(bytes)};
  if (!vocabulary.tokens.empty()) return vocabulary;
  throw InputError(
      name +
      " is neither a tokenizer.json nor a SentencePiece vocabulary; make one with: medley tokenizer train "
      "--corpus FILE --out FILE");
}

std::set<std::string> VocabularyPieces(const fs::path& file) {
  try {
    const std::string bytes = ReadFile(file);
    if (IsTokenizerJson(bytes)) return {kSpecialTokens.begin(), kSpecialTokens.end()};
    const std::vector<std::string> pieces = PiecesOf(bytes);
    return {pieces.begin(), pieces.end()};
  } catch (const InputError&) {
    return {};
  }
}

std::string ControlTextProblem(const fs::path& file) {
  try {
    const std::string problem = TextProblem(ReadFile(file));
    return problem.empty() ? "" : DisplayPath(file) + problem;
  } catch (const InputError& error) {
    return error.what();
  }
}

std::vector<std::string> ReadControlText(const fs::path& file) {
  std::istringstream text(ReadFile(file));
  std::vector<std::string> items;
  for (std::string line; std::getline(text, line);) {
    while (!line.empty() && std::string_view(" \t\r").find(line.back()) != std::string_view::npos)
      line.pop_back();
    if (!line.empty()) items.push_back(line);
  }
  return items;
}

std::string RunDirectoryProblem(const fs::path& directory) {
  if (const std::string problem = DirectoryProblem(directory); !problem.empty()) return problem;
  for (const CheckpointEntry& saved : ListCheckpoints(directory)) {
    if (fs::is_directory(saved.path)) return "";
  }
  if (StepOfName(directory.filename().string()) >= 0) return "";  // one itself
  return DisplayPath(directory) +
         " has no checkpoint (step-...); expected the directory of a run, or of a checkpoint";
}

}  // namespace medley
