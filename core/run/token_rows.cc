#include <medley/run/token_rows.h>

#include <array>
#include <optional>
#include <system_error>

#include <medley/base/durable_file.h>
#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/json_text.h>
#include <medley/base/suggest.h>
#include <medley/base/utf8.h>
#include <medley/text/tokenizer_json.h>

namespace medley {
namespace {

namespace fs = std::filesystem;

// The first of them that a folder has is its own.
constexpr std::array<const char*, 2> kOwnTokenizers = {"tokenizer.json", "tokenizer.model"};

std::string Quoted(const std::string& token) {
  constexpr std::size_t kShown = 32;
  return JsonText(nlohmann::json(CutText(ValidUtf8(token), kShown)));
}

std::string Count(std::int64_t number, const char* what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

// The tokens that the folder itself has, by id; nothing where it does not say, and then why.
std::optional<std::vector<std::string>> OwnTokens(const fs::path& own, const Vocabulary& vocabulary,
                                                  const fs::path& file, std::string& unknown) try {
  if (own.empty()) {
    unknown = std::string("it has no ") + kOwnTokenizers.front();
    return std::nullopt;
  }
  std::error_code ignored;
  if (fs::equivalent(own, file, ignored)) {
    const auto end = vocabulary.tokens.end() - static_cast<std::ptrdiff_t>(vocabulary.added);
    return std::vector<std::string>(vocabulary.tokens.begin(), end);
  }
  const std::string bytes = ReadFile(own);
  return IsTokenizerJson(bytes) ? ReadTokenizerJson(bytes, DisplayPath(own)).tokens
                                : ReadVocabulary(own).tokens;
} catch (const InputError& error) {
  unknown = std::string("medley does not read its tokenizer: ") + error.what();
  return std::nullopt;
}

}  // namespace

fs::path OwnTokenizer(const fs::path& folder) {
  for (const char* name : kOwnTokenizers) {
    if (TypeOf(folder / name) != fs::file_type::not_found) return folder / name;
  }
  return {};
}

TokenRows CompareTokens(const Vocabulary& vocabulary, const fs::path& file, const fs::path& folder,
                        std::int64_t rows) {
  TokenRows result{.folder = folder, .rows = rows};
  const auto known = OwnTokens(OwnTokenizer(folder), vocabulary, file, result.unknown);
  const std::int64_t count = std::ssize(vocabulary.tokens), first_added = count - vocabulary.added;
  for (std::int64_t id = 0; id < count; ++id) {
    const std::string& token = vocabulary.tokens[static_cast<std::size_t>(id)];
    const bool has_own = known && id < std::ssize(*known);
    const std::string* there = has_own ? &(*known)[static_cast<std::size_t>(id)] : nullptr;
    if (there != nullptr && *there == token && id < rows) continue;
    if (there == nullptr && id >= first_added) {
      result.added.push_back(token), result.ids.push_back(id);
    } else if (id >= rows) {
      ++result.grown;
    } else if (known) {
      if (++result.other == 1)
        result.first_other = "the first is " + std::to_string(id) + ", " + Quoted(token) + " here and " +
                             (there != nullptr ? Quoted(*there) : "none") + " there";
    }
  }
  return result;
}

std::string TokenRows::Words() const {
  const std::int64_t anew = std::ssize(added) + grown;
  std::string words = "of the token table of " + DisplayPath(folder) + ", " + Count(rows, "row") + ", ";
  if (!unknown.empty())
    words += "nothing was compared with the vocabulary (" + unknown + "); by their number ";
  words += anew == 0 ? "none is new" : Count(anew, "row") + (anew == 1 ? " is new" : " are new");
  if (!added.empty()) words += ": " + JoinNames(added);
  if (grown > 0) words += (added.empty() ? ": of " : " and ") + Count(grown, "other token");
  if (other > 0)
    words += "; " + Count(other, "row") + (other == 1 ? " stays" : " stay") +
             " as of its own tokenizer, for other tokens";
  return words;
}

std::string TokenRows::Problem(std::int64_t allowed) const {
  if (strange() <= allowed) return "";
  std::string words = "the weights do not know " + Count(strange(), "token") + " of this vocabulary";
  if (grown > 0)
    words += "; the token table of " + DisplayPath(folder) + " has " + Count(rows, "row") + ", none for " +
             Count(grown, "token");
  if (other > 0)
    words += "; " + Count(other, "id") + " " + (other == 1 ? "is" : "are") + " of other tokens than in " +
             DisplayPath(OwnTokenizer(folder)) + " (" + first_other + ")";
  return words +
         ". Take the tokenizer that the weights were trained with; or, where that many shall be new, "
         "allow_new_rows=" +
         std::to_string(strange()) + " (medley train --allow-new-rows " + std::to_string(strange()) + ")";
}

std::string TokenRows::UnknownProblem() const {
  if (unknown.empty()) return "";
  return "nobody can tell whether the weights of " + DisplayPath(folder) +
         " know this vocabulary: " + unknown +
         ". Put the tokenizer.json that they were trained with there; or, where this is the vocabulary that "
         "they were trained with, allow_unknown_vocabulary=true (medley train --allow-unknown-vocabulary)";
}

}  // namespace medley
